//! The stops of the tour.

use crate::place::Place;
use crate::tour::Tour;
use crate::world::{APPROVALS, GREETINGS, KINDS, LOOPS, ORDERS, World};

const FAILED: &str = "status:failed name:Order*";

/// Instances that have ended, and one of each kind of waiting.
const MOVED: &str = "id:* -name:duroxide.* -name:Greeting -name:Approval";

pub(crate) fn all(world: World, other: &Place) {
    world.fill();
    let mut tour = Tour::of(world);
    settled(&tour);
    looking(&mut tour);
    explaining(&mut tour);
    mending_one(&mut tour);
    cancelling(&mut tour);
    retrying(&mut tour);
    pruning(&mut tour);
    forgetting(&mut tour);
    moving(&mut tour, other);
    tour.finish();
}

/// Every instance has come as far as it gets.
fn settled(tour: &Tour) {
    tour.until_count("status:completed", GREETINGS + LOOPS);
    tour.until_count("status:failed", ORDERS);
    // Of the ten kinds one has not started, and one has a child.
    tour.until_count("status:running", APPROVALS + KINDS.len());
    for (id, _, answer) in KINDS {
        tour.until_answer(&["why", id], answer);
    }
    tour.until_answer(&["why", "kind-child-1"], "waits for event");
    tour.world.suspend("kind-suspended", "the contract is checked");
}

fn looking(tour: &mut Tour) {
    tour.part("What is there, what failed, what is stuck");
    tour.run(&["count"]);
    for status in ["completed", "failed", "running", "suspended"] {
        tour.run(&["count", &format!("status:{status}")]);
    }
    tour.run(&["list", FAILED, "--sort", "id", "--ascending", "--limit", "5", "-o", "ids"]);
    tour.run(&["count", "error~\"bank is closed\""]);
    tour.run(&["stranded", "-o", "ids"]);
}

fn explaining(tour: &mut Tour) {
    tour.part("Ten kinds of waiting");
    for (id, ..) in KINDS {
        tour.run(&["why", id]);
    }
}

fn mending_one(tour: &mut Tour) {
    tour.part("One that failed is mended");
    tour.run(&["why", "order-0001"]);
    tour.run(&["retry", "order-0001", "--dry-run"]);
    std::fs::write(tour.world.bank(), b"").unwrap();
    tour.run(&["retry", "order-0001", "--reason", "the bank is open"]);
    tour.run(&["wait", "order-0001", "--timeout", "60s"]);
}

fn cancelling(tour: &mut Tour) {
    tour.part("Many are cancelled");
    let filter = "status:running name:Approval id:approval-*";
    tour.run(&["cancel", "--where", filter]);
    tour.act(&["cancel", "--where", filter, "--dry-run"]);
    tour.act(&["cancel", "--where", filter, "--reason", "the offer ended", "--yes"]);
    tour.until_count(filter, 0);
    tour.run(&["count", "status:failed error~\"the offer ended\""]);
}

fn retrying(tour: &mut Tour) {
    tour.part("All that failed at the bank are retried");
    let filter = "status:failed name:Order";
    tour.act(&["retry", "--where", filter, "--dry-run"]);
    tour.act(&["retry", "--where", filter, "--yes"]);
    tour.until_count("status:completed name:Order", ORDERS);
    tour.run(&["count", FAILED]);
}

fn pruning(tour: &mut Tour) {
    tour.part("Old executions are removed");
    tour.run(&["executions", "loop-0001", "-o", "ids"]);
    tour.act(&["prune", "--where", "name:Loop", "--keep-last", "1", "--yes"]);
    tour.run(&["executions", "loop-0001", "-o", "ids"]);
    tour.run(&["store", "check"]);
}

fn forgetting(tour: &mut Tour) {
    tour.part("Old instances are archived and deleted");
    let rule = ["retention", "--rule", "name:Loop status:completed keep:0s"];
    tour.fields(&rule, &["rule", "instances", "exact"]);
    let apply = [&rule[..], &["--apply", "--archive", "archive.jsonl"]].concat();
    tour.run(&apply);
    tour.run(&["count", "name:Loop"]);
    tour.run(&[&apply[..], &["--yes"]].concat());
    tour.run(&["count", "name:Loop"]);
    tour.run(&["show", "loop-0001"]);
    let archive = tour.world.place.folder.path().join("archive.jsonl");
    let archive = std::fs::read_to_string(archive).unwrap();
    for number in 1..=LOOPS {
        assert!(archive.contains(&format!("\"loop-{number:04}\"")), "loop-{number:04} is lost");
    }
}

fn moving(tour: &mut Tour, other: &Place) {
    tour.part("Instances move to a store of the other kind");
    let all = ["export", "--where", MOVED, "--tree"];
    tour.run(&["export", "kind-timer", "--file", "moved.jsonl"]);
    let held = tour.run(&[&all[..], &["--running", "hold", "--file", "moved.jsonl"]].concat());
    assert_eq!(held.code, 0, "{held:?}");
    tour.run_on(other, &["store", "migrate", "--create"]);
    tour.run_on(other, &["import", "moved.jsonl", "--dry-run"]);
    let imported = tour.run_on(other, &["import", "moved.jsonl", "--verify"]);
    assert_eq!(imported.code, 0, "{imported:?}");
    tour.run_on(other, &["import", "moved.jsonl", "--skip-existing"]);
    tour.run_on(other, &["count"]);
    tour.run_on(other, &["why", "kind-timer"]);
    let ended = ["list", "status:completed", "name:Order", "--all", "--sort", "id", "-o", "jsonl"];
    tour.compare(other, &ended);
    tour.compare(other, &["history", "order-0001", "-o", "jsonl"]);
    tour.compare(other, &["executions", "order-0001", "-o", "jsonl"]);
    tour.compare(other, &["history", "kind-retry", "-o", "jsonl"]);
}
