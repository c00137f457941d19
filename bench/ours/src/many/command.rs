//! `many --instances N --store sqlite`: fills a store, measures, and prints tables.

use std::path::{Path, PathBuf};
use std::time::Instant;

use bench_harness::options::Options;
use duroxide::Client;
use duroxide_pg_server::Server;
use tokio::runtime::Runtime;

use super::copies::Copies;
use super::{command_line, pages, population, retention};
use crate::heavy::{Store, server_for, text};

/// What is measured, in this order.
const PARTS: [&str; 3] = ["queries", "command", "retention"];

/// The store that is measured.
pub(super) struct Place<'a> {
    pub(super) store: Store,
    pub(super) folder: &'a Path,
    pub(super) server: Option<&'a str>,
    pub(super) instances: u64,
}

/// Fills the store, unless the folder has it, and measures.
pub(crate) fn main(arguments: Vec<String>) -> Result<String, String> {
    let mut options = Options::new(arguments);
    let store = Store::named(options.value("--store")?.as_deref().unwrap_or("sqlite"))?;
    let instances = options.number("--instances")?.unwrap_or(1_000_000);
    let parts = options.list("--only")?;
    let program = options.value("--command")?.map(PathBuf::from);
    let kept = options.value("--folder")?.map(PathBuf::from);
    options.done()?;
    if let Some(unknown) = parts.iter().flatten().find(|part| !PARTS.contains(&part.as_str())) {
        return Err(format!("--only {unknown}: it is one of {}", PARTS.join(", ")));
    }
    let selects = |part: &str| parts.as_ref().is_none_or(|parts| parts.iter().any(|it| it == part));
    let program = match (selects("command"), program) {
        (true, None) => Some(command_line::build()?),
        (_, program) => program,
    };
    let temporary = tempfile::tempdir().map_err(text)?;
    let folder = kept.as_deref().unwrap_or_else(|| temporary.path());
    let server = server_for(store)?;
    if kept.is_some() && server.is_some() {
        return Err("--folder needs a server that stays: DUROXIDE_PG_URL names none".to_owned());
    }
    let server = server.as_ref().map(Server::url).or_else(|| bench_harness::postgres::url().ok());
    let place = Place { store, folder, server: server.as_deref(), instances };
    let runtime = Runtime::new().map_err(text)?;
    let mut report = runtime.block_on(fill(&place))?;
    if selects("queries") {
        report.push_str(&runtime.block_on(queries(&place))?);
    }
    if let Some(program) = program.filter(|_| selects("command")) {
        let place = (place.folder, place.server);
        report.push_str(&format!("\n{}", command_line::measure(&program, store, place)?));
    }
    if selects("retention") {
        report.push_str(&runtime.block_on(retention::measure(&place))?);
    }
    Ok(report)
}

/// Runs one unit and copies it.
async fn fill(place: &Place<'_>) -> Result<String, String> {
    let mark = place.folder.join("filled");
    if let Ok(text) = std::fs::read_to_string(&mark) {
        return Ok(text);
    }
    std::fs::create_dir_all(place.folder).map_err(text)?;
    let begun = Instant::now();
    let units = place.instances / population::UNIT;
    place.fill(0, units).await?;
    let text = format!(
        "{} instances on {}, made in {:.0} s\n\n",
        units * population::UNIT,
        place.store.name(),
        begun.elapsed().as_secs_f64()
    );
    std::fs::write(mark, &text).map_err(|error| error.to_string())?;
    eprint!("bench: {text}");
    Ok(text)
}

impl Place<'_> {
    /// Makes this many units, the first of which is run.
    pub(super) async fn fill(&self, first: u64, units: u64) -> Result<(), String> {
        let provider = self.store.open(self.folder, self.server).await?;
        population::run(&provider, first).await?;
        provider.close().await.map_err(text)?;
        drop(provider);
        let copies = Copies { of: first, units: first + 1..first + units };
        copies.make(self.store, self.folder, self.server).await
    }
}

async fn queries(place: &Place<'_>) -> Result<String, String> {
    let provider = place.store.open(place.folder, place.server).await?;
    let client = Client::new(provider);
    let unit = place.instances / population::UNIT / 2;
    let (table, worst) = pages::measure(&client, unit).await?;
    Ok(format!("{table}\nThe longest median of a page that an index finds: {worst:.1} ms\n"))
}
