//! The instances that an act concerns: named, from standard input, by a filter, or all.

use std::collections::HashSet;
use std::io::BufRead;

use clap::Args;
use duroxide::client::ExportSelection;
use duroxide::query::Filter;

use crate::commands::list::parse_filter;
use crate::failure::{Failure, Result};
use crate::input;
use crate::limits;

/// Which instances.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Instances")]
pub(crate) struct Targets {
    /// Their ids; `-` reads ids from standard input, one per line
    #[arg(
        value_name = "ID",
        required_unless_present_any = ["filter", "all"],
        conflicts_with_all = ["filter", "all"]
    )]
    ids: Vec<String>,
    /// All that match a filter, as in `duroxide list`
    #[arg(long = "where", value_name = "FILTER", conflicts_with = "all")]
    filter: Option<String>,
    /// All instances of the store
    #[arg(long)]
    all: bool,
}

/// The ids, fixed before the first of them is acted on.
#[derive(Debug)]
pub(crate) struct Selected {
    pub(crate) ids: Vec<String>,
    /// Whether the user named each of them on the command line.
    pub(crate) named: bool,
}

impl Targets {
    /// Whether the ids come from standard input, so that no question can be asked there.
    pub(crate) fn are_piped(&self) -> bool {
        self.ids.iter().any(|id| id == "-")
    }

    /// Which instances an export writes.
    pub(crate) async fn exported(&self) -> Result<ExportSelection> {
        if self.all {
            return Ok(ExportSelection::All);
        }
        match self.filter()? {
            Some(filter) => Ok(ExportSelection::Filter(filter)),
            None => Ok(ExportSelection::Ids(self.given().await?)),
        }
    }

    /// The ids that were named or piped.
    async fn given(&self) -> Result<Vec<String>> {
        match self.ids.as_slice() {
            [only] if only == "-" => input::read(|| from_lines(std::io::stdin().lock())).await?,
            ids if ids.iter().any(|id| id == "-") => {
                Err(Failure::usage("'-' stands alone: the ids come from standard input"))
            }
            ids => Ok(once(ids.to_vec())),
        }
    }

    /// The filter, if the instances are not named.
    pub(crate) fn filter(&self) -> Result<Option<Filter>> {
        if !self.ids.is_empty() {
            return Ok(None);
        }
        let text = self.filter.as_deref().unwrap_or_default();
        // An empty filter is rather a variable of a script that is not set.
        if !self.all && text.trim().is_empty() {
            return Err(Failure::usage("the filter is empty: use --all for all instances"));
        }
        Ok(Some(parse_filter(text)?))
    }

    /// The ids that were named or piped, each once, in their order.
    pub(crate) async fn named(&self) -> Result<Selected> {
        Ok(Selected { ids: self.given().await?, named: !self.are_piped() })
    }
}

fn from_lines(input: impl BufRead) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for line in input.lines() {
        let line = line.map_err(|error| {
            Failure::usage(format!("the ids on standard input cannot be read: {error}"))
        })?;
        let id = line.strip_suffix('\r').unwrap_or(&line);
        if id.len() > limits::ID_BYTES_MAX || ids.len() >= limits::TARGETS_MAX {
            return Err(Failure::usage(format!(
                "standard input has more than {} ids, or a line that is no id",
                limits::TARGETS_MAX
            )));
        }
        if !id.is_empty() {
            ids.push(id.to_owned());
        }
    }
    Ok(once(ids))
}

fn once(ids: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::with_capacity(ids.len());
    ids.into_iter().filter(|id| seen.insert(id.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_ids_each_once() {
        let ids = from_lines(&b"b\n\na\r\nb\nid with blanks \n"[..]).unwrap();
        assert_eq!(ids, ["b", "a", "id with blanks "]);
        assert!(from_lines(&b"a\n\xff\n"[..]).is_err());
        assert!(from_lines(vec![b'x'; limits::ID_BYTES_MAX + 1].as_slice()).is_err());
    }
}
