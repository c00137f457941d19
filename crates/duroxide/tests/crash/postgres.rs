//! The quickstart on a PostgreSQL server.

use std::process::Stdio;

use crate::child::spawn;

fn run(args: &[&str]) -> String {
    let output = spawn(args, Stdio::piped()).wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let wrong = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{args:?}: {said}{wrong}");
    said
}

#[test]
fn an_order_is_shipped_listed_and_forgotten() {
    let url = duroxide_pg_server::shared_url().unwrap();
    let begun = run(&["--store", &url, "--pace-ms", "5"]);
    assert!(begun.contains("a chair shipped to Lisbon"), "{begun}");
    let listed = run(&["status", "--store", &url]);
    assert!(listed.contains("order-1: "), "{listed}");
    let gone = run(&["reset", "--store", &url]);
    assert!(gone.contains("removed order-1"), "{gone}");
}
