//! Faults of values and sizes.

use duroxide_core::SystemStats;
use duroxide_core::providers::{Provider, ProviderError};

use crate::fault::Fault;
use crate::provider::FaultyProvider;

impl FaultyProvider {
    pub(crate) async fn value(
        &self,
        instance: &str,
        key: &str,
    ) -> Result<Option<String>, ProviderError> {
        let value = self.inner.get_kv_value(instance, key).await?;
        let noted = self.memory.noted();
        let place = (instance.to_owned(), key.to_owned());
        Ok(match self.fault() {
            Some(Fault::TombstonesIgnored) => value.or_else(|| noted.values.get(&place).cloned()),
            Some(Fault::ValuesShared) => value.or_else(|| noted.shared_values.get(key).cloned()),
            _other => value,
        })
    }

    pub(crate) async fn stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError> {
        let stats = self.inner.get_instance_stats(instance).await?;
        let empty = SystemStats {
            history_event_count: 0,
            history_size_bytes: 0,
            queue_pending_count: 0,
            kv_user_key_count: 0,
            kv_total_value_bytes: 0,
        };
        Ok(match self.fault() {
            Some(Fault::StatsInvented) => stats.or(Some(empty)),
            Some(Fault::StatsWithoutValues) => stats.map(|stats| SystemStats {
                kv_user_key_count: 0,
                kv_total_value_bytes: 0,
                ..stats
            }),
            _other => stats,
        })
    }
}
