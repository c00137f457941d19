//! The program `duroxide-pg`, run as a user runs it.

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

use duroxide_core::providers::Provider;
use duroxide_pg::{Migrations, PostgresProvider};
use tokio_postgres::{Client, NoTls};

use crate::support::*;

const FAILED: i32 = 1;
const MISUSED: i32 = 2;

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duroxide-pg"));
    command.env_remove("DATABASE_URL").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    program().args(args).output().unwrap()
}

/// What it printed, if it succeeded without a complaint.
fn printed(output: Output) -> String {
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && complaint.is_empty(), "{}: {complaint}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// What it complained about, if it failed with `code` and printed nothing else.
fn complaint(output: Output, code: i32) -> String {
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{complaint}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(!complaint.contains("panicked"), "{complaint}");
    complaint
}

/// A plain connection, as a database administrator has.
async fn admin(store: &Store) -> Client {
    let (client, connection) = tokio_postgres::connect(&store.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[tokio::test]
async fn the_printed_sql_creates_a_schema_that_can_be_verified_and_used() {
    let store = Store::live();
    // Keeps runs apart; what follows it must neither end a quote nor be lost.
    let begin = &store.schema[..16];
    for rest in [
        "",
        "Mixed Case",
        "\"; DROP SCHEMA public CASCADE; --",
        "$body$b$do$c",
        "it's",
        "\\' OR '1'='1",
        "{schema}",
        "ö",
        "\n\t",
    ] {
        let name = format!("{begin}{rest}");
        let verify = ["verify", "--schema", &name, "--url", &store.url];
        let missing = complaint(run(&verify), FAILED);
        assert!(missing.contains("duroxide-pg schema"), "{missing}");

        let text = printed(run(&["schema", "--schema", &name]));
        let admin = admin(&store).await;
        admin.batch_execute(&text).await.unwrap();

        assert_eq!(printed(run(&verify)), format!("schema '{name}' is up to date\n"));
        let builder = PostgresProvider::builder(&store.url).with_schema(&name);
        let node = builder.with_migrations(Migrations::Verify).open().await.unwrap();
        create(&node, "a").await;
        assert_eq!(node.read("a").await.unwrap().len(), 1, "{name}");
        drop(node);
        let quoted = name.replace('"', "\"\"");
        admin.batch_execute(&format!("DROP SCHEMA \"{quoted}\" CASCADE")).await.unwrap();
    }
}

#[tokio::test]
async fn the_sql_is_applied_once_or_not_at_all() {
    let store = Store::live();
    let text = printed(run(&["schema", "--schema", &store.schema]));
    let admin = admin(&store).await;
    admin.batch_execute(&text).await.unwrap();
    let error = admin.batch_execute(&text).await.unwrap_err();
    assert!(error.as_db_error().is_some_and(|error| error.message().contains("already exists")));
    admin.batch_execute("ROLLBACK").await.unwrap();
    printed(run(&["verify", "--schema", &store.schema, "--url", &store.url]));
}

#[tokio::test]
async fn it_migrates_and_verifies_with_the_url_of_the_environment() {
    let store = Store::live();
    let up_to_date = format!("schema '{}' is up to date\n", store.schema);
    for command in ["migrate", "migrate", "verify"] {
        let mut command_line = program();
        command_line.args([command, "--schema", &store.schema]).env("DATABASE_URL", &store.url);
        assert_eq!(printed(command_line.output().unwrap()), up_to_date, "{command}");
    }
    let node = store.builder().with_migrations(Migrations::Verify).open().await.unwrap();
    create(&node, "a").await;
}

#[tokio::test]
async fn a_newer_schema_is_refused_by_migrate_and_verify() {
    let store = Store::live();
    drop(store.node().await);
    let sql = store.sql().await;
    sql.run("INSERT INTO $.duroxide_migrations (version, name) VALUES (999, 'later')").await;
    for command in ["migrate", "verify"] {
        let output = run(&[command, "--schema", &store.schema, "--url", &store.url]);
        let refused = complaint(output, FAILED);
        assert!(refused.contains("999"), "{refused}");
    }
}

#[tokio::test]
async fn the_printed_functions_complete_a_schema() {
    let store = Store::live();
    drop(store.node().await);
    let sql = store.sql().await;
    sql.run("DELETE FROM $.duroxide_functions").await;
    let verify = ["verify", "--schema", &store.schema, "--url", &store.url];
    let missing = complaint(run(&verify), FAILED);
    assert!(missing.contains("duroxide-pg functions"), "{missing}");
    let text = printed(run(&["functions", "--schema", &store.schema]));
    admin(&store).await.batch_execute(&text).await.unwrap();
    printed(run(&verify));
}

#[test]
fn help_names_every_command_and_option() {
    let asked: [&[&str]; 5] = [&[], &["help"], &["--help"], &["-h"], &["schema", "--help"]];
    for args in asked {
        let text = printed(run(args));
        assert!(text.starts_with("usage: duroxide-pg "), "{args:?}: {text}");
        for word in [
            "schema",
            "functions",
            "migrate",
            "verify",
            "help",
            "--schema",
            "--url",
            "DATABASE_URL",
        ] {
            assert!(text.contains(word), "{args:?} does not speak of {word}");
        }
    }
}

#[test]
fn wrong_arguments_are_named_beside_the_right_ones() {
    for (args, wrong) in [
        (&["destroy"][..], "'destroy' is not understood"),
        (&["schema", "--table", "a"], "'--table' is not understood"),
        (&["schema", "tenant"], "'tenant' is not understood"),
        (&["schema", "--schema"], "--schema needs a value"),
        (&["verify", "--schema", "a", "--url"], "--url needs a value"),
        (&["verify"], "verify needs --url"),
        (&["migrate", "--schema", "a"], "migrate needs --url"),
    ] {
        let text = complaint(run(args), MISUSED);
        assert!(text.starts_with(wrong) && text.contains("usage: duroxide-pg "), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_text_is_a_wrong_argument() {
    use std::os::unix::ffi::OsStrExt;
    let torn = OsStr::from_bytes(b"a\xff");
    for before in [&[][..], &["schema"], &["schema", "--schema"]] {
        let output = program().args(before).arg(torn).output().unwrap();
        let text = complaint(output, MISUSED);
        assert!(text.contains("is not UTF-8"), "{text}");
    }
}

#[test]
fn a_name_that_no_schema_can_have_is_refused_with_the_reason() {
    for (name, reason) in [("", "empty"), ("pg_mine", "'pg_'"), (&"x".repeat(64), "63 bytes")] {
        let text = complaint(run(&["schema", "--schema", name]), FAILED);
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn a_url_that_cannot_be_used_is_refused_without_its_password() {
    for url in ["mysql://u:secret@h/d", "postgres://u:secret@127.0.0.1:1/d"] {
        let text = complaint(run(&["verify", "--url", url]), FAILED);
        assert!(!text.trim().is_empty() && !text.contains("secret"), "{text}");
    }
}

/// As in `duroxide-pg schema | head -1`.
#[test]
fn a_reader_that_goes_away_is_an_error_and_not_a_panic() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = program().arg("schema").stdout(writer).output().unwrap();
    let text = complaint(output, FAILED);
    assert!(text.contains("cannot be written"), "{text}");
}
