//! What activities did to the world: a file beside the store that lines are appended to.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use duroxide::ActivityContext;

/// Says what an activity did, and for which call of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) instance: String,
    pub(crate) execution: u64,
    /// Input of the activity; no execution has two calls with the same one.
    pub(crate) input: String,
}

/// Where effects are written.
#[derive(Debug, Clone)]
pub(crate) struct Effects {
    path: PathBuf,
}

impl Effects {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Has an effect. One write of one line to a file opened for appending is not torn apart.
    pub(crate) fn record(&self, ctx: &ActivityContext, input: &str) -> Result<(), String> {
        let line = format!(
            "{}\t{}\t{input}\t{}\n",
            ctx.instance_id(),
            ctx.execution_id(),
            std::process::id()
        );
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .map_err(|error| error.to_string())?;
        file.write_all(line.as_bytes()).map_err(|error| error.to_string())
    }

    /// How often each effect was had.
    pub(crate) fn read(&self) -> Result<HashMap<Key, usize>, String> {
        let named = |error| format!("{}: {error}", self.path.display());
        let text = std::fs::read_to_string(&self.path).map_err(named)?;
        let mut effects = HashMap::new();
        for line in text.lines() {
            let key = parse(line).ok_or_else(|| format!("'{line}' is no effect"))?;
            *effects.entry(key).or_insert(0) += 1;
        }
        Ok(effects)
    }
}

fn parse(line: &str) -> Option<Key> {
    let mut fields = line.split('\t');
    let instance = fields.next()?.to_owned();
    let execution = fields.next()?.parse().ok()?;
    let input = fields.next()?.to_owned();
    let _process = fields.next()?;
    Some(Key { instance, execution, input })
}
