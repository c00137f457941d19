//! A hostile database: every kind of error, cut and delay at every statement of a workflow's life.

mod journey;
mod life;
mod matrix;
mod refused_begin;
mod servers;
mod states;
mod wire;
