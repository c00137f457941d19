//! Histories as JSON lines.

use duroxide::check::{Checker, Verdict};
use duroxide::histories::{
    HistoriesError, HistoryReader, HistorySelection, HistoryWriter, export_histories,
};

use crate::code::orchestrations;
use crate::support::{histories_of, order, recordings, waiting_orders};

async fn exported(orders: usize) -> String {
    let store = waiting_orders(orders).await;
    let mut writer = HistoryWriter::new("memory", Vec::new()).unwrap();
    let written =
        export_histories(store.as_ref(), HistorySelection::Running, &mut writer).await.unwrap();
    assert_eq!(written, orders as u64);
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

fn read(text: &str) -> Result<usize, HistoriesError> {
    let mut reader = HistoryReader::new("memory", text.as_bytes())?;
    let mut executions = 0;
    while let Some(raw) = reader.next_raw()? {
        raw.decode()?;
        executions += 1;
    }
    Ok(executions)
}

#[tokio::test]
async fn an_export_can_be_read_and_checked() {
    let text = exported(2).await;
    let version = duroxide::current_build_version();
    let first = format!("{{\"duroxide_histories\":1,\"written_by\":\"{version}\"}}");
    assert_eq!(text.lines().next(), Some(first.as_str()));
    assert_eq!(read(&text).unwrap(), 2);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("orders.jsonl"), &text).unwrap();
    duroxide::assert_compatible!(order(), folder.path());
    let report = Checker::new(orchestrations()).check_folder(folder.path()).unwrap();
    assert!(matches!(report.problems[0].verdict, Verdict::HandlerMissing { .. }));
}

#[tokio::test]
async fn damaged_files_are_refused_with_file_and_line() {
    let text = exported(1).await;
    let lines: Vec<&str> = text.lines().collect();
    let cut = lines[..lines.len() - 1].join("\n");
    let error = read(&cut).unwrap_err().to_string();
    assert!(error.contains("1 of its") && error.contains("events are missing"), "{error}");
    let error = read("").unwrap_err().to_string();
    assert!(error.contains("the file is empty"), "{error}");
    let error = read("{\"event_id\":1}\n").unwrap_err().to_string();
    assert!(error.contains("line 1: not a file of histories"), "{error}");
    let error = read("{\"duroxide_histories\":99,\"written_by\":\"9.0.0\"}").unwrap_err();
    assert!(matches!(error, HistoriesError::NewerFormat { found: 99, .. }), "{error}");
    let swapped = text.replacen("{\"execution\":", "{\"other\":", 1);
    assert!(read(&swapped).unwrap_err().to_string().contains("line 2: not the beginning"));
}

#[test]
fn an_unknown_kind_of_event_is_undecodable_unless_its_pin_is_newer() {
    let histories = histories_of("0.1.32");
    let running = histories.iter().find(|history| !history.is_finished()).unwrap();
    let mut writer = HistoryWriter::new("memory", Vec::new()).unwrap();
    writer.write(running).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let unknown = text.replace("\"type\":\"ActivityScheduled\"", "\"type\":\"FromTheFuture\"");
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        std::fs::write(folder.path().join("one.jsonl"), text).unwrap();
        Checker::new(orchestrations()).check_folder(folder.path()).unwrap()
    };
    let report = check(&unknown);
    assert!(report.to_string().contains("FromTheFuture"), "{report}");
    assert!(matches!(report.problems[0].verdict, Verdict::Undecodable { .. }));
    let newer =
        unknown.replace("\"duroxide_version\":\"0.1.32\"", "\"duroxide_version\":\"99.0.0\"");
    let report = check(&newer);
    assert!(matches!(report.problems[0].verdict, Verdict::VersionUnsupported { .. }), "{report}");
}

#[test]
#[should_panic(expected = "no history was found")]
fn an_empty_folder_does_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    duroxide::assert_compatible!(orchestrations(), folder.path());
}

#[test]
fn one_file_can_be_checked_alone() {
    duroxide::assert_compatible!(orchestrations(), recordings().join("0.1.32.jsonl"));
}
