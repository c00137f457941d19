//! What a store has acknowledged to a client.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use crate::kinds::Workflow;

/// One acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ack {
    /// The start was accepted.
    Started(Workflow),
    /// A signal, a message or a cancellation with this text was accepted.
    Sent(Workflow, String),
    /// The client has read the result, which is the expected one.
    Finished(Workflow),
}

impl Ack {
    fn line(&self) -> String {
        match self {
            Self::Started(workflow) => format!("started {}\n", workflow.id()),
            Self::Sent(workflow, text) => format!("sent {} {text}\n", workflow.id()),
            Self::Finished(workflow) => format!("finished {}\n", workflow.id()),
        }
    }

    /// Reads a line back.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = line.trim_end().splitn(3, ' ');
        let (what, id) = (words.next()?, words.next()?);
        let workflow = Workflow::parse(id)?;
        match what {
            "started" => Some(Self::Started(workflow)),
            "sent" => Some(Self::Sent(workflow, words.next()?.to_owned())),
            "finished" => Some(Self::Finished(workflow)),
            _unknown => None,
        }
    }
}

/// Where acknowledgements are noted.
#[derive(Debug, Clone)]
pub(crate) enum Journal {
    Nowhere,
    Memory(Arc<Mutex<Vec<Ack>>>),
    /// On standard output, each line by one system call, before the client goes on.
    Stdout,
}

impl Journal {
    /// Notes an acknowledgement.
    pub(crate) fn note(&self, ack: &Ack) -> Result<(), String> {
        match self {
            Self::Nowhere => Ok(()),
            Self::Memory(acks) => {
                acks.lock().unwrap_or_else(PoisonError::into_inner).push(ack.clone());
                Ok(())
            }
            Self::Stdout => std::io::stdout()
                .lock()
                .write_all(ack.line().as_bytes())
                .map_err(|error| format!("an acknowledgement cannot be noted: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kind;

    #[test]
    fn a_noted_acknowledgement_is_read_back() {
        let workflow = Workflow { kind: Kind::Events, number: 17 };
        for ack in [
            Ack::Started(workflow),
            Ack::Sent(workflow, "go-17".to_owned()),
            Ack::Finished(workflow),
        ] {
            assert_eq!(Ack::parse(&ack.line()), Some(ack));
        }
        assert_eq!(Ack::parse("finished Nothing-1"), None);
    }
}
