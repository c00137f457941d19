//! Files of histories.

use duroxide::histories::{HistoryReader, HistoryWriter};

use crate::target::{Target, Verdict, require, word};

pub(super) const TARGET: Target = Target { name: "histories", seeds: executions, read };

const RECORDED: &str = include_str!("../../../duroxide/tests/histories/recorded/0.2.0.jsonl");

/// Each recorded execution as a file of its own.
pub(super) fn executions() -> Vec<Vec<u8>> {
    let mut lines = RECORDED.lines();
    let first = lines.next().unwrap_or_default();
    let mut files: Vec<String> = Vec::new();
    for line in lines {
        if line.starts_with("{\"execution\"") {
            files.push(first.to_owned());
        }
        if let Some(file) = files.last_mut() {
            file.push('\n');
            file.push_str(line);
        }
    }
    files.into_iter().map(String::into_bytes).collect()
}

fn read(input: &[u8]) -> Verdict {
    let mut reader = match HistoryReader::new("fuzz", input) {
        Ok(reader) => reader,
        Err(error) => return Ok(word(&error)),
    };
    let mut read = 0;
    loop {
        let raw = match reader.next_raw() {
            Ok(None) => return Ok(format!("{read} executions")),
            Ok(Some(raw)) => raw,
            Err(error) => return Ok(word(&error)),
        };
        read += 1;
        let decoded = match raw.decode() {
            Ok(decoded) => decoded,
            Err(error) => return Ok(word(&error)),
        };
        let written = HistoryWriter::new("fuzz", Vec::new()).and_then(|mut writer| {
            writer.write(&decoded)?;
            writer.finish()
        });
        let written = written.map_err(|error| error.to_string())?;
        let again = HistoryReader::new("again", written.as_slice())
            .and_then(|mut reader| reader.next_raw())
            .map_err(|error| error.to_string())?;
        let again = again.ok_or("nothing is read back")?.decode();
        let again = again.map_err(|error| error.to_string())?;
        require(again.events == decoded.events, || "other events are read back".to_owned())?;
    }
}
