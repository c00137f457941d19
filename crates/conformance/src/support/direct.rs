//! Direct turns: an instance with leased activities, and what must not change when a turn is
//! refused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    CommittedTurn, DirectTurn, HistoryMark, ProviderError, ScheduledActivityIdentifier, TagFilter,
    TurnCommit, WorkItem,
};
use duroxide_core::{Event, EventKind};

use super::{
    Must, Store, activity, commit, event, heard, leasing, named, signal, start_item, started,
};
use crate::ProviderFactory;

/// Longer than the time that passes in any validation.
const FOREVER: Duration = Duration::from_secs(3600);

/// An instance that waits for activities, which the caller has leased.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) instance: String,
    /// The end of its history.
    pub(crate) mark: HistoryMark,
    /// The tokens of its activities.
    pub(crate) tokens: Vec<String>,
}

impl Waiting {
    /// The next event that a turn records.
    pub(crate) fn next(&self) -> Event {
        heard(&self.instance, self.mark.execution_id, self.mark.event_id + 1)
    }

    /// A turn that records events and consumes the results of all activities.
    pub(crate) fn turn(&self, events: Vec<Event>) -> DirectTurn {
        DirectTurn::new(
            self.instance.clone(),
            self.mark,
            TurnCommit::default()
                .with_execution_id(self.mark.execution_id)
                .with_history_delta(events)
                .with_metadata(named()),
        )
        .with_finished_work(self.tokens.clone())
    }

    /// A turn that changes everything a turn can change: it writes a value and a status, schedules
    /// two activities and leases one, and sends a message to "friend".
    pub(crate) fn rich_turn(&self) -> DirectTurn {
        let at = |offset, kind| {
            event(&self.instance, self.mark.execution_id, self.mark.event_id + offset, kind)
        };
        let status = EventKind::CustomStatusUpdated { status: Some("on".to_owned()) };
        let value = EventKind::KeyValueSet {
            key: "key".to_owned(),
            value: "value".to_owned(),
            last_updated_at_ms: 1,
        };
        let turn = self.turn(vec![self.next(), at(2, status), at(3, value)]);
        let work = vec![activity(&self.instance, 21), activity(&self.instance, 22)];
        let commit = turn
            .commit
            .clone()
            .with_activities(leasing(work, &[0], FOREVER))
            .with_messages(&self.instance, vec![signal("friend", "hello")]);
        turn.with_commit(commit)
    }

    /// The same instance after a turn of so many events.
    pub(crate) fn moved(&self, events: u64, tokens: Vec<String>) -> Self {
        let mark = self.mark.with_event_id(self.mark.event_id + events);
        Self { instance: self.instance.clone(), mark, tokens }
    }
}

/// The content of events, without their times.
pub(crate) fn facts(events: &[Event]) -> Vec<(u64, u64, EventKind)> {
    events.iter().map(|it| (it.execution_id, it.event_id, it.kind.clone())).collect()
}

/// Names an activity of execution 1.
pub(crate) fn identified(instance: &str, activity_id: u64) -> ScheduledActivityIdentifier {
    ScheduledActivityIdentifier { instance: instance.to_owned(), execution_id: 1, activity_id }
}

impl<F: ProviderFactory + ?Sized> Store<'_, F> {
    /// Creates an instance that waits for these activities, and leases each of them.
    pub(crate) async fn waiting_for(&self, instance: &str, work: Vec<WorkItem>) -> Waiting {
        self.send(start_item(instance)).await;
        let turn = self.turn_of(instance).await;
        let first = commit(&turn, vec![started(instance, 1)]).with_activities(work.clone());
        let committed = self.provider.commit_turn(Arc::new(first)).await.must("a first commit");
        let incarnation = committed.incarnation.expect("direct turns need an incarnation");
        let mut tokens = Vec::new();
        for item in &work {
            let taken = self.try_work_as(None, &TagFilter::Any).await;
            let taken = taken.expect("an activity must be fetchable");
            assert_eq!(taken.item, *item, "activities come in the order of the commit");
            tokens.push(taken.token);
        }
        let mark = HistoryMark::new(incarnation).with_execution_id(1).with_event_id(1);
        Waiting { instance: instance.to_owned(), mark, tokens }
    }

    /// Like [`waiting_for`](Self::waiting_for) with one plain activity.
    pub(crate) async fn waiting(&self, instance: &str) -> Waiting {
        self.waiting_for(instance, vec![activity(instance, 2)]).await
    }

    pub(crate) async fn direct(
        &self,
        turn: DirectTurn,
    ) -> Result<Option<CommittedTurn>, ProviderError> {
        self.provider.commit_direct_turn(Arc::new(turn)).await
    }

    /// Commits a direct turn that must succeed.
    pub(crate) async fn direct_must(&self, turn: DirectTurn) -> CommittedTurn {
        let committed = self.direct(turn).await.must("a direct turn");
        committed.expect("a turn that follows what is stored must count")
    }

    /// A direct turn that the store must refuse without a change; `why` gives the reason.
    pub(crate) async fn direct_refused(&self, turn: DirectTurn, why: &str) {
        let (instance, before) = (turn.instance.clone(), self.picture(&turn.instance).await);
        let answer = self.direct(turn).await.must("refusing a direct turn");
        assert_eq!(answer, None, "{why}: the turn must not count");
        assert_eq!(self.picture(&instance).await, before, "{why}: a refused turn changes nothing");
    }

    /// A direct turn that must fail permanently without a change.
    pub(crate) async fn direct_failed(&self, turn: DirectTurn, why: &str) {
        let (instance, before) = (turn.instance.clone(), self.picture(&turn.instance).await);
        self.direct(turn).await.must_fail_for_good(why);
        assert_eq!(self.picture(&instance).await, before, "{why}: a failed turn changes nothing");
    }

    /// All leases of the activities must be live.
    pub(crate) async fn all_held(&self, tokens: &[String], why: &str) {
        for token in tokens {
            let renewed = self.provider.renew_work_item_lock(token, self.lease()).await;
            renewed.must(why);
        }
    }

    /// The visible state of an instance and the queue depths, read without a change.
    async fn picture(&self, instance: &str) -> Vec<String> {
        let values = self.provider.get_kv_all_values(instance).await.must("reading values");
        let values: BTreeMap<_, _> = values.into_iter().collect();
        let mut picture = vec![
            format!("history: {:?}", self.history(instance).await),
            format!("outcome: {:?}", self.provider.read_outcome(instance).await),
            format!("status: {:?}", self.provider.get_custom_status(instance, 0).await),
            format!("values: {values:?}"),
            format!("size: {:?}", self.provider.get_instance_stats(instance).await),
        ];
        if let Some(admin) = self.provider.as_management_capability() {
            picture.push(format!("info: {:?}", admin.get_instance_info(instance).await));
            picture.push(format!("queues: {:?}", admin.get_queue_depths().await));
        }
        picture
    }
}
