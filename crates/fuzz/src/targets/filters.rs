//! Filters over instances, as people type them.

use duroxide::query::{Filter, InstanceRow, RowStatus};

use crate::target::{Target, Verdict, require, word};

pub(super) const TARGET: Target = Target { name: "filters", seeds: Vec::new, read };

fn read(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let filter = match Filter::parse(&text) {
        Ok(filter) => filter,
        Err(error) => {
            let end = error.position.saturating_add(error.length);
            require(end <= text.len(), || format!("a mistake at byte {end} is behind the end"))?;
            require(!error.caret().is_empty(), || "no text for a mistake".to_owned())?;
            return Ok(word(&error.message));
        }
    };
    let printed = filter.to_string();
    let again = Filter::parse(&printed).map_err(|error| format!("{printed:?} fails: {error}"))?;
    require(again == filter, || format!("{printed:?} is another filter: {again:?}, {filter:?}"))?;
    let mut row = InstanceRow::new("order-7", "Order", RowStatus::Failed);
    row.custom_status = Some("ÄRGER İ ß".to_owned());
    let found = [0, 1_800_000_000_000, u64::MAX].map(|now| filter.matches(&row, now));
    let negated = filter.terms().iter().filter(|term| term.negated).count();
    Ok(format!("{} terms, {negated} negated, {found:?}", filter.terms().len()))
}
