//! Recorded histories with changed events, replayed by the code that wrote them.

use std::sync::OnceLock;

use duroxide::check::{Checker, Verdict as Replayed};
use duroxide::histories::HistoryReader;

use super::histories::executions;
use crate::target::{Target, Verdict, word};

#[path = "../../../duroxide/tests/histories/code.rs"]
mod code;

pub(super) const TARGET: Target = Target { name: "replay", seeds: executions, read };

fn read(input: &[u8]) -> Verdict {
    static CHECKER: OnceLock<Checker> = OnceLock::new();
    let checker = CHECKER.get_or_init(|| Checker::new(code::orchestrations()).with_finished(true));
    let raw = HistoryReader::new("fuzz", input).and_then(|mut reader| reader.next_raw());
    let decoded = match raw {
        Ok(Some(raw)) => raw.decode(),
        Ok(None) => return Ok("no execution".to_owned()),
        Err(error) => return Ok(word(&error)),
    };
    let history = match decoded {
        Ok(history) => history,
        Err(error) => return Ok(word(&error)),
    };
    let verdict = checker.check_history(history).verdict;
    if let Replayed::Undecodable { error } = &verdict {
        return Ok(word(error));
    }
    let text = format!("{verdict:?}");
    Ok(word(&text))
}
