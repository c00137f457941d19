//! Promised costs of the runtime, as ratios or bounds that hold on a busy machine.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

mod chain;
mod idle;
mod latency;
mod load;
mod test_node;
