//! Records a node with `strace`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::power::disk_log::{DiskLog, TRACED};
use crate::power::image::Image;
use crate::power::trace::{Call, TraceReader};

/// Longest data of one call: SQLite writes pages, and nothing is larger than its own buffers.
const DATA_MAX: &str = "4194304";
const TRACE: &str = "trace.txt";
const STORE_FOLDER: &str = "store";

/// Runs this program with these arguments and a folder for its store under the recorder; the
/// recording is in `folder`.
pub(crate) fn record(folder: &Path, node: &[&str]) -> Result<(), String> {
    let store = store_folder(folder);
    std::fs::create_dir_all(&store).map_err(|error| format!("{}: {error}", store.display()))?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let log = folder.join("node.log");
    let log = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut command = Command::new("strace");
    command
        .args(["-f", "--seccomp-bpf", "-y", "-xx", "-s", DATA_MAX, "-o"])
        .arg(folder.join(TRACE))
        .args(["-e", &format!("trace={TRACED}"), "-e", "signal=none"])
        .arg(program)
        .args(node)
        .arg("--folder")
        .arg(&store);
    let status =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).status().map_err(
            |error| format!("strace, which records the node, cannot be started: {error}"),
        )?;
    if !status.success() {
        return Err(format!("the recorded node failed ({status}); see {}", folder.display()));
    }
    let (complete, found) = (Image::complete(&read(folder)?), Image::of_folder(&store)?);
    let differing = differing(&complete, &found);
    if !differing.is_empty() {
        return Err(format!("the recording misses changes of {differing:?}"));
    }
    Ok(())
}

/// The calls of a recording, in the order in which they returned.
pub(crate) fn calls(folder: &Path) -> Result<Vec<Call>, String> {
    let named = |error| format!("{}: {error}", folder.display());
    let mut reader = TraceReader::default();
    let mut calls = Vec::new();
    for line in BufReader::new(File::open(folder.join(TRACE)).map_err(named)?).lines() {
        calls.extend(reader.line(&line.map_err(named)?)?);
    }
    Ok(calls)
}

/// The folder of the store in a recording.
pub(crate) fn store_folder(folder: &Path) -> PathBuf {
    folder.join(STORE_FOLDER)
}

/// Reads a recording.
pub(crate) fn read(folder: &Path) -> Result<DiskLog, String> {
    let (trace, store) = (folder.join(TRACE), store_folder(folder));
    let named = |error| format!("{}: {error}", folder.display());
    let trace = BufReader::new(File::open(trace).map_err(named)?);
    DiskLog::read(trace, &store)
}

/// Names of files that are not the same.
fn differing<'a>(left: &'a Image, right: &'a Image) -> Vec<&'a str> {
    let names = left.files.keys().chain(right.files.keys());
    let mut names: Vec<&str> = names
        .filter(|name| left.files.get(*name) != right.files.get(*name))
        .map(String::as_str)
        .collect();
    names.extend((left.sorted_effects() != right.sorted_effects()).then_some("the effects"));
    names
}
