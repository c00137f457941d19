//! {{description}}.

mod mailer;
mod workflow;

pub use mailer::{Mail, Mailer};
pub use workflow::{CONFIRMED, Outcome, welcome};
