//! `power --cuts`: records nodes and tries many cuts in each recording.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::acks::Ack;
use crate::audit::Attempts;
use crate::power::args::{CutPlan, Defect};
use crate::power::cut::{Cut, Disk};
use crate::power::disk_log::DiskLog;
use crate::power::image::Image;
use crate::power::parallel::{Failure, Until, try_all};
use crate::power::recording::{read, record};
use crate::power::recovery::{Recovered, Remains, recover};

/// Cuts in one recording.
const CUTS_PER_RECORDING: u64 = 200;
/// Failures that are printed.
const LISTED_MAX: usize = 5;

/// What was tried.
#[derive(Debug, Default)]
struct Totals {
    recordings: u64,
    calls: usize,
    cuts: u64,
    acknowledged: usize,
    completed: usize,
}

/// Tries the cuts. Without a planted defect none may fail, with one some must.
pub(crate) fn run(plan: &CutPlan) -> Result<(), String> {
    let began = Instant::now();
    let mut totals = Totals::default();
    let mut tried = 0;
    while tried < plan.cuts {
        let first = plan.first_seed + tried;
        let count = CUTS_PER_RECORDING.min(plan.cuts - tried);
        let (failures, folder) = one_recording(plan, first, count, &mut totals)?;
        tried += count;
        println!("power: {tried} of {} cuts, {:.0?}", plan.cuts, began.elapsed());
        if let Some(failure) = failures.first() {
            return verdict(plan, failure, &failures, &folder.keep());
        }
    }
    if let Some(defect) = plan.defect {
        return Err(format!("{} cuts did not find the planted defect {defect:?}", totals.cuts));
    }
    println!("recordings    {} with {} file calls", totals.recordings, totals.calls);
    println!("cuts          {}, seeds {} to {}", totals.cuts, plan.first_seed, {
        plan.first_seed + plan.cuts - 1
    });
    println!("acknowledged  {} changes, all found", totals.acknowledged);
    println!("completed     {} workflows after the cuts", totals.completed);
    println!("verdict       every rule holds ({:.0?})", began.elapsed());
    Ok(())
}

/// The folder of a recording, removed when it is dropped.
enum Place {
    Temporary(tempfile::TempDir),
    Given(PathBuf),
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Given(folder) => folder,
        }
    }

    fn keep(self) -> PathBuf {
        match self {
            Self::Temporary(folder) => folder.keep(),
            Self::Given(folder) => folder,
        }
    }
}

fn one_recording(
    plan: &CutPlan,
    first: u64,
    count: u64,
    totals: &mut Totals,
) -> Result<(Vec<Failure>, Place), String> {
    let place = match &plan.recording {
        Some(given) => Place::Given(given.clone()),
        None => {
            let folder = tempfile::Builder::new().prefix("duroxide-power-").tempdir();
            let folder = folder.map_err(|error| error.to_string())?;
            let seed = first.to_string();
            let mut node = vec!["recorded-node", "--seed", &seed];
            node.extend(plan.answers_early().then_some("--answers-early"));
            let recorded = record(folder.path(), &node);
            recorded.map_err(|reason| format!("seed {first}: {reason}"))?;
            Place::Temporary(folder)
        }
    };
    let log = read(place.path())?;
    totals.recordings += 1;
    totals.calls += log.ops.len();
    totals.cuts += count;
    Ok((try_cuts(plan, &log, first, count, totals), place))
}

fn try_cuts(
    plan: &CutPlan,
    log: &DiskLog,
    first: u64,
    count: u64,
    totals: &mut Totals,
) -> Vec<Failure> {
    let until = if plan.defect.is_some() { Until::OneFails } else { Until::AllAreTried };
    let (recovered, failures) =
        try_all(first..first + count, until, |seed| try_cut(plan, log, seed));
    for good in recovered {
        totals.completed += good.completed;
        totals.acknowledged += good.acknowledged;
    }
    failures
}

fn try_cut(plan: &CutPlan, log: &DiskLog, seed: u64) -> Result<Recovered, String> {
    let cut = Cut::choose(log, seed);
    let folder = tempfile::Builder::new().prefix("duroxide-cut-").tempdir();
    let folder = folder.map_err(|error| error.to_string())?;
    Image::after(log, cut, plan.disk()).write(folder.path())?;
    let acks: Vec<Ack> = log.acks(cut.moment).cloned().collect();
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let tokio = tokio.map_err(|error| error.to_string())?;
    let remains = Remains {
        folder: folder.path(),
        acks: &acks,
        scenario: &[],
        // A lease is not flushed: after a power loss its attempt is counted anew.
        attempts: Attempts::MayRepeat,
    };
    let outcome = tokio.block_on(recover(&remains));
    outcome
        .map_err(|reason| format!("cut before moment {} of {}: {reason}", cut.moment, log.moments))
}

impl CutPlan {
    fn answers_early(&self) -> bool {
        self.defect == Some(Defect::EarlyAnswers)
    }

    fn disk(&self) -> Disk {
        match self.defect {
            Some(Defect::LostCheckpoints) => Disk::ForgetsCheckpoints,
            Some(Defect::EarlyAnswers) | None => Disk::Honest,
        }
    }
}

fn verdict(
    plan: &CutPlan,
    first: &Failure,
    failures: &[Failure],
    folder: &Path,
) -> Result<(), String> {
    if let Some(defect) = plan.defect {
        std::fs::remove_dir_all(folder).map_err(|error| error.to_string())?;
        let nth = first.number - plan.first_seed + 1;
        println!("defect        {defect:?}, found by cut {nth}: {}", shortened(&first.reason));
        return Ok(());
    }
    let listed: Vec<String> = failures
        .iter()
        .take(LISTED_MAX)
        .map(|failure| format!("seed {}: {}", failure.number, failure.reason))
        .collect();
    Err(format!(
        "{} cuts went wrong:\n{}\nrepeat one: --seed {} --recording {}",
        failures.len(),
        listed.join("\n"),
        first.number,
        folder.display()
    ))
}

fn shortened(reason: &str) -> String {
    reason.chars().take(200).collect()
}
