//! Runs the command, and writes down what it prints.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::normal::normal;
use crate::place::Place;
use crate::world::{PATIENCE, World};

/// Lines of one output that the transcript has at the most.
const LINES_MAX: usize = 40;

/// Between two looks at what must happen.
const PAUSE: Duration = Duration::from_millis(100);

/// A tour under way.
pub(crate) struct Tour {
    pub(crate) world: World,
    transcript: String,
}

/// What a run of the command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Tour {
    pub(crate) fn of(world: World) -> Self {
        Self { world, transcript: String::new() }
    }

    /// Begins a part of the transcript.
    pub(crate) fn part(&mut self, title: &str) {
        let first = if self.transcript.is_empty() { "" } else { "\n" };
        writeln!(self.transcript, "{first}## {title}").unwrap();
        eprintln!("tour: {title}");
    }

    /// Runs the command without writing it down.
    pub(crate) fn quietly(&self, arguments: &[&str]) -> Ran {
        self.quietly_on(&self.world.place, arguments)
    }

    /// Runs the command on another store. Files are in the folder of the first.
    fn quietly_on(&self, place: &Place, arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_duroxide"));
        command.args(arguments).env("DUROXIDE_STORE", &place.url).env("NO_COLOR", "1");
        if let Some(schema) = &place.schema {
            command.args(["--schema", schema]);
        }
        command.current_dir(self.world.place.folder.path());
        command.env_remove("COLUMNS").env_remove("RUST_BACKTRACE").stdin(Stdio::null());
        let output = command.output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the command, and writes down what it prints.
    pub(crate) fn run(&mut self, arguments: &[&str]) -> Ran {
        let ran = self.quietly(arguments);
        self.write_down("", arguments, ran)
    }

    /// Runs the command on another store, and writes down what it prints.
    pub(crate) fn run_on(&mut self, place: &Place, arguments: &[&str]) -> Ran {
        let ran = self.quietly_on(place, arguments);
        self.write_down("DUROXIDE_STORE=$OTHER ", arguments, ran)
    }

    fn write_down(&mut self, before: &str, arguments: &[&str], ran: Ran) -> Ran {
        let shown = shown(arguments);
        writeln!(self.transcript, "\n$ {before}duroxide {shown}").unwrap();
        let printed = normal(&ran.out);
        for line in printed.lines().take(LINES_MAX) {
            writeln!(self.transcript, "{line}").unwrap();
        }
        if printed.lines().count() > LINES_MAX {
            let more = printed.lines().count() - LINES_MAX;
            writeln!(self.transcript, "({more} more lines)").unwrap();
        }
        self.transcript.push_str(&normal(&ran.err));
        if ran.code != 0 {
            writeln!(self.transcript, "(exit code {})", ran.code).unwrap();
        }
        ran
    }

    /// Runs a command that changes many instances: their rows are counted, not shown.
    pub(crate) fn act(&mut self, arguments: &[&str]) {
        let ran = self.quietly(&[arguments, &["-o", "jsonl"]].concat());
        let shown = shown(arguments);
        writeln!(self.transcript, "\n$ duroxide {shown} -o jsonl | jq -r .result | sort | uniq -c")
            .unwrap();
        let mut results = std::collections::BTreeMap::<String, usize>::new();
        for line in ran.out.lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            *results.entry(row["result"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        for (result, count) in results {
            writeln!(self.transcript, "{count} {result}").unwrap();
        }
        self.transcript.push_str(&normal(&ran.err));
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
    }

    /// Runs the command, and writes down some fields of its JSON.
    pub(crate) fn fields(&mut self, arguments: &[&str], fields: &[&str]) {
        let ran = self.quietly(&[arguments, &["-o", "jsonl"]].concat());
        let (shown, names) = (shown(arguments), fields.join(", "));
        writeln!(self.transcript, "\n$ duroxide {shown} -o jsonl | jq -c '{{{names}}}'").unwrap();
        for line in ran.out.lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let cells = fields.iter().map(|field| format!("\"{field}\":{}", row[*field]));
            writeln!(self.transcript, "{{{}}}", cells.collect::<Vec<_>>().join(",")).unwrap();
        }
        self.transcript.push_str(&normal(&ran.err));
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
    }

    /// Compares what the command prints on this store and on another.
    pub(crate) fn compare(&mut self, place: &Place, arguments: &[&str]) {
        let (here, there) = (self.quietly(arguments), self.quietly_on(place, arguments));
        let shown = shown(arguments);
        writeln!(
            self.transcript,
            "\n$ diff <(duroxide {shown}) <(DUROXIDE_STORE=$OTHER duroxide {shown})"
        )
        .unwrap();
        assert_eq!((here.code, there.code), (0, 0), "{}{}", here.err, there.err);
        assert!(!here.out.is_empty(), "there is nothing to compare: {arguments:?}");
        let lines = here.out.lines().count().max(there.out.lines().count());
        for number in 0..lines {
            let (here, there) = (here.out.lines().nth(number), there.out.lines().nth(number));
            if here != there {
                let side = |line: Option<&str>| normal(line.unwrap_or_default());
                write!(self.transcript, "< {}> {}", side(here), side(there)).unwrap();
            }
        }
    }

    /// Waits until a filter finds this many instances.
    #[track_caller]
    pub(crate) fn until_count(&self, filter: &str, count: usize) {
        let begun = Instant::now();
        loop {
            let counted = self.quietly(&["count", filter, "--limit", "100000", "-o", "json"]);
            let value: serde_json::Value = serde_json::from_str(&counted.out)
                .unwrap_or_else(|error| panic!("{error}: {counted:?}"));
            if value["count"] == count {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "'{filter}' does not become {count}: {value}");
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until the first line of an output has this part.
    #[track_caller]
    pub(crate) fn until_answer(&self, arguments: &[&str], part: &str) {
        let begun = Instant::now();
        loop {
            let ran = self.quietly(arguments);
            if ran.out.lines().next().is_some_and(|line| line.contains(part)) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{arguments:?} does not say '{part}': {ran:?}");
            std::thread::sleep(PAUSE);
        }
    }

    /// Compares the transcript with the file, or writes it.
    pub(crate) fn finish(self) {
        self.world.close();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tour/tour.txt");
        if std::env::var_os("DUROXIDE_WRITE_TOUR").is_some() {
            std::fs::write(path, &self.transcript).unwrap();
            return;
        }
        let expected = std::fs::read_to_string(path).unwrap();
        let differs = expected.lines().zip(self.transcript.lines()).position(|(a, b)| a != b);
        let at = differs.unwrap_or_else(|| expected.lines().count());
        let near = |text: &str| -> String {
            text.lines().skip(at.saturating_sub(5)).take(12).collect::<Vec<_>>().join("\n")
        };
        assert!(
            expected == self.transcript,
            "line {} of tour.txt differs; expected:\n{}\n\nprinted:\n{}",
            at + 1,
            near(&expected),
            near(&self.transcript)
        );
    }
}

/// The arguments as a shell takes them.
fn shown(arguments: &[&str]) -> String {
    let quoted = arguments.iter().map(|argument| match argument.contains([' ', '*']) {
        true => format!("'{argument}'"),
        false => (*argument).to_owned(),
    });
    quoted.collect::<Vec<_>>().join(" ")
}
