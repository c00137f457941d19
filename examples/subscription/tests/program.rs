//! The program itself, with periods of a second.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use duroxide::prelude::{Arc, Client, SqliteProvider};
use example_subscription::{Ending, Subscription, subscription};

/// A service that ends with the test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        // Fails only if the process has already exited.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn program(folder: &Path) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_example-subscription"));
    program.arg(folder);
    program
}

fn run(folder: &Path, args: &[&str]) -> String {
    let output = program(folder).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn customers_subscribe_pay_and_cancel() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = program(folder).arg("serve").stdout(Stdio::piped()).spawn().unwrap();
    let mut service = Service(service);
    let mut lines = BufReader::new(service.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut printed = move |text: &str| {
        assert!(lines.any(|line| line.contains(text)), "the service prints '{text}'");
    };
    printed("serving subscriptions");
    run(folder, &["start", "ada", "pro", "1"]);
    printed("charged ada: 2900 cents");
    printed("charged ada: 2900 cents");
    run(folder, &["plan", "ada", "basic"]);
    printed("charged ada: 900 cents");
    run(folder, &["cancel", "ada"]);
    assert_eq!(ending(folder, "ada").await, Ending::Cancelled);

    run(folder, &["card", "bob", "declined"]);
    run(folder, &["start", "bob", "basic", "1"]);
    printed("reminded bob");
    assert_eq!(ending(folder, "bob").await, Ending::Unpaid);
    let listed = run(folder, &["list", "attr.state:ended attr.plan:basic id:*bob"]);
    assert_eq!(listed, "subscription-bob basic ended  (1 periods)\n");
}

async fn ending(folder: &Path, customer: &str) -> Ending {
    let store = folder.join("workflows.db").display().to_string();
    let client = Client::new(Arc::new(SqliteProvider::new(&store, None).await.unwrap()));
    let run = client.attach(subscription, Subscription::id_of(customer));
    run.result_within(Duration::from_secs(60)).await.unwrap()
}

#[test]
fn a_wrong_command_shows_the_usage() {
    let folder = tempfile::tempdir().unwrap();
    let output = program(folder.path()).arg("stop").output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("usage: "));
}
