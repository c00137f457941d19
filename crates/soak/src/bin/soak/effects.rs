//! Effects of activities: lines that they append to a file beside the store.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use duroxide::ActivityContext;

/// Names one call of an activity: the same for all its attempts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) instance: String,
    pub(crate) execution: u64,
    pub(crate) activity: u64,
}

/// Effects of the attempts of one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Had {
    /// Number of each attempt, in the order of their effects.
    pub(crate) attempts: Vec<u32>,
    /// Input of each.
    pub(crate) inputs: Vec<String>,
}

/// Ends each record.
const END: &str = "\t.";

/// Where effects are written.
#[derive(Debug, Clone)]
pub(crate) struct Effects {
    path: PathBuf,
}

impl Effects {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Records an effect. A killed process may leave a partial line, up to the end of a page: each
    /// record starts on a line of its own, and only a record with its end mark counts.
    pub(crate) fn record(&self, ctx: &ActivityContext, input: &str) -> Result<(), String> {
        let line = format!(
            "\n{}\t{}\t{}\t{}\t{input}\t{}{END}\n",
            ctx.instance_id(),
            ctx.execution_id(),
            ctx.activity_id(),
            ctx.attempt(),
            std::process::id()
        );
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .map_err(|error| error.to_string())?;
        file.write_all(line.as_bytes()).map_err(|error| error.to_string())
    }

    /// Every recorded effect.
    pub(crate) fn read(&self) -> Result<HashMap<Key, Had>, String> {
        let named = |error| format!("{}: {error}", self.path.display());
        let text = std::fs::read_to_string(&self.path).map_err(named)?;
        let mut effects: HashMap<Key, Had> = HashMap::new();
        for line in text.lines().filter_map(|line| line.strip_suffix(END)) {
            let effect = parse(line).ok_or_else(|| format!("'{line}' is no effect"))?;
            let (key, attempt, input) = effect;
            let had = effects.entry(key).or_default();
            had.attempts.push(attempt);
            had.inputs.push(input);
        }
        Ok(effects)
    }
}

fn parse(line: &str) -> Option<(Key, u32, String)> {
    let mut fields = line.split('\t');
    let instance = fields.next()?.to_owned();
    let execution = fields.next()?.parse().ok()?;
    let activity = fields.next()?.parse().ok()?;
    let attempt = fields.next()?.parse().ok()?;
    let input = fields.next()?.to_owned();
    let _process = fields.next()?;
    Some((Key { instance, execution, activity }, attempt, input))
}
