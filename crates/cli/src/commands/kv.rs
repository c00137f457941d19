//! `duroxide kv`.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;

use super::known;
use crate::failure::{Failure, Result};
use crate::output::{Column, Format, List, Record, Styled};
use crate::session::Session;

/// Show the key-value state of an instance
#[derive(Debug, Args)]
pub(crate) struct KvArgs {
    /// The instance
    id: String,
    /// Print only the value of this key, as it is
    key: Option<String>,
}

#[derive(Debug, Serialize)]
struct Entry {
    key: String,
    value: String,
}

impl Record for Entry {
    const COLUMNS: &'static [Column] = &[Column::new("KEY"), Column::new("VALUE")];

    fn cells(&self) -> Vec<Styled> {
        vec![self.key.as_str().into(), self.value.as_str().into()]
    }

    fn id(&self) -> &str {
        &self.key
    }
}

pub(crate) async fn run(args: KvArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    known::require(&client, &args.id).await?;
    let Some(key) = args.key else {
        let values: BTreeMap<_, _> =
            client.get_kv_all_values(&args.id).await?.into_iter().collect();
        let entries = values.into_iter().map(|(key, value)| Entry { key, value });
        return List::write(&mut session.out, &entries.collect::<Vec<_>>());
    };
    let Some(value) = client.get_kv_value(&args.id, &key).await? else {
        return Err(Failure::not_found(format!("instance '{}' has no key '{key}'", args.id)));
    };
    let out = &mut session.out;
    match out.format() {
        Format::Table | Format::Wide => out.text(&value),
        Format::Json | Format::Jsonl => out.json(&Entry { key, value }),
        Format::Ids => out.id(&key),
    }
}
