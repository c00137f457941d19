//! The activities behind `new_guid`, `utc_now` and reads of another instance's values.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use uuid::Uuid;

use super::{ActivityContext, ActivityHandler};
use crate::clock::Clock;
use crate::model::syscall;

/// The handler of a system activity; `None` for every other name.
pub(crate) fn resolve_system_activity(
    name: &str,
    clock: &Arc<dyn Clock>,
) -> Option<Arc<dyn ActivityHandler>> {
    match name {
        syscall::NEW_GUID => Some(Arc::new(NewGuid)),
        syscall::UTC_NOW_MS => Some(Arc::new(UtcNow { clock: Arc::clone(clock) })),
        syscall::GET_KV_VALUE => Some(Arc::new(GetKvValue)),
        _not_ours => None,
    }
}

struct NewGuid;

#[async_trait]
impl ActivityHandler for NewGuid {
    async fn invoke(&self, _ctx: ActivityContext, _input: String) -> Result<String, String> {
        Ok(Uuid::new_v4().to_string())
    }
}

struct UtcNow {
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl ActivityHandler for UtcNow {
    async fn invoke(&self, _ctx: ActivityContext, _input: String) -> Result<String, String> {
        Ok(self.clock.now_ms().to_string())
    }
}

struct GetKvValue;

/// Input of a read; a stored format.
#[derive(Deserialize)]
struct KvAddress {
    instance_id: String,
    key: String,
}

#[async_trait]
impl ActivityHandler for GetKvValue {
    async fn invoke(&self, ctx: ActivityContext, input: String) -> Result<String, String> {
        let address: KvAddress = serde_json::from_str(&input).map_err(|error| error.to_string())?;
        let value = ctx
            .get_client()
            .get_kv_value(&address.instance_id, &address.key)
            .await
            .map_err(|error| error.to_string())?;
        serde_json::to_string(&value).map_err(|error| error.to_string())
    }
}
