//! `duroxide retention`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use async_trait::async_trait;
use clap::Args;
use duroxide::client::{
    ArchivedInstance, RetentionArchive, RetentionPolicy, RetentionReport, RetentionRule, RulePlan,
};
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::limits;
use crate::output::{Column, Details, List, Record, Styled};
use crate::session::Session;

/// Show what a retention policy would delete, or apply it once
///
/// The first rule that is about an instance decides. Running and suspended instances always stay.
/// Nodes apply a policy by themselves with `RuntimeOptions::with_retention`.
#[derive(Debug, Args)]
pub(crate) struct RetentionArgs {
    /// A rule, such as 'name:Order* status:completed keep:30d last:10'
    #[arg(long = "rule", value_name = "RULE", required = true)]
    rules: Vec<RetentionRule>,
    /// Delete it; without this, nothing is changed
    #[arg(long)]
    apply: bool,
    /// Append what is deleted to this file first, as JSON lines
    #[arg(long, value_name = "FILE", requires = "apply")]
    archive: Option<PathBuf>,
    /// Do it without asking
    #[arg(long, short = 'y')]
    yes: bool,
}

/// What a rule would delete.
#[derive(Debug, Serialize)]
struct RuleRow {
    rule: String,
    instances: u64,
    pruned_instances: u64,
    exact: bool,
    sample: Vec<String>,
}

impl From<RulePlan> for RuleRow {
    fn from(plan: RulePlan) -> Self {
        let RulePlan { rule, instances, pruned_instances, sample, is_exact, .. } = plan;
        Self { rule, instances, pruned_instances, exact: is_exact, sample }
    }
}

impl Record for RuleRow {
    const COLUMNS: &'static [Column] = &[
        Column::new("RULE"),
        Column::new("DELETES"),
        Column::new("PRUNES"),
        Column::new("SUCH AS"),
    ];

    fn cells(&self) -> Vec<Styled> {
        let more = if self.exact { "" } else { "+" };
        vec![
            self.rule.as_str().into(),
            format!("{}{more}", self.instances).into(),
            format!("{}{more}", self.pruned_instances).into(),
            self.sample.join(", ").into(),
        ]
    }

    fn id(&self) -> &str {
        &self.rule
    }
}

pub(crate) async fn run(args: RetentionArgs, session: &mut Session) -> Result<()> {
    let mut policy = RetentionPolicy::new(args.rules);
    let client = match args.apply {
        true => session.writer().await?,
        false => session.reader().await?,
    };
    let plan = client.plan_retention(&policy).await?;
    if !args.apply {
        let rows: Vec<RuleRow> = plan.rules.into_iter().map(RuleRow::from).collect();
        List::write(&mut session.out, &rows)?;
        return session.out.note("nothing was changed: --apply deletes it");
    }
    let instances: u64 = plan.rules.iter().map(|rule| rule.instances).sum();
    let pruned: u64 = plan.rules.iter().map(|rule| rule.pruned_instances).sum();
    if instances + pruned > 0 {
        let consent = crate::confirm::Consent { yes: args.yes, dry_run: false };
        let question = format!(
            "Delete {instances} instances with their children, and old executions of {pruned} \
             others?"
        );
        consent.ask(&question).await?;
    }
    if let Some(path) = &args.archive {
        policy = policy.with_archive(ArchiveFile::open(path)?);
    }
    let mut total = RetentionReport::default();
    loop {
        let report = client.apply_retention(&policy, limits::RETENTION_STEP).await?;
        total.instances_deleted += report.instances_deleted;
        total.executions_deleted += report.executions_deleted;
        total.archived += report.archived;
        total.refused += report.refused;
        total.is_complete = report.is_complete;
        total.error = report.error;
        if total.is_complete || total.error.is_some() {
            break;
        }
    }
    Details::default()
        .with("Instances deleted", total.instances_deleted.to_string())
        .with("Executions deleted", total.executions_deleted.to_string())
        .with("Archived", total.archived.to_string())
        .write(&mut session.out, "retention", &total)?;
    match total.error {
        Some(error) => Err(Failure::error(error)),
        None => Ok(()),
    }
}

/// A file that gets everything, each instance durably before it is deleted.
struct ArchiveFile(Mutex<File>);

impl ArchiveFile {
    fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| {
            Failure::error(format!("{} cannot be written: {error}", path.display()))
        })?;
        Ok(Self(Mutex::new(file)))
    }
}

#[async_trait]
impl RetentionArchive for ArchiveFile {
    async fn archive(&self, instance: ArchivedInstance) -> Result<(), String> {
        let mut file = self.0.lock().map_err(|error| error.to_string())?;
        file.write_all(&instance.json_lines).map_err(|error| error.to_string())?;
        file.sync_data().map_err(|error| error.to_string())
    }
}
