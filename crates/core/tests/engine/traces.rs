//! Log lines: their fields, and when the engine suppresses them.

use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::harness::Harness;

/// Records every line as `LEVEL target message field=value …`.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields += &format!(" {name}={value:?}"),
        }
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        let (level, target) = (event.metadata().level(), event.metadata().target());
        let text = format!("{level} {target} {}{}", line.message, line.fields);
        self.0.lock().expect("never poisoned").push(text);
    }
}

/// Returns the lines that `work` logs.
fn logged_by(work: impl FnOnce()) -> Vec<String> {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::registry().with(lines.clone());
    tracing::subscriber::with_default(subscriber, work);
    lines.0.lock().expect("never poisoned").clone()
}

const IDENTITY: &str =
    "instance_id=i execution_id=1 orchestration_name=Sample orchestration_version=1.0.0";

#[test]
pub(crate) fn log_lines_name_their_orchestration_and_are_suppressed_in_replay() {
    let mut harness = Harness::new(|ctx, _input| async move {
        for level in ["info", "WARN", "Error", "debug", "loud"] {
            ctx.trace(level, "hello");
        }
        let result = ctx.schedule_activity("A", "").await;
        ctx.trace_info("bye");
        result
    });
    let first = logged_by(|| drop(harness.turn(&["start"])));
    let levels = ["INFO", "WARN", "ERROR", "DEBUG"];
    let expected = levels.map(|level| format!("{level} duroxide::orchestration hello {IDENTITY}"));
    assert_eq!(first[..4], expected);
    assert_eq!(first[4], format!("TRACE duroxide::orchestration hello {IDENTITY} level=loud"));
    assert_eq!(first.len(), 5);

    harness.evict();
    let second = logged_by(|| drop(harness.turn(&["done 2 x"])));
    assert_eq!(second, [format!("INFO duroxide::orchestration bye {IDENTITY}")]);
}

#[test]
pub(crate) fn a_failed_attempt_is_logged_once() {
    let mut harness = Harness::new(|ctx, _input| async move {
        let policy = duroxide_core::RetryPolicy::new(2);
        ctx.schedule_activity_with_retry_on_session("A", "", policy, "s").await
    });
    harness.turn(&["start"]);
    let failed = logged_by(|| drop(harness.turn(&["failed 2 bad"])));
    let text = "Activity 'A' attempt 1/2 failed: bad. Retrying... (session=s)";
    assert_eq!(failed, [format!("WARN duroxide::orchestration {text} {IDENTITY}")]);
    harness.evict();
    assert_eq!(logged_by(|| drop(harness.turn(&["fired 4"]))), Vec::<String>::new());
}

#[test]
fn messages_that_have_no_effect_are_logged() {
    let mut harness =
        Harness::new(|ctx, _input| async move { ctx.schedule_activity("A", "").await });
    harness.turn(&["start"]);
    let lines = logged_by(|| drop(harness.turn(&["done 2/9 old", "start", "signal go x"])));
    let expected =
        ["for another execution", "dropped a message", "no wait is open for this signal"];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, part) in lines.iter().zip(expected) {
        assert!(line.starts_with("WARN duroxide::runtime") && line.contains(part), "{line}");
    }
    harness.turn(&["done 2 x"]);
}

/// Each abandoned timer of an execution that continued as new was a warning.
#[test]
fn a_timer_of_an_earlier_execution_is_no_warning() {
    let mut harness =
        Harness::new(|ctx, _input| async move { ctx.schedule_activity("A", "").await });
    harness.turn(&["start"]);
    let lines = logged_by(|| drop(harness.turn(&["fired 2/9"])));
    assert_eq!(lines.len(), 1, "{lines:#?}");
    let debug = "DEBUG duroxide::runtime dropped an answer for another execution";
    assert!(lines[0].starts_with(debug), "{lines:?}");
    harness.turn(&["done 2 x"]);
}

#[test]
fn the_warning_of_an_unreadable_pin_names_its_instance() {
    let mut harness =
        Harness::new(|ctx, _input| async move { ctx.schedule_activity("A", "").await });
    harness.turn(&["start"]);
    harness.evict();
    harness.history[0].duroxide_version = "newest".to_owned();
    let lines = logged_by(|| assert_eq!(harness.turn(&["done 2 x"]), "completed x"));
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert!(lines[0].starts_with("WARN duroxide::runtime Invalid pinned version"), "{lines:?}");
    assert!(lines[0].contains(r#" instance="i" version="newest""#), "{lines:?}");
}

#[test]
fn carrying_many_messages_is_logged_and_loses_none() {
    let mut harness = Harness::new(|ctx, _input| async move { ctx.continue_as_new("").await });
    let messages: Vec<String> = (0..101).map(|n| format!("message q {n}")).collect();
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    let lines = logged_by(|| assert_eq!(harness.turn(&messages), "continued "));
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains("carrying more than 100 unread messages"), "{lines:?}");
}
