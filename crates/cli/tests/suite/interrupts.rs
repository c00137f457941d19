//! What ends a command from outside, and what does not.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Fixture, PATIENCE, on_both_stores};

on_both_stores!(
    an_act_goes_on_behind_a_closed_pipe,
    a_wait_ends_with_a_deleted_instance,
    an_interrupted_act_says_how_it_goes_on,
);

/// The code of a process that must end.
fn code_of(mut child: Child) -> Option<i32> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("the command has not ended: {:?}", child.wait_with_output());
}

/// The command waited for its input on the thread that handles signals, so that an interrupt had no
/// effect: neither here nor at the question before a deletion.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_read_of_standard_input() {
    let store = Fixture::sqlite();
    for arguments in [&["cancel", "-"][..], &["start", "Greet", "--input", "-"]] {
        let mut command = store.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // More than a pipe holds: behind it the command has started to read.
        input.write_all(" \n".repeat(200_000).as_bytes()).unwrap();
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(code_of(child), Some(130), "{arguments:?}");
    }
}

/// A closed pipe ended the act after its first results, without an error.
fn an_act_goes_on_behind_a_closed_pipe(store: &Fixture) {
    let ids: Vec<String> = (0..600).map(|number| format!("instance-number-{number}")).collect();
    store.on_store(async |client| {
        for id in &ids {
            client.start_orchestration(id, "NoSuchCode", "").await.unwrap();
        }
    });
    let mut command = store.command(&["terminate", "-", "--yes"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(ids.join("\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(store.run(&["count", "status:failed"]).ok(), "600\n");
}

/// Nothing notifies of a deletion: the command waited for ever.
fn a_wait_ends_with_a_deleted_instance(store: &Fixture) {
    store.seeded();
    let mut command = store.command(&["wait", "waiting-1"]);
    let waiting = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    store.run(&["delete", "waiting-1", "--force", "--yes"]).ok();
    assert_eq!(code_of(waiting), Some(4));
}

/// The act stayed in the store without a word about it.
fn an_interrupted_act_says_how_it_goes_on(store: &Fixture) {
    store.with_node(async |client| {
        for number in 0..60 {
            let id = format!("waiting-{number}");
            client.start_orchestration(&id, "Wait", "").await.unwrap();
            client.wait_for_kv_value(&id, "step", PATIENCE).await.unwrap();
        }
    });
    // At this rate it lasts for a minute.
    let arguments = ["suspend", "--where", "name:Wait", "--rate", "1", "--yes"];
    let mut command = store.command(&arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut errors = child.stderr.take().unwrap();
    let started = Instant::now();
    let act = loop {
        let acts = store.run(&["list", "name:duroxide.bulk", "-o", "ids"]).ok();
        match acts.lines().next() {
            Some(act) => break act.to_owned(),
            None => assert!(started.elapsed() < PATIENCE, "no act is recorded"),
        }
    };
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(code_of(child), Some(130));
    let mut said = String::new();
    errors.read_to_string(&mut said).unwrap();
    assert!(said.contains(&format!("duroxide bulk resume '{act}'")), "{said}");
}
