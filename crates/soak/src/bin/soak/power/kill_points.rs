//! `power --kill-points`: a fixed scenario is killed at each of its file calls, and a new node
//! completes it.
//!
//! `strace` kills the process when a thread enters the Nth call of a name about a file, before the
//! call does anything. It counts for each thread. So that no call of any thread is left out, every
//! file call is also tried as an image: a kill leaves exactly what earlier calls wrote.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::Signal;

use crate::acks::Ack;
use crate::audit::Attempts;
use crate::power::args::KillPointPlan;
use crate::power::disk_log::{Act, DiskLog, EFFECTS};
use crate::power::image::Image;
use crate::power::parallel::{Failure, Until, try_all};
use crate::power::recording::{calls, read, record, store_folder};
use crate::power::recovery::{Remains, recover};
use crate::power::scenario;
use crate::power::trace::{bytes, descriptor};

/// Calls that change files or wait for the disk.
const WRITES: [&str; 7] =
    ["openat", "write", "pwrite64", "ftruncate", "fsync", "fdatasync", "unlink"];
/// In the name of a file that each opening of a store calls differently: only images can tell
/// their moments.
const NODE_MARK: &str = "-node-";
/// Failures that are printed.
const LISTED_MAX: usize = 5;

/// The Nth call of a name about a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    file: String,
    call: String,
    nth: usize,
}

/// What became of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Killed,
    /// This time the scenario made fewer such calls.
    Completed,
}

/// Kills the scenario everywhere; no kill may break a rule.
pub(crate) fn run(plan: &KillPointPlan) -> Result<(), String> {
    let began = Instant::now();
    let recording = tempfile::Builder::new().prefix("duroxide-points-").tempdir();
    let recording = recording.map_err(|error| error.to_string())?;
    record(recording.path(), &["scenario"])?;
    let log = read(recording.path())?;
    let all = points(recording.path())?;
    let chosen: Vec<&Point> = all.iter().step_by(plan.every).collect();
    let (fates, failures) = try_all(0..chosen.len() as u64, Until::AllAreTried, |number| {
        kill(chosen[usize::try_from(number).map_err(|error| error.to_string())?])
    });
    verdict(&failures)?;
    let killed = fates.iter().filter(|fate| **fate == Fate::Killed).count();
    println!("kill points   {} calls at which a thread may die", all.len());
    for (call, count) in by_call(&all) {
        println!("              {count:>5} {call}");
    }
    println!("killed        {killed} nodes, {} completed before", fates.len() - killed);

    let moments: Vec<usize> = changes(&log).step_by(plan.every).collect();
    let (_, failures) = try_all(0..moments.len() as u64, Until::AllAreTried, |number| {
        open_image(&log, moments[usize::try_from(number).map_err(|error| error.to_string())?])
    });
    verdict(&failures)?;
    println!("images        {} of {} changes of files", moments.len(), changes(&log).count());
    println!("verdict       every scenario completed, every rule holds ({:.0?})", began.elapsed());
    Ok(())
}

/// The calls of a recording about files of the store and about its effects.
fn points(recording: &Path) -> Result<Vec<Point>, String> {
    let store = format!("{}/", store_folder(recording).display());
    let mut counts: BTreeMap<(String, String), HashMap<u32, usize>> = BTreeMap::new();
    for call in calls(recording)? {
        if !WRITES.contains(&call.name.as_str()) {
            continue;
        }
        let named = call.args.iter().take(2).find_map(|arg| {
            let path = descriptor(arg).map(|descriptor| descriptor.path);
            let path = path.or_else(|| String::from_utf8(bytes(arg)?).ok())?;
            path.strip_prefix(&store).map(str::to_owned)
        });
        if let Some(file) = named.filter(|file| !file.contains(NODE_MARK)) {
            *counts.entry((file, call.name)).or_default().entry(call.thread).or_default() += 1;
        }
    }
    let mut points = Vec::new();
    for ((file, call), threads) in counts {
        let most = threads.values().copied().max().unwrap_or(0);
        let of_call = |nth| Point { file: file.clone(), call: call.clone(), nth };
        points.extend((1..=most).map(of_call));
    }
    Ok(points)
}

