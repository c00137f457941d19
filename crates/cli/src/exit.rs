//! The exit codes of the command. Scripts rely on them.

use std::process::ExitCode;

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Done = 0,
    /// Something failed.
    Error = 1,
    /// The command line is wrong.
    Usage = 2,
    /// There is no such instance, execution or key.
    NotFound = 4,
    /// The instance that was waited for has failed.
    InstanceFailed = 5,
    /// The time for a wait is over.
    Timeout = 6,
    /// Histories do not fit this release.
    Incompatible = 7,
    /// A question was not answered with yes, or could not be asked.
    NotConfirmed = 8,
    /// The user interrupted the command.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The codes as a text for the help.
pub(crate) const HELP: &str = "\
Exit codes:
  0    done
  1    error
  2    wrong usage
  4    not found
  5    the instance failed (wait)
  6    timeout (wait)
  7    incompatible histories (check-histories)
  8    not confirmed
  130  interrupted";
