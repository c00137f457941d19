//! Instances and activities whose stored data make the statement of a fetch fail, so that no node
//! would get any work: they are left alone for a while, and the others are fetched. No attempt is
//! counted.
//!
//! Nothing is written about instances: what may have damaged a row cannot get in the way, and each
//! node finds them for itself. Activities are delayed in the store.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duroxide_core::clock::millis;

use crate::error::JobError;
use crate::fetch::turns::Parameters;
use crate::limits;
use crate::notify::change::Changes;
use crate::schema::call::Argument;
use crate::schema::number::{count_from_db, lease_length};
use crate::schema::stored_text::from_stored;
use crate::statements::pause;
use crate::store::Store;

/// Instances that this node does not fetch at present, by their stored ids.
#[derive(Debug, Default)]
pub(crate) struct SetAside(Mutex<HashMap<String, Pause>>);

#[derive(Debug)]
struct Pause {
    failed: u32,
    until: u64,
}

impl SetAside {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pause>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those whose pause lasts, in their stored form.
    pub(crate) fn skipped(&self, now: u64) -> Vec<String> {
        let mut pauses = self.lock();
        if pauses.is_empty() {
            return Vec::new();
        }
        // One that failed no more for so long is fetched as before.
        let forgotten = millis(limits::UNFETCHABLE_PAUSE_MAX);
        pauses.retain(|_, pause| pause.until.saturating_add(forgotten) > now);
        let waiting = pauses.iter().filter(|(_, pause)| pause.until > now);
        waiting.map(|(instance, _)| instance.clone()).collect()
    }

    /// When the first pause ends.
    pub(crate) fn next_due(&self, now: u64) -> Option<u64> {
        self.lock().values().map(|pause| pause.until).filter(|until| *until > now).min()
    }

    /// Starts a pause, longer after each failure; `None` if too many are set aside.
    fn add(&self, instance: &str, now: u64) -> Option<Duration> {
        let mut pauses = self.lock();
        if pauses.len() >= limits::UNFETCHABLE_MAX && !pauses.contains_key(instance) {
            return None;
        }
        let entry = pauses.entry(instance.to_owned()).or_insert(Pause { failed: 0, until: 0 });
        entry.failed = entry.failed.saturating_add(1);
        let length = pause(entry.failed, limits::UNFETCHABLE_PAUSE, limits::UNFETCHABLE_PAUSE_MAX);
        entry.until = now.saturating_add(millis(length));
        Some(length)
    }
}

/// Sets the instances aside that made a fetch fail. True if there are some, and the fetch may be
/// repeated without them; otherwise the store is in trouble.
pub(crate) async fn isolate(store: &Store, fetch: &Parameters, error: &JobError) -> bool {
    if !error.may_concern_one_row() {
        return false;
    }
    let arguments = fetch.search_arguments();
    let rows = match store.call("find_unfetchable", &arguments).await {
        Ok(rows) => rows,
        Err(error) => {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                %error,
                "could not search for the instance that makes fetches fail"
            );
            return false;
        }
    };
    let tried = rows.last().and_then(|row| row.get::<_, Option<i32>>("o_tried"));
    let tried = tried.map_or(0, |tried| count_from_db(i64::from(tried)));
    let failed: Vec<(String, String)> = rows
        .iter()
        .filter_map(|row| {
            row.get::<_, Option<String>>("o_instance").zip(row.get::<_, Option<String>>("o_error"))
        })
        .collect();
    if failed.len() < tried {
        // Other fetches passed over these while the search held them.
        let mut changes = Changes::default();
        changes.orchestrator_queue();
        store.publish(changes);
    }
    // If all fail, and not by their data, the reason is not one of them.
    if failed.len() == tried && !error.concerns_data() {
        return false;
    }
    let now = store.clock().now_ms();
    let mut found = false;
    for (instance, reason) in failed {
        let Some(pause) = store.set_aside.add(&instance, now) else { continue };
        found = true;
        tracing::error!(
            target: "duroxide::providers::postgres",
            instance_id = %from_stored(instance),
            error = %reason,
            ?pause,
            "an instance makes fetches of turns fail; its messages wait, others are fetched"
        );
    }
    found
}

/// Delays the activities that made a fetch fail. True if there are some, and the fetch may be
/// repeated without them; otherwise the store is in trouble.
pub(crate) async fn isolate_work(store: &Store, error: &JobError) -> bool {
    if !error.may_concern_one_row() {
        return false;
    }
    let pause = limits::UNREADABLE_TURN_PAUSE;
    let arguments: [Argument<'_>; 4] = [
        ("p_now", &store.now()),
        ("p_tried_max", &limits::UNFETCHABLE_TRIED_MAX),
        ("p_pause", &lease_length(pause)),
        ("p_even_all", &error.concerns_data()),
    ];
    let delayed = match store.call("set_work_aside", &arguments).await {
        Ok(rows) => rows,
        Err(error) => {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                %error,
                "could not search for the activity that makes fetches fail"
            );
            return false;
        }
    };
    for row in &delayed {
        tracing::error!(
            target: "duroxide::providers::postgres",
            instance_id = %from_stored(row.get("o_instance")),
            activity_id = row.get::<_, i64>("o_activity"),
            error = %row.get::<_, String>("o_error"),
            ?pause,
            "an activity makes fetches of activities fail; it waits, others are fetched"
        );
    }
    !delayed.is_empty()
}

/// What the search for such instances needs of a fetch.
impl Parameters {
    fn search_arguments(&self) -> [Argument<'_>; 13] {
        [
            ("p_now", &self.now),
            ("p_tried_max", &limits::UNFETCHABLE_TRIED_MAX),
            ("p_from", &self.from),
            ("p_to", &self.to),
            ("p_code", &self.code),
            ("p_node", &self.node),
            ("p_messages_max", &limits::TURN_MESSAGES_MAX),
            ("p_bytes_max", &limits::TURN_BYTES_MAX),
            ("p_alone_bytes", &limits::START_ALONE_BYTES),
            ("p_fetch_bytes_max", &limits::FETCH_BYTES_MAX),
            ("p_inline_events_max", &limits::INLINE_EVENTS_MAX),
            ("p_inline_bytes_max", &limits::INLINE_BYTES_MAX),
            ("p_skip", &self.skip),
        ]
    }
}
