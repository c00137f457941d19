//! The stored form of events and work items, byte for byte. What these tests hold fast is read by
//! databases that already exist: a change here is a change of the format.

mod codec;
mod errors;
mod events;
mod golden;
mod ids;
mod reading;
mod round_trip;
mod work_items;
