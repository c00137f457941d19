//! What the terminal can do, if there is one.

use std::io::IsTerminal;

use crate::limits;

/// What is known about standard output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    /// Whether it is a terminal.
    pub(crate) is_terminal: bool,
    /// Whether colours are shown.
    pub(crate) colours: bool,
    /// Columns to cut tables to; `None` if nothing is cut.
    pub(crate) cut: Option<usize>,
    /// Columns to draw in.
    pub(crate) width: usize,
}

impl Terminal {
    /// Asks the system about standard output.
    pub(crate) fn of_stdout() -> Self {
        if !std::io::stdout().is_terminal() {
            let width = named_width().unwrap_or(limits::WIDTH_WITHOUT_TERMINAL);
            return Self { is_terminal: false, colours: false, cut: None, width };
        }
        let width = named_width().or_else(window_width).unwrap_or(limits::WIDTH_WITHOUT_TERMINAL);
        Self { is_terminal: true, colours: colours_are_wanted(), cut: Some(width), width }
    }
}

/// Whether a person can answer questions.
pub(crate) fn stdin_is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// `NO_COLOR` with any text switches colours off, and so does a terminal without them.
fn colours_are_wanted() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|text| !text.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn named_width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok()?;
    let columns: usize = columns.parse().ok().filter(|columns| *columns > 0)?;
    Some(columns.min(limits::WIDTH_MAX))
}

#[cfg(unix)]
fn window_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
fn window_width() -> Option<usize> {
    None
}