fn by_call(points: &[Point]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for point in points {
        *counts.entry(format!("{} of {}", point.call, point.file)).or_default() += 1;
    }
    counts
}

/// Runs the scenario until the point, and completes it.
fn kill(point: &Point) -> Result<Fate, String> {
    let described = |reason: String| format!("{point:?}: {reason}");
    let folder = tempfile::Builder::new().prefix("duroxide-point-").tempdir();
    let folder = folder.map_err(|error| error.to_string())?;
    let fate = run_until(point, folder.path()).map_err(described)?;
    let noted = std::fs::read_to_string(folder.path().join(ACKS));
    let noted = noted.map_err(|error| described(error.to_string()))?;
    // Only what follows the last end of a line may be a part.
    let whole = noted.rsplit_once('\n').map_or("", |(whole, _part)| whole);
    let acks: Option<Vec<Ack>> = whole.lines().map(Ack::parse).collect();
    let acks = acks.ok_or_else(|| described(format!("'{whole}' is not understood")))?;
    complete(folder.path(), &acks).map_err(described)?;
    Ok(fate)
}

/// Name of the file of acknowledgements.
const ACKS: &str = "acks.txt";

fn run_until(point: &Point, folder: &Path) -> Result<Fate, String> {
    let text = |error: std::io::Error| error.to_string();
    let program = std::env::current_exe().map_err(text)?;
    let acks = File::create(folder.join(ACKS)).map_err(text)?;
    let log = File::create(folder.join("node.log")).map_err(text)?;
    let Point { file, call, nth } = point;
    let status = Command::new("strace")
        .args(["-f", "-qqq", "-e", "signal=none", "-o", "/dev/null", "-P"])
        .arg(folder.join(file))
        .args(["-e", &format!("trace={call}")])
        .args(["-e", &format!("inject={call}:signal=KILL:when={nth}")])
        .arg(program)
        .args(["scenario", "--folder"])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(acks)
        .stderr(log)
        .status()
        .map_err(|error| format!("strace cannot be started: {error}"))?;
    if status.success() {
        return Ok(Fate::Completed);
    }
    // The recorder ends as its process did.
    if status.signal() == Some(Signal::KILL.as_raw()) {
        return Ok(Fate::Killed);
    }
    Err(format!("the scenario failed by itself ({status})"))
}

/// The moments before each change of a file.
fn changes(log: &DiskLog) -> impl Iterator<Item = usize> {
    let changing = log.ops.iter().filter(|op| match op.act {
        Act::Write { .. }
        | Act::Resize { .. }
        | Act::Create { .. }
        | Act::Remove { .. }
        | Act::Effect(_) => true,
        Act::Sync { .. } | Act::SyncFolder | Act::Ack(_) => false,
    });
    changing.map(|op| op.begin)
}

fn open_image(log: &DiskLog, moment: usize) -> Result<(), String> {
    let folder = tempfile::Builder::new().prefix("duroxide-point-").tempdir();
    let folder = folder.map_err(|error| error.to_string())?;
    Image::before(log, moment).write(folder.path())?;
    let acks: Vec<Ack> = log.acks(moment).cloned().collect();
    complete(folder.path(), &acks)
        .map_err(|reason| format!("image before moment {moment} of {}: {reason}", log.moments))
}

fn complete(folder: &Path, acks: &[Ack]) -> Result<(), String> {
    let effects = File::options().create(true).append(true).open(folder.join(EFFECTS));
    drop(effects.map_err(|error| error.to_string())?);
    let scenario = scenario::workflows();
    // A kill loses no lease, so that every attempt has its own number.
    let remains = Remains { folder, acks, scenario: &scenario, attempts: Attempts::AreUnique };
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let tokio = tokio.map_err(|error| error.to_string())?;
    let recovered = tokio.block_on(recover(&remains))?;
    if recovered.completed == scenario.len() {
        return Ok(());
    }
    Err(format!("{} workflows instead of {}", recovered.completed, scenario.len()))
}

fn verdict(failures: &[Failure]) -> Result<(), String> {
    if failures.is_empty() {
        return Ok(());
    }
    let listed: Vec<&str> =
        failures.iter().take(LISTED_MAX).map(|failure| failure.reason.as_str()).collect();
    Err(format!("{} kills went wrong:\n{}", failures.len(), listed.join("\n")))
}
