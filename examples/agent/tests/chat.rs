//! The program as a process: a conversation that survives `kill -9`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// Far longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The chat as a child. It is killed when this is dropped.
struct Chat {
    process: Child,
    lines: Receiver<String>,
}

impl Chat {
    fn start(folder: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_example-agent"))
            .arg("--store")
            .arg(folder.join("agent.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        // Ends with the process.
        std::thread::spawn(move || output.lines().try_for_each(|line| sender.send(line.unwrap())));
        Self { process, lines }
    }

    fn say(&mut self, text: &str) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{text}").unwrap();
    }

    /// The next lines, up to one that ends like this.
    fn until(&self, end: &str) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.ends_with(end) => return seen,
                Ok(line) => seen.push(line),
                Err(ended) => panic!("no line ends with '{end}' ({ended}): {seen:#?}"),
            }
        }
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[test]
fn a_conversation_continues_after_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let mut chat = Chat::start(folder.path());
    assert_eq!(chat.until("ready"), Vec::<String>::new());
    chat.say("weather in Oslo");
    let expected = [
        "you: weather in Oslo",
        "  uses weather(Oslo)",
        "  weather(Oslo) returns snow in Oslo",
        "agent: snow in Oslo",
    ];
    assert_eq!(chat.until("ready"), expected);
    // The kill comes before, in or after the answer to this.
    chat.say("add 1 2");
    drop(chat);

    let mut chat = Chat::start(folder.path());
    assert_eq!(chat.until("ready")[..4], expected);
    chat.say("add 3 4");
    chat.until("agent: 7");
    chat.say("bye");
    chat.until("tokens left");
    assert!(chat.process.wait().unwrap().success());
}
