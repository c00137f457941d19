//! Human approval with a deadline: a request, reminders, escalation to a manager, and a decision
//! that another process sends.

pub mod commands;
pub mod workflow;
