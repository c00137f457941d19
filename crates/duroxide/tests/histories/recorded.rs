//! Every build replays what earlier ones recorded.

use std::collections::BTreeSet;
use std::sync::Arc;

use duroxide::Client;
use duroxide::check::{Checker, Verdict};
use duroxide::histories::{HistorySelection, HistoryWriter, export_histories};
use duroxide::providers::Provider;
use duroxide::providers::sqlite::SqliteProvider;

use crate::code::orchestrations;
use crate::driver::run_all;
use crate::support::{histories_of, recordings};

/// All kinds of events that a release has written.
const KINDS: usize = 26;

#[test]
fn all_recorded_histories_agree_with_their_code() {
    duroxide::assert_compatible!(orchestrations(), recordings());
}

#[test]
fn the_recordings_have_every_kind_of_event_and_running_executions() {
    for version in ["0.1.32", "0.2.0"] {
        let histories = histories_of(version);
        let events = histories.iter().flat_map(|history| &history.events);
        let kinds: BTreeSet<&str> = events.clone().map(|event| event.kind.type_tag()).collect();
        assert_eq!(kinds.len(), KINDS, "{version} has only {kinds:?}");
        assert!(events.clone().all(|event| event.duroxide_version == version));
        assert!(histories.iter().any(|history| !history.is_finished()), "{version}");
        assert!(histories.iter().any(|history| history.execution_id > 2), "{version}");
    }
}

#[test]
fn a_missing_recorded_activity_is_noticed() {
    let checker = Checker::new(orchestrations());
    let mut missed = 0;
    for history in histories_of("0.1.32").into_iter().filter(|history| !history.is_finished()) {
        for index in 1..history.events.len() {
            if history.events[index].kind.type_tag() != "ActivityScheduled" {
                continue;
            }
            let mut shorter = history.clone();
            shorter.events.remove(index);
            let checked = checker.check_history(shorter);
            let differs = matches!(checked.verdict, Verdict::Differs(_));
            let is_last = index + 1 == history.events.len();
            assert!(differs || is_last, "{checked}");
            missed += usize::from(differs);
        }
    }
    assert!(missed > 0);
}

/// Writes the recording of this release, once for each release, and is no test otherwise:
/// `DUROXIDE_RECORD=1 cargo test -p duroxide --test histories record`.
#[tokio::test]
async fn record() {
    if std::env::var_os("DUROXIDE_RECORD").is_none() {
        return;
    }
    let store: Arc<dyn Provider> = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    run_all(Arc::clone(&store)).await;
    assert!(!Client::new(Arc::clone(&store)).list_all_instances().await.unwrap().is_empty());
    let path = recordings().join(format!("{}.jsonl", duroxide::current_build_version()));
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = HistoryWriter::new(path.display().to_string(), file).unwrap();
    export_histories(store.as_ref(), HistorySelection::All, &mut writer).await.unwrap();
    writer.finish().unwrap();
}
