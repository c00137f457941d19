//! Every event carries the version that wrote it.

use super::nodes::{seed, stamped};
use crate::ProviderFactory;
use crate::support::{Must, Store, heard, signal};

const OLD: &str = "0.1.30";

/// Version stamps come back unchanged through every way of writing and reading.
pub async fn test_queue_replay_version_stamp_roundtrip<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    seed(&store, "old", OLD, vec![heard("old", 1, 2).kind]).await;
    let unusual = ["0.1.30-rc.1+build.7", "", "not a version"];
    let more = (3..).zip(unusual).map(|(id, stamp)| stamped(heard("old", 1, id), stamp)).collect();
    let appended = store.provider.append_with_execution("old", 1, more).await;
    appended.must("appending events");

    let expected = [OLD, OLD, unusual[0], unusual[1], unusual[2]];
    let read = store.history("old").await;
    let stamps: Vec<_> = read.iter().map(|event| event.duroxide_version.as_str()).collect();
    assert_eq!(stamps, expected);
    let one = store.provider.read_with_execution("old", 1).await;
    assert_eq!(one.must("reading the history of an execution"), read);
    store.send(signal("old", "next")).await;
    assert_eq!(
        store.turn_of("old").await.item.history,
        read,
        "a fetch returns what a read returns"
    );
}
