//! A hostile database: every kind of error, cut and delay at every statement of a workflow's life.

mod life;
mod matrix;
mod refused_begin;
mod states;
mod wire;
