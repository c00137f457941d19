//! `duroxide check-histories`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use duroxide::check::{CheckReport, CheckedExecution, Checker, Verdict};
use duroxide::{OrchestrationRegistry, current_build_version};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::limits;
use crate::output::{Column, Format, List, Record, Styled, Tone};
use crate::session::Session;
use crate::store::Access;

/// Check that histories can be read, and are pinned to versions that this release replays
///
/// Reads exported files, or else the store. It exits with 7 if a history cannot be decoded, or is
/// pinned to a version of Duroxide that this release does not replay.
///
/// It does not replay: whether your code agrees with its histories only your program can tell,
/// which has the code. Use `duroxide::check::Checker` there, or `StartupCheck`; the guide about
/// upgrades shows both.
#[derive(Debug, Args)]
pub(crate) struct CheckHistoriesArgs {
    /// Files of exported histories, or folders with files *.jsonl; otherwise the store is read
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Check finished executions too, not only those that run
    #[arg(long)]
    finished: bool,
}

#[derive(Debug, Serialize)]
struct Checked {
    compatible: bool,
    /// The release that would replay them.
    checked_for: String,
    executions: u64,
    events: u64,
    summary: Vec<Summary>,
    /// At most 100 of them.
    problems: Vec<Problem>,
}

#[derive(Debug, Serialize)]
struct Summary {
    orchestration_name: String,
    orchestration_version: String,
    readable: u64,
    version_unsupported: u64,
    undecodable: u64,
}

#[derive(Debug, Clone, Serialize)]
struct Problem {
    instance_id: String,
    execution_id: u64,
    orchestration_name: String,
    pin: String,
    /// `version_unsupported` or `undecodable`.
    kind: &'static str,
    message: String,
}

impl Record for Summary {
    const COLUMNS: &'static [Column] = &[
        Column::new("NAME"),
        Column::new("VERSION"),
        Column::new("READABLE"),
        Column::new("UNSUPPORTED"),
        Column::new("UNDECODABLE"),
    ];

    fn cells(&self) -> Vec<Styled> {
        vec![
            self.orchestration_name.as_str().into(),
            self.orchestration_version.as_str().into(),
            self.readable.to_string().into(),
            self.version_unsupported.to_string().into(),
            self.undecodable.to_string().into(),
        ]
    }

    fn id(&self) -> &str {
        &self.orchestration_name
    }
}

impl Record for Problem {
    const COLUMNS: &'static [Column] = &[
        Column::new("ID"),
        Column::new("EXECUTION"),
        Column::new("NAME"),
        Column::new("PIN"),
        Column::new("PROBLEM"),
    ];

    fn cells(&self) -> Vec<Styled> {
        vec![
            self.instance_id.as_str().into(),
            self.execution_id.to_string().into(),
            self.orchestration_name.as_str().into(),
            self.pin.as_str().into(),
            Styled::new(self.message.clone(), Tone::Bad),
        ]
    }

    fn id(&self) -> &str {
        &self.instance_id
    }
}

pub(crate) async fn run(args: CheckHistoriesArgs, session: &mut Session) -> Result<()> {
    let problems: Arc<Mutex<Vec<Problem>>> = Arc::default();
    let checker = checker(args.finished, Arc::clone(&problems));
    let mut reports = Vec::new();
    if args.paths.is_empty() {
        let store = session.open(Access::Read).await?;
        reports.push(checker.check_store(store.provider().as_ref()).await?);
    }
    for path in &args.paths {
        reports.push(checker.check_folder(path)?);
    }
    let problems = problems.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let checked = Checked {
        compatible: problems.is_empty(),
        checked_for: current_build_version().to_string(),
        executions: reports.iter().map(|report| report.progress.executions).sum(),
        events: reports.iter().map(|report| report.progress.events).sum(),
        summary: reports.iter().flat_map(summary).collect(),
        problems,
    };
    write(session, &checked)
}

/// A checker without any code: it decodes, and looks at the pins.
fn checker(finished: bool, problems: Arc<Mutex<Vec<Problem>>>) -> Checker {
    let no_code = OrchestrationRegistry::builder().build();
    Checker::new(no_code).with_finished(finished).with_observer(move |checked, _progress| {
        let mut problems = problems.lock().unwrap_or_else(PoisonError::into_inner);
        if problems.len() < limits::PROBLEMS_SHOWN_MAX {
            problems.extend(problem(checked));
        }
    })
}

/// What is wrong with an execution, apart from code that this command does not have.
fn problem(checked: &CheckedExecution) -> Option<Problem> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "everything else concerns the code")]
    let (kind, message) = match &checked.verdict {
        Verdict::VersionUnsupported { supported } => {
            ("version_unsupported", format!("this release replays histories {supported}"))
        }
        Verdict::Undecodable { error } => ("undecodable", error.clone()),
        _ => return None,
    };
    Some(Problem {
        instance_id: checked.instance_id.clone(),
        execution_id: checked.execution_id,
        orchestration_name: checked.orchestration.clone(),
        pin: checked.pin.clone(),
        kind,
        message,
    })
}

fn summary(report: &CheckReport) -> Vec<Summary> {
    let counted = report.summary.iter().map(|((name, version), counts)| Summary {
        orchestration_name: name.clone(),
        orchestration_version: version.clone(),
        readable: counts.fine + counts.differs + counts.handler_missing,
        version_unsupported: counts.version_unsupported,
        undecodable: counts.undecodable,
    });
    counted.collect()
}

fn write(session: &mut Session, checked: &Checked) -> Result<()> {
    let out = &mut session.out;
    match out.format() {
        Format::Json | Format::Jsonl => out.json(checked)?,
        Format::Ids => List::write(out, &checked.problems)?,
        Format::Table | Format::Wide => {
            List::write(out, &checked.summary)?;
            if !checked.compatible {
                out.line("")?;
                List::write(out, &checked.problems)?;
            }
        }
    }
    if checked.compatible {
        return out.note(&format!(
            "{} executions can be read by {}",
            checked.executions, checked.checked_for
        ));
    }
    let text = "some histories do not fit this release: keep nodes of the release that wrote them";
    Err(Failure::with(Exit::Incompatible, text))
}
