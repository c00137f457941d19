//! The command lines of `power-loss` and of the node that it records.

use std::path::PathBuf;

/// The usage text.
const USAGE: &str = "\
usage: soak power-loss [--cuts N] [--first-seed S] [--seed S] [--recording PATH] [--defect NAME]

  --cuts N          how many power cuts are tried (default 100)
  --first-seed S    the seed of the first; each has its own (default 1)
  --seed S          tries one cut again, with the recording in which it failed
  --recording PATH  the folder of such a recording
  --defect NAME     plants a defect, which must be found: 'early-answers' (the store responds before
                    it flushes) or 'lost-checkpoints' (the disk ignores syncs of the database
                    file)";

const CUTS_DEFAULT: u64 = 100;

/// What to try.
#[derive(Debug, Clone)]
pub(crate) struct PowerPlan {
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

/// One recorded node.
#[derive(Debug, Clone)]
pub(crate) struct RecordedArgs {
    pub(crate) folder: PathBuf,
    pub(crate) seed: u64,
    /// Whether the store answers before it flushes.
    pub(crate) answers_early: bool,
}

/// Reads the arguments of the command.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<PowerPlan, String> {
    let mut plan = PowerPlan { cuts: CUTS_DEFAULT, first_seed: 1, recording: None, defect: None };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
        match arg.as_str() {
            "--cuts" => plan.cuts = number(&arg, &value()?)?,
            "--first-seed" => plan.first_seed = number(&arg, &value()?)?,
            "--seed" => (plan.cuts, plan.first_seed) = (1, number(&arg, &value()?)?),
            "--recording" => plan.recording = Some(PathBuf::from(value()?)),
            "--defect" => plan.defect = Some(defect(&value()?)?),
            other => return Err(format!("'{other}' is not understood\n{USAGE}")),
        }
    }
    Ok(plan)
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
