//! `duroxide store info`.

use clap::Args;
use serde::Serialize;

use crate::failure::Result;
use crate::output::{Details, size};
use crate::session::Session;
use crate::store::Access;

/// Show where the store is, how large it is, and which version its tables have
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {}

#[derive(Debug, Serialize)]
struct Info {
    /// `sqlite` or `postgres`.
    kind: String,
    location: String,
    schema: Option<String>,
    schema_version: i64,
    schema_version_known: i64,
    engine_version: String,
    size_bytes: u64,
    free_bytes: Option<u64>,
    /// The version of this command.
    command_version: &'static str,
}

pub(crate) async fn run(_: InfoArgs, session: &mut Session) -> Result<()> {
    let store = session.open(Access::Read).await?.describe().await?;
    let info = Info {
        kind: store.kind,
        location: store.location,
        schema: store.schema,
        schema_version: store.schema_version,
        schema_version_known: store.schema_version_known,
        engine_version: store.engine_version,
        size_bytes: store.size_bytes,
        free_bytes: store.free_bytes,
        command_version: env!("CARGO_PKG_VERSION"),
    };
    let versions = format!("{} of {}", info.schema_version, info.schema_version_known);
    Details::default()
        .with("store", info.kind.as_str())
        .with("location", info.location.as_str())
        .with_some("schema", info.schema.as_deref())
        .with("schema version", versions)
        .with("engine", info.engine_version.as_str())
        .with("size", size(info.size_bytes))
        .with_some("free inside", info.free_bytes.map(size))
        .with("command", info.command_version)
        .write(&mut session.out, &info.location, &info)
}
