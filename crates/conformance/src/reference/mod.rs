//! A storage backend for readers: the contract as code.
//!
//! Plain collections behind one mutex. Each operation is a function on `store`: it checks
//! everything, then makes its changes, so that a refused operation changes nothing. Read `store`
//! first, then `fetch` and `commit`.
//!
//! Rows and waits come from the provider kit, as in any backend. Where a rule decides what is
//! stored, the code here is its own, so that comparing a backend with it finds mistakes of both.
//!
//! ```
//! use duroxide_conformance::reference::MemoryProvider;
//! use duroxide_core::providers::Provider;
//!
//! let provider = MemoryProvider::default();
//! assert_eq!(provider.name(), "memory");
//! ```

mod admin;
mod attempts;
mod capabilities;
mod commit;
mod direct_turn;
mod factory;
mod fetch;
mod fetch_calls;
mod fetch_wait;
mod history;
mod holding;
mod inspect;
mod instance_queues;
mod kv;
mod orchestrator_queue;
mod pending;
mod progress;
mod provider;
mod query;
mod refusal;
mod reopening;
mod retention;
mod sessions;
mod start_limits;
mod store;
mod stranded_turns;
mod suspension;
mod transfer;
mod turn_lock;
mod turn_messages;
mod waiting;
mod worker_queue;
mod workers;

pub use factory::ReferenceFactory;
pub use pending::PendingWork;
pub use provider::MemoryProvider;
