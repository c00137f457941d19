//! Which leases are held in this process.
//!
//! A clock that jumps forward, as after the suspension of a machine or in a test, expires leases
//! whose holders are alive and about to renew them. A provider that knows the holders of its
//! process extends such a lease instead of leasing the work again.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A node that holds leases.
pub trait LeaseHolder: Send + Sync {
    /// Whether it holds the lease of this token and is about to renew it.
    fn holds(&self, token: &str) -> bool;

    /// Whether it holds any lease.
    fn holds_any(&self) -> bool;
}

/// The live holders of a process, for providers.
#[derive(Clone, Default)]
pub struct LeaseHolders {
    holders: Arc<Mutex<Vec<Weak<dyn LeaseHolder>>>>,
}

impl LeaseHolders {
    /// Adds a holder, and forgets those that are gone.
    pub fn add(&self, holder: Weak<dyn LeaseHolder>) {
        let mut holders = self.lock();
        holders.retain(|other| other.strong_count() > 0);
        holders.push(holder);
    }

    /// Whether a live holder holds the lease of this token.
    pub fn hold(&self, token: &str) -> bool {
        self.live().iter().any(|holder| holder.holds(token))
    }

    /// Whether any live holder holds a lease.
    pub fn hold_any(&self) -> bool {
        self.live().iter().any(|holder| holder.holds_any())
    }

    /// Whether there is a live holder, which may hold a lease at any moment.
    pub fn is_any_live(&self) -> bool {
        self.lock().iter().any(|holder| holder.strong_count() > 0)
    }

    fn live(&self) -> Vec<Arc<dyn LeaseHolder>> {
        self.lock().iter().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn LeaseHolder>>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for LeaseHolders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseHolders").field("holders", &self.lock().len()).finish()
    }
}
