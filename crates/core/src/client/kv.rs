//! Key-value state as it is right now, with the writes of the running execution.

use std::collections::HashMap;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::wait::Wait;
use super::{Client, ClientError};
use crate::model::stored_attribute::is_attribute_key;
use crate::providers::ChangeScope;

impl Client {
    /// One value; `None` if the key or the instance is missing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// // The orchestration has set it with `ctx.set_kv_value("price", "12")`.
    /// let price = client.get_kv_value("order-7", "price").await?;
    /// println!("{price:?}");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_kv_value(
        &self,
        instance: &str,
        key: &str,
    ) -> Result<Option<String>, ClientError> {
        // Attributes are stored beside the values, and are none.
        if is_attribute_key(key) {
            return Ok(None);
        }
        Ok(self.provider().get_kv_value(instance, key).await?)
    }

    /// Like [`get_kv_value`](Self::get_kv_value), read as JSON.
    pub async fn get_kv_value_typed<T: DeserializeOwned>(
        &self,
        instance: &str,
        key: &str,
    ) -> Result<Option<T>, ClientError> {
        self.get_kv_value(instance, key).await?.map(|text| from_json(&text)).transpose()
    }

    /// All values; empty if the instance is missing.
    pub async fn get_kv_all_values(
        &self,
        instance: &str,
    ) -> Result<HashMap<String, String>, ClientError> {
        let mut values = self.provider().get_kv_all_values(instance).await?;
        values.retain(|key, _| !is_attribute_key(key));
        Ok(values)
    }

    /// Waits until the key has a value, also through trouble of the store that may pass.
    pub async fn wait_for_kv_value(
        &self,
        instance: &str,
        key: &str,
        timeout: Duration,
    ) -> Result<String, ClientError> {
        let mut wait = Wait::begin(self, ChangeScope::Instance(instance), timeout);
        loop {
            let read = self.provider().get_kv_value(instance, key).await;
            if let Some(Some(value)) = wait.passing(read)? {
                return Ok(value);
            }
            wait.for_change().await?;
        }
    }

    /// Like [`wait_for_kv_value`](Self::wait_for_kv_value), read as JSON.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let timeout = Duration::from_secs(30);
    /// let price: u32 = client.wait_for_kv_value_typed("order-7", "price", timeout).await?;
    /// println!("{price}");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_for_kv_value_typed<T: DeserializeOwned>(
        &self,
        instance: &str,
        key: &str,
        timeout: Duration,
    ) -> Result<T, ClientError> {
        from_json(&self.wait_for_kv_value(instance, key, timeout).await?)
    }
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, ClientError> {
    serde_json::from_str(text).map_err(|error| ClientError::InvalidInput {
        message: format!("KV deserialization error: {error}"),
    })
}
