//! The engine, rule by rule: text cases, properties, wakes and cost. `docs/internals/rules.md`
//! states the rules.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

mod answered_calls;
mod case;
mod cases;
mod cpu_time;
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
