//! Bad input: one line that says what to do, the right code, and nothing changed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Fixture, Ran, finish, on_both_stores, plain_command, written};

on_both_stores!(an_unknown_id_is_not_found, a_wrong_filter_is_pointed_out);

fn an_unknown_id_is_not_found(store: &Fixture) {
    for command in ["show", "why", "history", "tree", "executions", "kv", "watch", "wait"] {
        let line = store.run(&[command, "unknown-1"]).refused(4);
        assert!(line.contains("'unknown-1'"), "{command}: {line}");
    }
}

fn a_wrong_filter_is_pointed_out(store: &Fixture) {
    store.seeded();
    let before = store.content();
    for arguments in [
        &["list", "status:failed stauts:x"][..],
        &["count", "status:failed stauts:x"],
        &["delete", "--where", "status:failed stauts:x", "--yes"],
    ] {
        let line = store.run(arguments).refused(2);
        assert!(line.contains("14") && line.contains("stauts"), "{line}");
    }
    assert_eq!(store.content(), before);
}

#[test]
fn a_wrong_command_line_is_a_wrong_usage() {
    for arguments in
        [&["lst"][..], &["list", "--wat"], &["wait"], &["cancel"], &["wait", "a", "--timeout", "x"]]
    {
        let ran = finish(plain_command(arguments), None);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:?}");
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{ran:?}");
    }
    for arguments in
        [&["list"][..], &["--store", "orders.db", "list"], &["--store", "sqlite:", "list"]]
    {
        let ran = finish(plain_command(arguments), None);
        assert!(ran.code == 2 || ran.code == 1, "{ran:?}");
        assert!(ran.err.contains("sqlite:"), "{ran:?}");
    }
    let both = ["--store", "sqlite:x.db", "cancel", "a", "--where", "status:failed"];
    assert_eq!(finish(plain_command(&both), None).code, 2);
    for answer in [&["--help"][..], &["list", "--help"], &["--version"]] {
        let ran = finish(plain_command(answer), None);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.err.is_empty(), "{ran:?}");
    }
}

/// The commands that a store refuses, one of each access.
const COMMANDS: &[&[&str]] = &[
    &["list"],
    &["start", "Greet"],
    &["terminate", "a", "--yes"],
    &["retry", "a"],
    &["store", "info"],
    &["store", "migrate", "--yes"],
];

fn on_file(file: &Path, arguments: &[&str]) -> Ran {
    let mut command = plain_command(arguments);
    command.env("DUROXIDE_STORE", format!("sqlite:{}", file.display()));
    finish(command, None)
}

/// The files of a folder with their contents.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries
        .filter(|path| path.is_file())
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

#[test]
fn a_wrong_path_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in COMMANDS {
        let line = on_file(&folder.path().join("missing.db"), arguments).refused(1);
        assert!(line.contains("there is no file"), "{line}");
        let line = on_file(&folder.path().join("no/folder/x.db"), arguments).refused(1);
        assert!(line.contains("there is no file"), "{line}");
        let line = on_file(folder.path(), arguments).refused(1);
        assert!(line.contains("folder"), "{line}");
    }
    assert!(files(folder.path()).is_empty());
}

#[test]
fn a_file_that_is_no_store_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let text = written(folder.path(), "text.db", &b"this is no database. ".repeat(100));
    let foreign = folder.path().join("foreign.db");
    let conn = rusqlite::Connection::open(&foreign).unwrap();
    conn.execute_batch("CREATE TABLE orders (id INTEGER); INSERT INTO orders VALUES (1)").unwrap();
    drop(conn);
    let before = files(folder.path());
    for arguments in COMMANDS {
        let line = on_file(&text, arguments).refused(1);
        assert!(line.contains("is not a SQLite database"), "{line}");
        let line = on_file(&foreign, arguments).refused(1);
        assert!(line.contains("holds no store"), "{line}");
        assert_eq!(files(folder.path()), before, "{arguments:?}");
    }
}

#[test]
fn a_newer_store_is_refused() {
    let store = Fixture::sqlite();
    let conn = rusqlite::Connection::open(store.file()).unwrap();
    conn.execute("INSERT INTO duroxide_migrations (version, name) VALUES (999, 'later')", [])
        .unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(conn);
    let before = fs::read(store.file()).unwrap();
    for arguments in COMMANDS {
        let line = store.run(arguments).refused(1);
        assert!(line.contains("999") && line.contains("upgrade"), "{line}");
    }
    assert_eq!(fs::read(store.file()).unwrap(), before);
}

