//! `docs/cli.md` is the help of the command: this test writes it and compares it.
//!
//! `DUROXIDE_WRITE_HELP=1 cargo test -p duroxide-cli help_page` writes the page again.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use clap::{Command, CommandFactory};

use crate::cli::Cli;

/// The commands by what people want to do.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Finding and explaining",
        &["list", "count", "show", "why", "history", "tree", "executions", "kv"],
    ),
    ("Following", &["watch", "wait"]),
    (
        "Acting",
        &[
            "start",
            "raise",
            "enqueue",
            "edit",
            "cancel",
            "terminate",
            "suspend",
            "resume",
            "retry",
            "reset",
            "fork",
            "delete",
            "prune",
            "retention",
            "bulk",
        ],
    ),
    ("The cluster", &["queues", "nodes", "stranded", "stats"]),
    ("The store", &["store", "export", "import", "check-histories"]),
    ("The shell", &["completions", "man"]),
];

const MARK: &str = "\
<!-- Generated from the command: DUROXIDE_WRITE_HELP=1 cargo test -p duroxide-cli help_page -->";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md")
}

fn generated() -> String {
    let mut command = Cli::command().term_width(100);
    command.build();
    let mut page = format!("{MARK}\n\n## Commands\n\n");
    page.push_str(&block(&command.clone().render_help().to_string()));
    for (group, names) in GROUPS {
        write!(page, "\n## {group}\n").expect("a string takes any text");
        for name in *names {
            let found = command.find_subcommand(name).expect("the group names a command");
            add(&mut page, found, &format!("duroxide {name}"));
        }
    }
    page
}

fn add(page: &mut String, command: &Command, name: &str) {
    // What every command understands stands once, at the top.
    let own = command.clone().mut_args(|argument| match argument.is_global_set() {
        true => argument.hide(true),
        false => argument,
    });
    let help = own.bin_name(name).term_width(100).render_long_help().to_string();
    write!(page, "\n### {name}\n\n{}", block(&help)).expect("a string takes any text");
    for below in command.get_subcommands() {
        add(page, below, &format!("{name} {}", below.get_name()));
    }
}

fn block(help: &str) -> String {
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    format!("```text\n{}\n```\n", lines.join("\n"))
}

#[test]
fn help_page_is_that_of_the_command() {
    let path = path();
    let stored = std::fs::read_to_string(&path).unwrap();
    let (written, _) = stored.split_once(MARK).expect("the page has the mark");
    let expected = format!("{written}{}", generated());
    if std::env::var_os("DUROXIDE_WRITE_HELP").is_some() {
        std::fs::write(&path, &expected).unwrap();
        return;
    }
    assert!(stored == expected, "docs/cli.md is not up to date; the test says how to write it");
}

#[test]
fn help_page_has_every_command_once() {
    let mut listed = BTreeSet::new();
    for name in GROUPS.iter().flat_map(|(_, names)| *names) {
        assert!(listed.insert((*name).to_owned()), "{name} is in two groups");
    }
    let known = Cli::command();
    let known: BTreeSet<String> =
        known.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    assert_eq!(listed, known);
}

#[test]
fn arguments_do_not_contradict_each_other() {
    Cli::command().debug_assert();
}
