//! `duroxide edit`.

use clap::Args;
use duroxide::InstanceEdit;

use crate::confirm::Consent;
use crate::failure::{Failure, Result};
use crate::output::Format;
use crate::recorded::operator;
use crate::session::Session;

/// Change the custom status and keys of a running instance
///
/// The edit is a message: the next turn of the instance records it with its author and reason, and
/// applies it. A suspended instance applies it when it is resumed.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("change").required(true).multiple(true)))]
pub(crate) struct EditArgs {
    /// The instance
    id: String,
    /// Set a key; the value is everything behind the first `=`
    #[arg(long, value_name = "KEY=VALUE", group = "change")]
    set: Vec<String>,
    /// Remove a key
    #[arg(long, value_name = "KEY", group = "change")]
    remove: Vec<String>,
    /// Set the custom status
    #[arg(long, value_name = "TEXT", group = "change", conflicts_with = "no_status")]
    status: Option<String>,
    /// Remove the custom status
    #[arg(long, group = "change")]
    no_status: bool,
    /// Who edits, for the history; otherwise DUROXIDE_OPERATOR or the user of the system
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[command(flatten)]
    consent: Consent,
}

pub(crate) async fn run(args: EditArgs, session: &mut Session) -> Result<()> {
    let mut edit = InstanceEdit::default().by(operator(args.by.as_deref()), &args.reason);
    for pair in &args.set {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::usage(format!("'{pair}' is no KEY=VALUE")));
        };
        edit = edit.with_key(key, value);
    }
    edit = args.remove.iter().fold(edit, |edit, key| edit.with_key_removed(key));
    if let Some(status) = &args.status {
        edit = edit.with_custom_status(status);
    } else if args.no_status {
        edit = edit.with_custom_status_removed();
    }
    let plan = match args.consent.dry_run {
        true => session.reader().await?.plan_edit(&args.id, &edit).await?,
        false => session.writer().await?.edit_instance(&args.id, &edit).await?,
    };
    let out = &mut session.out;
    match out.format() {
        Format::Table | Format::Wide => {
            for line in plan.to_string().lines() {
                out.line(line)?;
            }
        }
        Format::Json | Format::Jsonl => out.json(&plan)?,
        Format::Ids => out.line(&plan.instance)?,
    }
    match args.consent.dry_run {
        true => out.note("dry run: nothing was changed"),
        false => out.note(&format!("'{}' applies the edit in its next turn", args.id)),
    }
}
