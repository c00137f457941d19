//! Resource usage of this process as the kernel reports it; zero where it reports none.

use std::fs;
use std::path::Path;

/// Processor time, wake-ups and memory of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Processor time of all running threads.
    pub cpu_seconds: f64,
    /// Voluntary context switches: how often a thread started to wait.
    pub waits: u64,
    /// Memory in use.
    pub resident_bytes: u64,
}

impl Usage {
    /// The usage so far.
    pub fn now() -> Self {
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let mut usage =
            Self { resident_bytes: status("/proc/self", "VmRSS:") * 1024, ..Self::default() };
        for task in tasks {
            let path = task.path();
            usage.cpu_seconds += nanoseconds(&path) as f64 / 1e9;
            usage.waits += status(&path, "voluntary_ctxt_switches:");
        }
        usage
    }
}

/// Processor time of the process including exited threads, at a resolution of 10 ms.
pub fn process_cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may contain spaces.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / TICKS_PER_SECOND
}

/// The unit in which Linux reports processor time.
const TICKS_PER_SECOND: f64 = 100.0;

/// The most memory that the process had in use so far.
pub fn peak_resident_bytes() -> u64 {
    status("/proc/self", "VmHWM:") * 1024
}

/// Bytes of all files in a folder.
pub fn folder_bytes(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
}

fn nanoseconds(task: &Path) -> u64 {
    let text = fs::read_to_string(task.join("schedstat")).unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

fn status(task: impl AsRef<Path>, key: &str) -> u64 {
    let text = fs::read_to_string(task.as_ref().join("status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
