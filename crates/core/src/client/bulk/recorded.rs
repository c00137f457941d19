//! What a bulk act records: inputs and results of its executions and activities. A stored format.
//!
//! Each page of ids is the result of an activity in an execution of its own, or the input of the
//! first execution. After the last page, one execution for each page reads it back and applies the
//! act. So neither the act nor its host ever holds more than one page.

use serde::{Deserialize, Serialize};

use super::act::BulkAct;
use super::outcomes::BulkOutcome;

/// Name of the orchestration.
pub(crate) const BULK: &str = "duroxide.bulk";

/// A version of the code. An act or a filter that a host of an older build may not understand needs
/// a new one, with activities of its own: they have no versions, and any host that knows their
/// names runs them. Hosts leave versions and activities alone that they do not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BulkCode {
    /// The version of the orchestration.
    pub(crate) version: &'static str,
    /// Name of the activity that reads a page of ids.
    pub(crate) freeze: &'static str,
    /// Name of the activity that applies the act to a slice of a page.
    pub(crate) apply: &'static str,
}

/// The first version, for acts that began under it. Its hosts may know neither resets nor requests
/// of cancellation.
pub(crate) const FIRST_CODE: BulkCode =
    BulkCode { version: "1.0.0", freeze: "duroxide.bulk.freeze", apply: "duroxide.bulk.apply" };

/// The version of new acts.
pub(crate) const CURRENT_CODE: BulkCode = BulkCode {
    version: "2.0.0",
    freeze: "duroxide.bulk.freeze.v2",
    apply: "duroxide.bulk.apply.v2",
};

/// The input of an execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BulkState {
    pub(crate) act: BulkAct,
    pub(crate) by: String,
    #[serde(default)]
    pub(crate) reason: String,
    /// The filter as its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) filter: Option<String>,
    /// Only in the first execution, and without a filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ids: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate_per_second: Option<u32>,
    pub(crate) stage: Stage,
    /// The executions that hold the pages, as ranges: first and last.
    #[serde(default)]
    pub(crate) pages: Vec<(u64, u64)>,
    #[serde(default)]
    pub(crate) counts: Counts,
}

/// What an execution does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// Reads the page behind this cursor.
    Freeze { after: Option<String> },
    /// Applies the act to this page, counted from zero.
    Apply { page: u64 },
}

/// How many ids, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) frozen: u64,
    pub(crate) done: u64,
    pub(crate) not_found: u64,
    pub(crate) failed: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FreezeInput {
    pub(crate) filter: String,
    pub(crate) after: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct FrozenPage {
    pub(crate) ids: Vec<String>,
    pub(crate) next: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ApplyInput {
    pub(crate) act: BulkAct,
    pub(crate) reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate_per_second: Option<u32>,
    /// The execution that holds the page.
    pub(crate) page_in: u64,
    /// The first of the ids of the page.
    pub(crate) from: usize,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct AppliedSlice {
    pub(crate) outcomes: Vec<BulkOutcome>,
    /// Where the next slice begins; `None` at the end of the page.
    pub(crate) next: Option<usize>,
}

impl BulkState {
    /// Notes that an execution holds the next page.
    pub(crate) fn add_page(&mut self, execution_id: u64) {
        match self.pages.last_mut() {
            Some((_, last)) if *last + 1 == execution_id => *last = execution_id,
            Some(_) | None => self.pages.push((execution_id, execution_id)),
        }
    }

    /// The execution that holds a page; `None` behind the last.
    pub(crate) fn execution_of(&self, page: u64) -> Option<u64> {
        let mut rest = page;
        for (first, last) in &self.pages {
            let pages = (last - first).saturating_add(1);
            if rest < pages {
                return Some(first + rest);
            }
            rest -= pages;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> BulkState {
        BulkState {
            act: BulkAct::Delete { force: false },
            by: "mara".to_owned(),
            reason: String::new(),
            filter: Some("status:failed".to_owned()),
            ids: None,
            rate_per_second: None,
            stage: Stage::Freeze { after: None },
            pages: Vec::new(),
            counts: Counts::default(),
        }
    }

    #[test]
    fn pages_are_found_across_gaps() {
        let mut state = state();
        [1, 2, 3, 5, 6, 9].into_iter().for_each(|execution| state.add_page(execution));
        assert_eq!(state.pages, [(1, 3), (5, 6), (9, 9)]);
        let found: Vec<_> = (0..7).map(|page| state.execution_of(page)).collect();
        assert_eq!(found, [Some(1), Some(2), Some(3), Some(5), Some(6), Some(9), None]);
    }

    #[test]
    fn the_stored_form_is_fixed() {
        let text = concat!(
            r#"{"act":{"kind":"delete","force":false},"by":"mara","reason":"","#,
            r#""filter":"status:failed","stage":{"freeze":{"after":null}},"pages":[],"#,
            r#""counts":{"frozen":0,"done":0,"not_found":0,"failed":0}}"#
        );
        assert_eq!(serde_json::to_string(&state()).unwrap(), text);
        assert_eq!(serde_json::from_str::<BulkState>(text).unwrap(), state());
    }
}
