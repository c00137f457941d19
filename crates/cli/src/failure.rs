//! Why a command ended without success: one line for people, and an exit code for scripts.

use std::fmt;
use std::io;

use duroxide::ClientError;
use duroxide::histories::HistoriesError;
use duroxide::providers::{ProviderError, ProviderErrorKind};
use duroxide::transfer::TransferError;

use crate::exit::Exit;

/// The end of a command without success.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    /// `None` if there is nothing to say: the reader of the output has gone, or the output itself
    /// says it.
    message: Option<String>,
}

/// The result of a command.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Something failed.
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self::with(Exit::Error, message)
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::with(Exit::Usage, message)
    }

    /// There is no such thing.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::with(Exit::NotFound, message)
    }

    /// There is no such instance.
    pub(crate) fn unknown_instance(id: &str) -> Self {
        Self::not_found(format!(
            "there is no instance '{id}'; `duroxide list` shows those that are"
        ))
    }

    /// Any other end.
    pub(crate) fn with(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: Some(message.into()) }
    }

    /// An end that the output explains.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self { exit, message: None }
    }

    /// The code of the process.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The line for people.
    pub(crate) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message.as_deref().unwrap_or_default())
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::InstanceNotFound { instance_id } => Self::unknown_instance(&instance_id),
            ClientError::Timeout => Self::with(Exit::Timeout, "the time is over"),
            ClientError::InvalidInput { message } => Self::usage(message),
            ClientError::InstanceStillRunning { instance_id } => Self::error(format!(
                "instance '{instance_id}' still runs: cancel it first, or delete it with --force"
            )),
            ClientError::CannotDeleteSubOrchestration { instance_id } => Self::error(format!(
                "instance '{instance_id}' is a child: delete its root (`duroxide show` names the \
                 parent)"
            )),
            ClientError::Provider(error) => error.into(),
            ClientError::ManagementNotAvailable => Self::error(error.to_string()),
        }
    }
}

impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Self {
        let exit = match error.kind == ProviderErrorKind::NotFound {
            true => Exit::NotFound,
            false => Exit::Error,
        };
        let advice = if error.message.contains("read-only") { READ_ONLY } else { "" };
        Self::with(exit, format!("{}{advice}", error.message))
    }
}

const READ_ONLY: &str = " (the store was opened for reading)";

impl From<HistoriesError> for Failure {
    fn from(error: HistoriesError) -> Self {
        Self::error(error.to_string())
    }
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Self {
        let text = error.to_string();
        if let TransferError::NotFound { instance } = &error {
            Self::unknown_instance(instance)
        } else if let TransferError::Running { instance } = &error {
            Self::error(format!(
                "instance '{instance}' runs: `duroxide suspend` it first; or choose --running hold \
                 to hold each running instance for its export, or --running snapshot for a copy to \
                 read"
            ))
        } else if let TransferError::File(HistoriesError::Io { source, .. }) = &error
            && source.kind() == io::ErrorKind::BrokenPipe
        {
            io::Error::from(io::ErrorKind::BrokenPipe).into()
        } else if let TransferError::Store(error) = error {
            error.into()
        } else {
            Self::error(text)
        }
    }
}

impl From<io::Error> for Failure {
    /// An error of standard output. A reader that has gone, as `head` does, is none.
    fn from(error: io::Error) -> Self {
        match error.kind() == io::ErrorKind::BrokenPipe {
            true => Self::silent(Exit::Done),
            false => Self::error(format!("the output cannot be written: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_error() {
        let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((failure.exit(), failure.message()), (Exit::Done, None));
        let failure = Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(failure.exit(), Exit::Error);
    }

    #[test]
    fn what_is_missing_has_a_code_of_its_own() {
        let missing = ClientError::InstanceNotFound { instance_id: "a".to_owned() };
        assert_eq!(Failure::from(missing).exit(), Exit::NotFound);
        assert_eq!(Failure::from(ClientError::Timeout).exit(), Exit::Timeout);
        let error = ProviderError::permanent("read", "x").with_kind(ProviderErrorKind::NotFound);
        assert_eq!(Failure::from(ClientError::from(error)).exit(), Exit::NotFound);
        let error = ProviderError::permanent("read", "x");
        assert_eq!(Failure::from(ClientError::from(error)).exit(), Exit::Error);
    }
}
