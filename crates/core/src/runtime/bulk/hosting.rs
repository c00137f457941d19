//! Registries of the code of bulk acts, and a node that runs nothing else.

use std::sync::Arc;

use super::{apply, code, freeze};
use crate::client::bulk::{BULK, CURRENT_CODE, FIRST_CODE};
use crate::limits::{BULK_HOST_ACTIVITIES, BULK_HOST_TURNS};
use crate::providers::Provider;
use crate::runtime::{ActivityRegistry, OrchestrationRegistry, Runtime, RuntimeOptions};

/// The orchestration of bulk acts, for a program that hosts them beside its own code.
pub fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register_at_version(BULK, FIRST_CODE.version, code::first)
        .register_at_version(BULK, CURRENT_CODE.version, code::current)
        .build()
}

/// The activities of bulk acts.
pub fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register(FIRST_CODE.freeze, freeze::freeze)
        .register(FIRST_CODE.apply, apply::apply)
        .register(CURRENT_CODE.freeze, freeze::freeze)
        .register(CURRENT_CODE.apply, apply::apply)
        .build()
}

/// Starts a node that carries out bulk acts and runs nothing else: those that are started from now
/// on, and those that another host has left unfinished.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use duroxide::client::{BulkAct, BulkRequest};
/// use duroxide::providers::Provider;
/// use duroxide::query::Filter;
/// use duroxide::runtime::bulk;
/// # use duroxide::{Client, ClientError};
///
/// async fn retry_failed(store: Arc<dyn Provider>) -> Result<(), ClientError> {
///     let client = Client::new(Arc::clone(&store));
///     let request = BulkRequest::matching(BulkAct::Retry, Filter::parse("status:failed")?)
///         .by("mara", "the bank has recovered");
///     let act = client.start_bulk(&request).await?;
///     let host = bulk::host(store).await;
///     println!("{}", client.wait_for_bulk(&act, Duration::from_secs(3600)).await?);
///     host.shutdown(None).await;
///     Ok(())
/// }
/// ```
pub async fn host(store: Arc<dyn Provider>) -> BulkHost {
    let options = RuntimeOptions::default()
        .with_orchestration_concurrency(BULK_HOST_TURNS)
        .with_worker_concurrency(BULK_HOST_ACTIVITIES);
    let (activities, orchestrations) = (activities(), orchestrations());
    BulkHost(Runtime::start_with_options(store, activities, orchestrations, options).await)
}

/// A node that carries out bulk acts. It goes on until it is shut down.
#[derive(Debug)]
pub struct BulkHost(Arc<Runtime>);

impl BulkHost {
    /// Stops the node; another host goes on with what it leaves. The time is as in
    /// [`Runtime::shutdown`].
    pub async fn shutdown(self, timeout_ms: Option<u64>) {
        self.0.shutdown(timeout_ms).await;
    }
}
