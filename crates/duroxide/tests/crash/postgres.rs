//! The quickstart on a PostgreSQL server.

use std::process::Stdio;

use crate::child::spawn;

fn run(args: &[&str]) -> String {
    let output = spawn(args, Stdio::piped()).wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{args:?}: {stdout}{stderr}");
    stdout
}

#[test]
fn an_order_is_shipped_listed_and_removed() {
    let url = duroxide_pg_server::shared_url().unwrap();
    let started = run(&["--store", &url, "--pace-ms", "5"]);
    assert!(started.contains("a chair shipped to Lisbon"), "{started}");
    let listed = run(&["status", "--store", &url]);
    assert!(listed.contains("order-1: "), "{listed}");
    let removed = run(&["reset", "--store", &url]);
    assert!(removed.contains("removed order-1"), "{removed}");
}
