//! `duroxide import`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use clap::Args;
use duroxide::Client;
use duroxide::transfer::{ImportOptions, ImportedInstance, InstanceReader};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::limits;
use crate::output::Details;
use crate::session::Session;

/// Store the instances of an exported file
///
/// Each is stored in one transaction: after an error or a crash, all before are stored and nothing
/// of the others. Run it again with --skip-existing. Nodes go on with a running instance as soon
/// as it is stored, unless it was suspended.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The file; `-` reads standard input
    file: PathBuf,
    /// Leave instances alone that exist, instead of stopping at the first
    #[arg(long)]
    skip_existing: bool,
    /// Leave out the suspensions of operators, so that nodes go on with the instances
    #[arg(long)]
    resume: bool,
    /// Read each instance back and compare it with the file; no node may work on the store
    #[arg(long)]
    verify: bool,
    /// Only read the file and report whether it is complete
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Default, Serialize)]
struct Imported {
    /// In a dry run, what the file has.
    imported: u64,
    events: u64,
    /// Instances that existed.
    skipped: u64,
    /// Instances whose parent the store does not have.
    without_parent: u64,
    /// Instances that differ from the file; zero without `--verify`.
    different: u64,
    /// At most 20 of them.
    differences: Vec<Difference>,
}

#[derive(Debug, Serialize)]
struct Difference {
    instance_id: String,
    difference: String,
}

pub(crate) async fn run(args: ImportArgs, session: &mut Session) -> Result<()> {
    let (place, input) = open(&args)?;
    let mut reader = InstanceReader::new(place, input)?;
    let imported = match args.dry_run {
        true => read_only(&mut reader)?,
        false => store(&session.writer().await?, &args, &mut reader).await?,
    };
    write(session, &imported)?;
    if args.dry_run {
        return session.out.note("dry run: the file is complete, nothing was changed");
    }
    match imported.different {
        0 => Ok(()),
        different => Err(Failure::with(
            Exit::Error,
            format!("{different} instances differ from the file; a node may work on the store"),
        )),
    }
}

fn open(args: &ImportArgs) -> Result<(String, Box<dyn BufRead + Send>)> {
    if args.file.as_os_str() == "-" {
        let input = BufReader::new(std::io::stdin());
        return Ok(("standard input".to_owned(), Box::new(input)));
    }
    let place = args.file.display().to_string();
    match File::open(&args.file) {
        Ok(file) => Ok((place, Box::new(BufReader::new(file)))),
        Err(error) => Err(Failure::usage(format!("{place} cannot be read: {error}"))),
    }
}

fn read_only(reader: &mut InstanceReader<Box<dyn BufRead + Send>>) -> Result<Imported> {
    let mut found = Imported::default();
    while let Some(instance) = reader.next_instance()? {
        found.imported += 1;
        found.events += instance.copy.events.len() as u64;
    }
    Ok(found)
}

async fn store(
    client: &Client,
    args: &ImportArgs,
    reader: &mut InstanceReader<Box<dyn BufRead + Send>>,
) -> Result<Imported> {
    let mut options = ImportOptions::default();
    options.skip_existing = args.skip_existing;
    options.resume = args.resume;
    options.verify = args.verify;
    let mut differences = Vec::new();
    let observe = |imported: &ImportedInstance| {
        for difference in &imported.differences {
            if differences.len() < limits::TRANSFER_NAMED_MAX {
                let instance_id = imported.instance.clone();
                differences.push(Difference { instance_id, difference: difference.to_string() });
            }
        }
    };
    let report = client.import_instances(reader, options, observe).await?;
    Ok(Imported {
        imported: report.imported,
        events: report.events,
        skipped: report.skipped,
        without_parent: report.without_parent,
        different: report.different,
        differences,
    })
}

fn write(session: &mut Session, imported: &Imported) -> Result<()> {
    let some = |count: u64| (count > 0).then(|| count.to_string());
    let mut details = Details::default()
        .with("imported", imported.imported.to_string())
        .with("events", imported.events.to_string())
        .with_some("skipped", some(imported.skipped))
        .with_some("without parent", some(imported.without_parent))
        .with_some("different", some(imported.different));
    for Difference { instance_id, difference } in &imported.differences {
        details = details.with("difference", format!("{instance_id}: {difference}"));
    }
    details.write(&mut session.out, &imported.imported.to_string(), imported)
}
