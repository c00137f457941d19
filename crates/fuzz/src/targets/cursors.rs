//! Cursors of lists, which callers keep and return, on a store with instances.

use std::sync::{Arc, OnceLock};

use duroxide::Client;
use duroxide::provider_validations::reference::MemoryProvider;
use duroxide::providers::{InstanceQuery, ListCursor};
use duroxide::query::Filter;

use super::support::block_on;
use crate::target::{Target, Verdict, word};

pub(super) const TARGET: Target = Target { name: "cursors", seeds: Vec::new, read };

fn read(input: &[u8]) -> Verdict {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    let client = CLIENT.get_or_init(|| Client::new(Arc::new(MemoryProvider::default())));
    let text = String::from_utf8_lossy(input).into_owned();
    let query = InstanceQuery::new(Filter::all()).with_after(ListCursor::new(text));
    match block_on(client.query_instances(query))? {
        Ok(page) => Ok(format!("{} rows", page.rows.len())),
        Err(error) => Ok(word(&error)),
    }
}
