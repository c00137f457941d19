//! The command lines of `power` and of the nodes that it starts.

use std::path::PathBuf;

/// The usage text.
const USAGE: &str = "\
usage: soak power [--cuts N] [--first-seed S] [--seed S --recording PATH] [--defect NAME]
       soak power --kill-points [--every N]
       soak power --store postgres [--kills N] [--first-seed S] [--defect early-answers]

  --cuts N          how many power cuts are tried on SQLite (default 100)
  --first-seed S    the seed of the first; each has its own (default 1)
  --seed S          tries one cut again, with the recording in which it failed
  --recording PATH  the folder of such a recording
  --defect NAME     plants a defect, which must be found: 'early-answers' (the store responds before
                    it flushes) or 'lost-checkpoints' (the disk ignores syncs of the database
                    file)
  --kill-points     kills a node at each file call of a fixed scenario
  --every N         at each Nth of them only (default 1)
  --store postgres  kills all processes of a PostgreSQL server under load
  --kills N         how often (default 100)";

const CUTS_DEFAULT: u64 = 100;
const KILLS_DEFAULT: u64 = 100;

/// What to try.
#[derive(Debug, Clone)]
pub(crate) enum PowerPlan {
    Cuts(CutPlan),
    KillPoints(KillPointPlan),
    ServerKills(ServerKillPlan),
}

/// Power cuts of a recorded node.
#[derive(Debug, Clone)]
pub(crate) struct CutPlan {
    pub(crate) cuts: u64,
    pub(crate) first_seed: u64,
    pub(crate) recording: Option<PathBuf>,
    pub(crate) defect: Option<Defect>,
}

/// A planted defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    EarlyAnswers,
    LostCheckpoints,
}

/// Kills of a node at its file calls.
#[derive(Debug, Clone)]
pub(crate) struct KillPointPlan {
    /// Each so many calls.
    pub(crate) every: usize,
}

/// Kills of a PostgreSQL server.
#[derive(Debug, Clone)]
pub(crate) struct ServerKillPlan {
    pub(crate) kills: u64,
    pub(crate) seed: u64,
    /// Whether the server responds before it flushes: a planted defect.
    pub(crate) answers_early: bool,
}

/// One recorded node.
#[derive(Debug, Clone)]
pub(crate) struct RecordedArgs {
    pub(crate) folder: PathBuf,
    pub(crate) seed: u64,
    /// Whether the store responds before it flushes.
    pub(crate) answers_early: bool,
}

/// One node that runs the fixed scenario.
#[derive(Debug, Clone)]
pub(crate) struct ScenarioArgs {
    pub(crate) folder: PathBuf,
}

/// Reads the arguments of the command.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<PowerPlan, String> {
    let mut cuts = CutPlan { cuts: CUTS_DEFAULT, first_seed: 1, recording: None, defect: None };
    let (mut kills, mut every) = (KILLS_DEFAULT, 1);
    let (mut at_points, mut of_server) = (false, false);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
        match arg.as_str() {
            "--cuts" => cuts.cuts = number(&arg, &value()?)?,
            "--first-seed" => cuts.first_seed = number(&arg, &value()?)?,
            "--seed" => (cuts.cuts, cuts.first_seed) = (1, number(&arg, &value()?)?),
            "--recording" => cuts.recording = Some(PathBuf::from(value()?)),
            "--defect" => cuts.defect = Some(defect(&value()?)?),
            "--kill-points" => at_points = true,
            "--every" => every = number(&arg, &value()?)?.max(1),
            "--kills" => kills = number(&arg, &value()?)?,
            "--store" => of_server = is_server(&value()?)?,
            other => return Err(format!("'{other}' is not understood\n{USAGE}")),
        }
    }
    match (at_points, of_server) {
        (true, true) => Err(format!("--kill-points is about SQLite\n{USAGE}")),
        (true, false) => {
            let every = usize::try_from(every).map_err(|error| format!("--every: {error}"))?;
            Ok(PowerPlan::KillPoints(KillPointPlan { every }))
        }
        (false, true) => {
            let answers_early = match cuts.defect {
                Some(Defect::LostCheckpoints) => return Err(format!("SQLite only\n{USAGE}")),
                defect => defect == Some(Defect::EarlyAnswers),
            };
            let seed = cuts.first_seed;
            Ok(PowerPlan::ServerKills(ServerKillPlan { kills, seed, answers_early }))
        }
        (false, false) => Ok(PowerPlan::Cuts(cuts)),
    }
}

/// Reads the arguments of a recorded node.
pub(crate) fn parse_recorded(
    mut args: impl Iterator<Item = String>,
) -> Result<RecordedArgs, String> {
    let (mut folder, mut seed, mut answers_early) = (None, 0, false);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--folder" => folder = Some(PathBuf::from(value()?)),
            "--seed" => seed = number(&arg, &value()?)?,
            "--answers-early" => answers_early = true,
            other => return Err(format!("'{other}' is not understood")),
        }
    }
    let folder = folder.ok_or("a recorded node needs --folder")?;
    Ok(RecordedArgs { folder, seed, answers_early })
}

/// Reads the arguments of a node that runs the scenario.
pub(crate) fn parse_scenario(
    mut args: impl Iterator<Item = String>,
) -> Result<ScenarioArgs, String> {
    match (args.next().as_deref(), args.next(), args.next()) {
        (Some("--folder"), Some(folder), None) => Ok(ScenarioArgs { folder: folder.into() }),
        _anything_else => Err("a scenario needs --folder and nothing else".to_owned()),
    }
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|error| format!("{name}: {error}"))
}

fn defect(name: &str) -> Result<Defect, String> {
    match name {
        "early-answers" => Ok(Defect::EarlyAnswers),
        "lost-checkpoints" => Ok(Defect::LostCheckpoints),
        other => Err(format!("--defect: '{other}' is not known\n{USAGE}")),
    }
}

fn is_server(name: &str) -> Result<bool, String> {
    match name {
        "postgres" => Ok(true),
        "sqlite" => Ok(false),
        other => Err(format!("--store: '{other}' is not known\n{USAGE}")),
    }
}
