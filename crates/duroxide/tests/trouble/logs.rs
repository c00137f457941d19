//! The log lines of this process. All tests share them: search for a name that no other test uses.

use std::io;
use std::sync::{Mutex, Once, PoisonError};

static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Sink;

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts to collect log lines.
pub(crate) fn collect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::WARN)
            .with_ansi(false)
            .with_writer(|| Sink)
            .init();
    });
}

/// Whether one line contains all of these words.
pub(crate) fn contain(words: &[&str]) -> bool {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&lines).lines().any(|line| words.iter().all(|word| line.contains(word)))
}
