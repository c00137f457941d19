//! What the runtime promises to cost, as ratios or bounds that hold on a busy machine.

mod chain;
mod idle;
mod latency;
mod load;
mod stand;
