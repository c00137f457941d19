//! What orchestration code holds.
