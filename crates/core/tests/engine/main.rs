//! The engine, rule by rule: text cases, properties, wake-ups and cost.

mod case;
mod cases;
mod notation;
mod properties;
mod render;
mod runner;
mod samples;
