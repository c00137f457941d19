//! Files that cannot be imported. The error names the line, and nothing is stored.

use duroxide::client::ExportRequest;
use duroxide::runtime::OrchestrationRegistry;
use duroxide::transfer::{ImportOptions, InstanceReader, TransferError};
use duroxide::{Client, OrchestrationContext};

use crate::support::{Store, client, import, node, output, sqlite, try_export, try_import};

async fn two_instances() -> (Store, String) {
    let store = sqlite().await;
    let orchestrations = OrchestrationRegistry::builder()
        .register("Greet", |ctx: OrchestrationContext, name: String| async move {
            ctx.set_kv_value("name", name.clone());
            Ok(format!("hello {name}"))
        })
        .build();
    let runtime = node(&store, orchestrations, false).await;
    for instance in ["a", "b"] {
        client(&store).start_orchestration(instance, "Greet", instance).await.unwrap();
        output(&client(&store), instance).await;
    }
    runtime.shutdown(None).await;
    let ids = vec!["a".to_owned(), "b".to_owned()];
    let request = ExportRequest::new(duroxide::client::ExportSelection::Ids(ids));
    let (file, _) = try_export(&store, request).await.unwrap();
    (store, String::from_utf8(file).unwrap())
}

async fn refusal(file: &str) -> (String, Vec<String>) {
    let target = sqlite().await;
    let refused = try_import(&target, file.as_bytes(), ImportOptions::default()).await;
    let stored = client(&target).list_all_instances().await.unwrap();
    (refused.map(drop).unwrap_err().to_string(), stored)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_named_with_its_line() {
    let (_, file) = two_instances().await;
    let lines: Vec<&str> = file.lines().collect();
    let second = lines.iter().rposition(|line| line.starts_with(r#"{"instance":"#)).unwrap();
    let without = |place: usize| {
        let mut lines = lines.clone();
        lines.remove(place);
        lines.join("\n")
    };
    let cases = [
        (String::new(), "file, line 0: the file is empty"),
        ("hello".to_owned(), "file, line 1: not a file of instances"),
        (r#"{"duroxide_histories":1,"written_by":"0.2.0"}"#.to_owned(), "histories alone"),
        (r#"{"duroxide_histories":99,"written_by":"9.0.0"}"#.to_owned(), "newer release"),
        (without(1), "file, line 2: not the beginning of an instance"),
        (lines[..lines.len() - 1].join("\n"), "the file ends within instance 'b'"),
        (lines[..second + 3].join("\n"), "events are missing"),
        (without(second - 1), "the last line of instance 'a' is missing"),
        (without(second - 2), "lines of instance 'a' are missing or doubled"),
        (file.replacen(r#""event_id":2"#, r#""event_id":1"#, 1), "event 1 comes after event 1"),
        (file.replacen(r#""event_id":1,"#, "", 1), "file, line 4: an event without its number"),
        (file.replacen(r#"{"key":"#, r#"{"unknown":"#, 1), "not a line of an instance"),
    ];
    for (file, expected) in cases {
        let (error, stored) = refusal(&file).await;
        assert!(error.contains(expected), "{error}, expected {expected}");
        // What comes before the damaged instance is stored, and nothing of it.
        assert!(stored.is_empty() || stored == ["a"], "{error}: {stored:?}");
    }
    let bytes = [file.as_bytes(), b"\xff\xfe"].concat();
    let target = sqlite().await;
    let error = try_import(&target, &bytes, ImportOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains(&format!("line {}", lines.len() + 1)), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_import_continues() {
    let (source, file) = two_instances().await;
    let half: Vec<&str> = file.lines().collect();
    let half = half[..half.len() - 2].join("\n");
    let target = sqlite().await;
    try_import(&target, half.as_bytes(), ImportOptions::default()).await.unwrap_err();
    assert_eq!(client(&target).list_all_instances().await.unwrap(), ["a"]);
    let options = ImportOptions::default().skipping_existing().verifying();
    let report = try_import(&target, file.as_bytes(), options).await.unwrap();
    assert_eq!((report.imported, report.skipped, report.different), (1, 1, 0));
    crate::support::assert_same(&source, &target, &["a", "b"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_keys_and_blank_lines_are_ignored() {
    let (source, file) = two_instances().await;
    let file = file.replace(r#""head":{"#, r#""later":1,"head":{"newer":[],"#);
    let file = file.replace(r#"{"key":{"#, r#"{"beside":2,"key":{"#);
    let file = file.replace('\n', "\n\n");
    let target = sqlite().await;
    import(&target, file.as_bytes()).await;
    crate::support::assert_same(&source, &target, &["a", "b"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_difference_is_found() {
    let (source, file) = two_instances().await;
    let target = sqlite().await;
    let changed =
        file.replacen("hello a", "hello x", 1).replacen(r#""value":"a""#, r#""value":"y""#, 1);
    assert_ne!(changed, file);
    let client: Client = client(&target);
    let mut reader = InstanceReader::new("file", changed.as_bytes()).unwrap();
    client.import_instances(&mut reader, ImportOptions::default(), |_| {}).await.unwrap();
    let found = duroxide::transfer::compare_instances(&*source, &*target, "a").await.unwrap();
    assert!(!found.is_empty(), "the stores differ");
    let options = ImportOptions::default().skipping_existing().verifying();
    let report = try_import(&target, file.as_bytes(), options).await.unwrap();
    assert_eq!((report.skipped, report.different), (2, 1));
    let missing = duroxide::transfer::compare_instances(&*source, &*target, "c").await;
    assert!(matches!(missing, Err(TransferError::NotFound { .. })));
}
