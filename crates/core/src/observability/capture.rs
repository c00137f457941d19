//! Captures the log lines of a closure, for unit tests. It works on the calling thread only.

use std::io;
use std::sync::{Arc, Mutex};

/// Runs `code` and returns its log lines, each a JSON object with the fields beside the message.
pub(crate) fn captured(code: impl FnOnce()) -> Vec<String> {
    let written = Written::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_max_level(tracing::Level::DEBUG)
        .with_writer({
            let written = written.clone();
            move || written.clone()
        })
        .finish();
    tracing::subscriber::with_default(subscriber, code);
    let bytes = written.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
