//! The stored form of events and work items, byte for byte. Existing databases hold this form: a
//! test that has to change here is a change of the format.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

mod codec;
mod errors;
mod events;
mod golden;
mod ids;
mod reading;
mod round_trip;
mod schema;
mod work_items;
