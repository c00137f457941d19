//! Moves work between the provider, the engine and the activities.

pub mod limits;
