//! An agent loop: a model that uses tools, user messages in a queue, and a status that clients
//! print live. A conversation survives its process, and may be as long as its token budget.

pub mod conversation;
pub mod model;
pub mod terminal;
pub mod tools;
pub mod workflow;
