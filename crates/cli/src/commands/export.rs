//! `duroxide export`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use duroxide::Client;
use duroxide::client::{ExportReport, ExportRequest};
use duroxide::transfer::{InstanceWriter, RunningInstances};
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::limits;
use crate::output::{Details, counted};
use crate::session::Session;
use crate::targets::Targets;

/// Write instances as JSON lines, with their executions, keys and queued messages
///
/// `duroxide import` stores them in another store of any kind. Instances that have ended or that
/// are suspended are exported as they are. Leases are left out: an activity that a worker runs
/// waits in the copy.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    targets: Targets,
    /// Export the whole tree of each instance, from its root on
    #[arg(long)]
    tree: bool,
    /// What to do with instances that run and are not suspended
    #[arg(long, value_enum, value_name = "HOW", default_value = "refuse")]
    running: Running,
    /// Write to this new file; otherwise the lines go to standard output
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// What to do with instances that run and are not suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Running {
    /// Stop with an error
    Refuse,
    /// Hold each for the time of its export; it goes on afterwards
    Hold,
    /// Read it while it runs: a copy for reading, which cannot be imported
    Snapshot,
}

impl From<Running> for RunningInstances {
    fn from(running: Running) -> Self {
        match running {
            Running::Refuse => Self::Refuse,
            Running::Hold => Self::Hold,
            Running::Snapshot => Self::Snapshot,
        }
    }
}

#[derive(Debug, Serialize)]
struct Exported {
    file: String,
    instances: u64,
    /// Of these, the ones that had not ended.
    running: u64,
    events: u64,
    /// Children that were left out, at most 20 of them.
    missing_children: Vec<String>,
    missing_children_count: usize,
}

pub(crate) async fn run(args: ExportArgs, session: &mut Session) -> Result<()> {
    let mut request = ExportRequest::new(args.targets.exported().await?);
    request = request.with_running(args.running.into());
    if args.tree {
        request = request.with_trees();
    }
    let client = match args.running {
        Running::Hold => session.writer().await?,
        Running::Refuse | Running::Snapshot => session.reader().await?,
    };
    let Some(path) = args.file else {
        let output = BufWriter::new(std::io::stdout());
        let report = write(&client, request, "standard output", output).await?;
        return remark(session, &report);
    };
    if path.exists() {
        return Err(Failure::error(format!("{} exists, and is not replaced", path.display())));
    }
    let report = match to_file(&client, request, &path).await {
        Ok(report) => report,
        Err(failure) => {
            // An import would refuse a part of a file.
            drop(std::fs::remove_file(part_of(&path)));
            return Err(failure);
        }
    };
    let exported = Exported {
        file: path.display().to_string(),
        instances: report.instances,
        running: report.running,
        events: report.events,
        missing_children_count: report.missing_children.len(),
        missing_children: first(&report.missing_children),
    };
    let details = Details::default()
        .with("file", exported.file.as_str())
        .with("instances", exported.instances.to_string())
        .with("running", exported.running.to_string())
        .with("events", exported.events.to_string());
    details.write(&mut session.out, &exported.file, &exported)?;
    remark(session, &report)
}

/// Writes beside the file, which appears when it is complete.
async fn to_file(client: &Client, request: ExportRequest, path: &Path) -> Result<ExportReport> {
    let place = path.display().to_string();
    let cannot = |error: std::io::Error| Failure::error(format!("{place}: {error}"));
    let part = part_of(path);
    let output = BufWriter::new(File::create(&part).map_err(cannot)?);
    let mut writer = InstanceWriter::new(place.as_str(), output)?;
    let report = client.export_instances(request, &mut writer, |_| {}).await?;
    let file = writer.finish()?.into_inner().map_err(|error| cannot(error.into_error()))?;
    file.sync_all().map_err(cannot)?;
    std::fs::rename(&part, path).map_err(cannot)?;
    Ok(report)
}

fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

async fn write(
    client: &Client,
    request: ExportRequest,
    place: &str,
    output: impl Write + Send,
) -> Result<ExportReport> {
    let mut writer = InstanceWriter::new(place, output)?;
    let report = client.export_instances(request, &mut writer, |_| {}).await?;
    writer.finish()?;
    Ok(report)
}

fn remark(session: &mut Session, report: &ExportReport) -> Result<()> {
    let ExportReport { instances, events, missing_children, .. } = report;
    session.out.note(&format!(
        "{} with {} exported",
        counted(*instances, "instance"),
        counted(*events, "event")
    ))?;
    if report.has_more_parked {
        session.out.note("there are more parked messages than an export of all reads")?;
    }
    if missing_children.is_empty() {
        return Ok(());
    }
    let (count, some) = (missing_children.len(), first(missing_children).join(", "));
    session.out.note(&format!(
        "{count} children of exported instances are not exported: {some}; use --tree"
    ))
}

fn first(ids: &[String]) -> Vec<String> {
    ids.iter().take(limits::TRANSFER_NAMED_MAX).cloned().collect()
}
