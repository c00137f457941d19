//! The activities behind `new_guid`, `utc_now` and reads of another instance's values.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use uuid::Uuid;

use crate::clock::Clock;
use crate::model::syscall;
use crate::runtime::{ActivityContext, ActivityHandler};

/// The handler of a built-in activity; `None` for every other name.
pub(crate) fn builtin_activity(
    name: &str,
    clock: &Arc<dyn Clock>,
) -> Option<Arc<dyn ActivityHandler>> {
    match name {
        syscall::NEW_GUID => Some(Arc::new(NewGuid)),
        syscall::UTC_NOW_MS => Some(Arc::new(UtcNow { clock: Arc::clone(clock) })),
        syscall::GET_KV_VALUE => Some(Arc::new(GetKvValue)),
        _not_builtin => None,
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

/// Input of `get_kv_value`. A stored format.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::fake::{FAKE_NOW_MS, FakeProvider};
    use crate::providers::{ManualClock, Provider};
    use crate::runtime::activity_context::tests::{context, context_of};

    async fn run(name: &str, ctx: ActivityContext, input: &str) -> Result<String, String> {
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(FAKE_NOW_MS));
        builtin_activity(name, &clock).unwrap().invoke(ctx, input.to_owned()).await
    }

    #[test]
    fn other_names_are_not_builtin() {
        let clock = FakeProvider::watching().clock();
        assert!(builtin_activity("Charge", &clock).is_none());
        assert!(builtin_activity("__duroxide_syscall:unknown", &clock).is_none());
    }

    #[tokio::test]
    async fn new_guid_makes_a_random_uuid() {
        let text = run("__duroxide_syscall:new_guid", context(), "").await.unwrap();
        assert_eq!(Uuid::parse_str(&text).unwrap().get_version_num(), 4);
        assert_ne!(text, run("__duroxide_syscall:new_guid", context(), "").await.unwrap());
    }

    #[tokio::test]
    async fn utc_now_reads_the_clock_of_the_store() {
        let text = run("__duroxide_syscall:utc_now_ms", context(), "").await.unwrap();
        assert_eq!(text, FAKE_NOW_MS.to_string());
    }

    #[tokio::test]
    async fn a_value_of_another_instance_is_read_as_json() {
        let provider = FakeProvider::watching();
        provider.set_value("other", "k", "v");
        let read = async |input| {
            run("__duroxide_syscall:get_kv_value", context_of(Arc::clone(&provider)), input).await
        };
        let found = read(r#"{"instance_id":"other","key":"k"}"#).await;
        assert_eq!(found.as_deref(), Ok("\"v\""));
        let missing = read(r#"{"instance_id":"other","key":"missing"}"#).await;
        assert_eq!(missing.as_deref(), Ok("null"));
        assert!(read("not json").await.is_err());
    }
}
