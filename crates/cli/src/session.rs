//! What one run of the command works with.

use duroxide::Client;
use duroxide::providers::{Clock, SystemClock};

use crate::cli::Global;
use crate::failure::{Failure, Result};
use crate::output::Out;
use crate::store::{Access, Location, Refusal, Store};

/// One run of the command.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) out: Out,
    global: Global,
    opened: Vec<Store>,
}

impl Session {
    /// A run with these options; opens nothing yet.
    pub(crate) fn new(global: Global) -> Self {
        Self { out: Out::new(global.output), global, opened: Vec::new() }
    }

    /// The store of the command line.
    pub(crate) fn location(&self) -> Result<Location> {
        Location::find(self.global.store.as_deref(), self.global.schema.as_deref())
    }

    /// Opens the store.
    pub(crate) async fn open(&mut self, access: Access) -> Result<Store> {
        Ok(self.try_open(access).await??)
    }

    /// Opens the store; the inner error says why that is not possible.
    pub(crate) async fn try_open(&mut self, access: Access) -> Result<Result<Store, Refusal>> {
        if self.global.read_only && access != Access::Read {
            let why = "this command changes the store, and --read-only forbids that";
            return Err(Failure::usage(why));
        }
        let opened = Store::open(&self.location()?, access).await;
        self.opened.extend(opened.as_ref().ok().cloned());
        Ok(opened)
    }

    /// The time of the store, or of the machine while no store is open; milliseconds since the
    /// Unix epoch.
    pub(crate) fn now_ms(&self) -> u64 {
        let clock = self.opened.last().map(|store| store.provider().clock());
        clock.map_or_else(|| SystemClock.now_ms(), |clock| clock.now_ms())
    }

    /// A client that reads.
    pub(crate) async fn reader(&mut self) -> Result<Client> {
        Ok(self.open(Access::Read).await?.client())
    }

    /// A client that may change something.
    pub(crate) async fn writer(&mut self) -> Result<Client> {
        Ok(self.open(Access::Write).await?.client())
    }

    /// Writes what is left and closes the store.
    pub(crate) async fn finish(mut self, outcome: Result<()>) -> Result<()> {
        let written = self.out.flush();
        for store in &self.opened {
            let closed = store.close().await;
            if outcome.is_ok() {
                closed?;
            }
        }
        outcome.and(written)
    }
}
