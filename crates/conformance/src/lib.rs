//! Proof that a storage backend keeps the contract.

pub mod reference;
