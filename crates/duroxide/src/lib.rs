//! Durable execution embedded in your own program.
