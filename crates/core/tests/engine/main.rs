//! The engine, rule by rule: text cases, properties, wake-ups and cost.

mod case;
mod cases;
mod flat;
mod harness;
mod notation;
mod panics;
mod properties;
mod render;
mod replaying;
mod runner;
mod samples;
mod start_limits;
mod traces;
mod wakers;