/// Root may read everything, so that the command runs as a user without rights.
#[cfg(unix)]
#[test]
fn a_store_without_permission_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NO_RIGHTS: u32 = 65_534;
    let store = Fixture::sqlite();
    let is_root = rustix::process::geteuid().is_root();
    let as_other = |arguments: &[&str]| {
        // A user without rights may not reach the folder of the build.
        let program = store.folder.path().join("duroxide");
        if !program.exists() {
            fs::copy(env!("CARGO_BIN_EXE_duroxide"), &program).unwrap();
        }
        let mut command = Command::new(program);
        command.args(arguments).env("DUROXIDE_STORE", &store.url);
        if is_root {
            command.uid(NO_RIGHTS).gid(NO_RIGHTS);
        }
        finish(command, None)
    };
    fs::set_permissions(store.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(store.file(), fs::Permissions::from_mode(0o000)).unwrap();
    for arguments in COMMANDS {
        let line = as_other(arguments).refused(1);
        assert!(line.contains("orders.db"), "{line}");
    }
    fs::set_permissions(store.file(), fs::Permissions::from_mode(0o444)).unwrap();
    let line = as_other(&["start", "Greet"]).refused(1);
    assert!(line.contains("write permission"), "{line}");
    // SQLite keeps an index of its log beside the file, also to read.
    let line = as_other(&["count"]).refused(1);
    assert!(line.contains("on its folder"), "{line}");
    fs::set_permissions(store.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(as_other(&["count"]).ok(), "0\n");
}

#[test]
fn a_server_that_is_down_is_named() {
    for arguments in COMMANDS {
        let mut command = plain_command(arguments);
        command.env("DUROXIDE_STORE", "postgres://app:secret@127.0.0.1:1/orders");
        let line = finish(command, None).refused(1);
        assert!(line.contains("127.0.0.1:1") && line.contains("server runs"), "{line}");
        assert!(!line.contains("secret"), "{line}");
    }
}

mod postgres_only {
    use super::*;

    #[test]
    fn a_newer_schema_is_refused() {
        let store = Fixture::postgres();
        store.sql("INSERT INTO {schema}.duroxide_migrations (version, name) VALUES (999, 'x')");
        for arguments in COMMANDS {
            let line = store.run(arguments).refused(1);
            assert!(line.contains("999") && line.contains("upgrade"), "{line}");
        }
    }

    #[test]
    fn an_older_schema_is_refused_and_migrated_on_request() {
        let store = Fixture::postgres();
        store.sql("DELETE FROM {schema}.duroxide_functions");
        for arguments in &COMMANDS[..5] {
            let line = store.run(arguments).refused(1);
            assert!(line.contains("run `duroxide store migrate`"), "{line}");
        }
        store.run(&["store", "migrate", "--yes"]).ok();
        assert_eq!(store.run(&["count"]).ok(), "0\n");
    }

    /// As a wrong path makes no file, a wrong name makes no schema.
    #[test]
    fn a_schema_without_a_store_stays_as_it_is() {
        let store = Fixture::postgres();
        let other = format!("none_{}", uuid::Uuid::new_v4().simple());
        for _twice in 0..2 {
            for arguments in COMMANDS {
                let mut command = plain_command(arguments);
                command.args(["--schema", &other]).env("DUROXIDE_STORE", &store.url);
                let line = finish(command, None).refused(1);
                assert!(line.contains(&other) && line.contains("--create"), "{line}");
            }
        }
    }

    #[test]
    fn a_wrong_password_and_a_wrong_database_are_refused() {
        let store = Fixture::postgres();
        let (login, rest) = store.url.rsplit_once('@').unwrap();
        let (user, _) = login.rsplit_once(':').unwrap();
        let (host, _) = rest.split_once('/').unwrap();
        for (url, part) in [
            (format!("{user}:wrong-secret@{rest}"), "authentication failed"),
            (format!("{login}@{host}/no_such_database"), "no_such_database"),
        ] {
            for arguments in COMMANDS {
                let mut command = plain_command(arguments);
                command.env("DUROXIDE_STORE", &url);
                let line = finish(command, None).refused(1);
                assert!(line.contains(part), "{line}");
                assert!(!line.contains("wrong-secret"), "{line}");
            }
        }
    }

    #[test]
    fn a_role_without_rights_is_refused() {
        let store = Fixture::postgres();
        let role = format!("r_{}", uuid::Uuid::new_v4().simple());
        store.sql(&format!("CREATE ROLE {role} LOGIN PASSWORD 'weak'"));
        let (_, host) = store.url.rsplit_once('@').unwrap();
        let mut command = plain_command(&["list", "--schema", store.schema.as_deref().unwrap()]);
        command.env("DUROXIDE_STORE", format!("postgres://{role}:weak@{host}"));
        let line = finish(command, None).refused(1);
        assert!(line.contains("permission denied") && line.contains("rights"), "{line}");
        store.sql(&format!("DROP ROLE {role}"));
    }
}
