//! Promised costs of the runtime, as ratios or bounds that hold on a busy machine.

mod chain;
mod idle;
mod latency;
mod load;
mod test_node;
