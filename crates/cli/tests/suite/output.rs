//! What goes where: data, remarks, colours, closed pipes, secrets.

use std::process::Stdio;

use crate::support::{Fixture, finish, on_both_stores, plain_command};

on_both_stores!(every_format_has_its_form, a_closed_pipe_is_no_error);

/// Part of a password that must not appear anywhere.
const MARKER: &str = "hunter2marker";

fn every_format_has_its_form(store: &Fixture) {
    store.seeded();
    let table = store.run(&["list"]).ok();
    assert!(table.starts_with("ID "), "{table}");
    assert_eq!(table.lines().count(), 7, "{table}");
    assert!(!table.contains('\x1b'), "colours are for terminals: {table}");
    assert!(!table.contains("VERSION"), "{table}");
    assert!(store.run(&["list", "-o", "wide"]).ok().contains("VERSION"));
    let lines = store.run(&["list", "-o", "jsonl"]).ok();
    assert_eq!(lines.lines().count(), 6);
    let parsed = lines.lines().map(serde_json::from_str::<serde_json::Value>);
    let from_lines: Vec<_> = parsed.map(Result::unwrap).collect();
    let from_array = store.run(&["list", "-o", "json"]).json();
    let ids = |rows: &[serde_json::Value]| -> Vec<serde_json::Value> {
        rows.iter().map(|row| row["instance_id"].clone()).collect()
    };
    assert_eq!(ids(&from_lines), ids(from_array.as_array().unwrap()));
    // A remark does not disturb the data.
    let cut = store.run(&["list", "--limit", "1", "-o", "json"]);
    assert!(cut.err.contains("--after"), "{cut:?}");
    assert_eq!(cut.json().as_array().unwrap().len(), 1);
    let wrong = store.run(&["list", "-o", "xml"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

fn a_closed_pipe_is_no_error(store: &Fixture) {
    store.seeded();
    for arguments in [&["list"][..], &["history", "done-1"], &["man"], &["completions", "bash"]] {
        let mut command = store.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}

#[test]
fn passwords_never_appear() {
    let urls = [
        format!("postgres://app:{MARKER}@127.0.0.1:1/orders"),
        format!("postgres://app:{MARKER}@127.0.0.1:notaport/orders"),
        format!("postgres://app:p@{MARKER}@127.0.0.1:1/orders"),
        format!("host=127.0.0.1 port=1 user=app password={MARKER}"),
        format!("mysql://app:{MARKER}@127.0.0.1/orders"),
        format!("sqlite:/no/such/folder/x.db?password={MARKER}"),
    ];
    for url in &urls {
        for arguments in [&["list"][..], &["stats", "-o", "json"], &["store", "info"], &["lst"]] {
            let mut by_option = plain_command(&["--store", url]);
            by_option.args(arguments);
            let mut by_variable = plain_command(arguments);
            by_variable.env("DUROXIDE_STORE", url);
            for command in [by_option, by_variable] {
                let ran = finish(command, None);
                assert_ne!(ran.code, 0, "{url}");
                let text = format!("{}{}", ran.out, ran.err);
                assert!(!text.contains(MARKER), "{url} {arguments:?}: {text}");
            }
        }
        // In the place of a filter, and in the help.
        let mut misplaced = plain_command(&["--store", "sqlite:x.db", "list", url]);
        misplaced.env("DUROXIDE_STORE", url);
        let ran = finish(misplaced, None);
        assert!(!format!("{}{}", ran.out, ran.err).contains(MARKER), "{ran:?}");
        let mut help = plain_command(&["--help"]);
        help.env("DUROXIDE_STORE", url);
        assert!(!finish(help, None).ok().contains(MARKER));
    }
}

mod postgres_only {
    use super::*;

    #[test]
    fn the_password_of_a_working_store_never_appears() {
        let store = Fixture::postgres();
        store.seeded();
        let password = store.url.split([':', '@']).nth(2).unwrap().to_owned();
        assert!(password.len() > 3, "the server asks for a password: {password}");
        for arguments in [
            &["store", "info", "-o", "json"][..],
            &["store", "check"],
            &["stats"],
            &["list", "-o", "wide"],
            &["show", "unknown-1"],
            &["store", "vacuum", "--yes"],
        ] {
            let ran = store.run(arguments);
            let text = format!("{}{}", ran.out, ran.err);
            assert!(!text.contains(&password), "{arguments:?}: {text}");
        }
    }
}

/// `script` gives the command a terminal.
#[cfg(unix)]
#[test]
fn colours_appear_on_a_terminal_unless_they_are_unwanted() {
    let store = Fixture::sqlite();
    store.seeded();
    let on_terminal = |no_color: Option<&str>| {
        let line = format!("{} list", env!("CARGO_BIN_EXE_duroxide"));
        let mut command = std::process::Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.env("DUROXIDE_STORE", &store.url).env("TERM", "xterm").env("COLUMNS", "80");
        command.env_remove("NO_COLOR");
        if let Some(text) = no_color {
            command.env("NO_COLOR", text);
        }
        finish(command, Some(""))
    };
    let coloured = on_terminal(None).ok();
    assert!(coloured.contains("\x1b[31mfailed\x1b[0m"), "{coloured:?}");
    assert!(!on_terminal(Some("1")).ok().contains('\x1b'));
}
