//! Changes of inputs: bytes, words, JSON values, lines.

mod bytes;
mod json;
mod lines;
mod mutate;
mod words;

pub use mutate::{mutate, mutate_text};
pub use words::{NUMBERS, WORDS};
