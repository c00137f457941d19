//! Expired leases whose holders are alive in this process: a fetch extends them instead of claiming
//! their work.
//!
//! If no lease has expired, a fetch is one call. Otherwise the first call only returns the expired
//! leases, and a second one says which of them this process holds.

use duroxide_core::providers::LeaseHolders;
use tokio_postgres::Row;
use tokio_postgres::types::FromSqlOwned;
use uuid::Uuid;

/// What a fetch says about expired leases, each of which has a token and the key of its row.
#[derive(Debug)]
pub(crate) struct ExpiredLeases<K> {
    /// The call returns them and claims nothing.
    pub(crate) asks: bool,
    /// Those that it may claim; `None` if it may claim all.
    pub(crate) free: Option<Vec<Uuid>>,
    pub(crate) held_keys: Vec<K>,
    pub(crate) held_tokens: Vec<Uuid>,
}

impl<K: FromSqlOwned> ExpiredLeases<K> {
    /// For a process without nodes.
    pub(crate) fn all_free() -> Self {
        Self { asks: false, free: None, held_keys: Vec::new(), held_tokens: Vec::new() }
    }

    /// For the first call of a fetch. A node that holds nothing now may get a lease before the
    /// server sees the call, and then be paused.
    pub(crate) fn unknown(holders: &LeaseHolders) -> Self {
        Self { asks: holders.is_any_live(), ..Self::all_free() }
    }

    /// For the second call, if the first one has returned expired leases. `token` is the text that
    /// their holders know.
    pub(crate) fn found(
        &self,
        holders: &LeaseHolders,
        rows: &[Row],
        keys: &'static str,
        token: impl Fn(&K, Uuid) -> String,
    ) -> Option<Self> {
        let row = rows.last().filter(|_| self.asks)?;
        let tokens = row.get::<_, Option<Vec<Uuid>>>("o_expired_tokens")?;
        let keys = row.get::<_, Option<Vec<K>>>(keys)?;
        let mut found = Self { free: Some(Vec::new()), ..Self::all_free() };
        for (key, id) in keys.into_iter().zip(tokens) {
            if holders.hold(&token(&key, id)) {
                found.held_keys.push(key);
                found.held_tokens.push(id);
            } else {
                found.free.get_or_insert_default().push(id);
            }
        }
        Some(found)
    }
}
