//! Faults of activities and sessions.

use std::time::Duration;

use duroxide_core::providers::{
    FetchFilter, FetchedWork, Provider, ProviderError, SessionFetchConfig, TagFilter, WorkFetch,
    WorkItem,
};

use crate::fault::Fault;
use crate::provider::{AGES, FaultyProvider};

const EVERYONE: &str = "everyone";

type Fetched = Result<Option<(WorkItem, String, u32)>, ProviderError>;

impl FaultyProvider {
    pub(crate) async fn fetch_work(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Fetched {
        let lock_timeout = if self.has(Fault::WorkLeaseNeverExpires) { AGES } else { lock_timeout };
        let poll_timeout = self.faulty_poll(poll_timeout);
        let session = self.faulty_session(session);
        let filter = self.faulty_tags(tag_filter);
        let fetch =
            |poll| self.inner.fetch_work_item(lock_timeout, poll, session.as_ref(), &filter);
        let mut fetched = fetch(poll_timeout).await?;
        if self.has(Fault::WorkOutOfOrder)
            && let Some((_, first, _)) = &fetched
            && let Some(second) = fetch(Duration::ZERO).await?
        {
            self.inner.abandon_work_item(first, None, true).await?;
            fetched = Some(second);
        }
        Ok(fetched.map(|(mut item, token, attempt)| {
            if self.has(Fault::TagLost)
                && let WorkItem::ActivityExecute { tag, .. } = &mut item
            {
                *tag = None;
            }
            self.note_work(&token, &item);
            let attempt = if self.has(Fault::WorkAttemptsNotCounted) { 1 } else { attempt };
            (item.clone(), token, self.faulty_attempt(&item, attempt))
        }))
    }

    fn faulty_session(&self, session: Option<&SessionFetchConfig>) -> Option<SessionFetchConfig> {
        let lock_timeout = Duration::from_secs(30);
        match (self.fault(), session.cloned()) {
            (Some(Fault::SessionSharedByAll), Some(session)) => {
                Some(SessionFetchConfig { owner_id: EVERYONE.to_owned(), ..session })
            }
            (Some(Fault::SessionsForEveryone), None) => {
                Some(SessionFetchConfig { owner_id: EVERYONE.to_owned(), lock_timeout })
            }
            (Some(Fault::SessionLeaseNeverExpires), Some(session)) => {
                Some(SessionFetchConfig { lock_timeout: AGES, ..session })
            }
            (_, session) => session,
        }
    }

    fn faulty_tags(&self, filter: &TagFilter) -> TagFilter {
        match (self.fault(), filter) {
            (Some(Fault::TagFilterIgnored), _)
            | (Some(Fault::TagNoneMeansAny), TagFilter::None) => TagFilter::Any,
            (_, filter) => filter.clone(),
        }
    }

    pub(crate) async fn ack_work(
        &self,
        token: &str,
        completion: Option<WorkItem>,
    ) -> Result<(), ProviderError> {
        let completion = completion.filter(|_| !self.has(Fault::WorkCompletionLost));
        let result = self.inner.ack_work_item(token, completion).await;
        let result = self.faulty_lease_kind(Fault::LostWorkAckWithoutKind, result);
        if self.has(Fault::WorkAckAfterLeaseLost) { Ok(()) } else { result }
    }

    pub(crate) async fn renew_work(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        if self.has(Fault::WorkRenewalWithoutEffect) {
            // Just long enough to check that the token is valid.
            return self.inner.renew_work_item_lock(token, Duration::from_millis(1)).await;
        }
        let result = self.inner.renew_work_item_lock(token, extend_for).await;
        let result = self.faulty_lease_kind(Fault::LostWorkRenewalWithoutKind, result);
        if self.has(Fault::WorkRenewalAlwaysSucceeds) { Ok(()) } else { result }
    }

    pub(crate) async fn abandon_work(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        if self.has(Fault::WorkAbandonKeepsLease) {
            return Ok(());
        }
        let delay = delay.filter(|_| !self.has(Fault::WorkAbandonDelayIgnored));
        let undo = ignore_attempt && !self.has(Fault::WorkAbandonAttemptCounted);
        if self.has(Fault::StartForgotten) {
            return self.inner.return_unstarted_work_item(token, delay, undo).await;
        }
        self.inner.abandon_work_item(token, delay, undo).await
    }

    pub(crate) async fn renew_sessions(
        &self,
        owners: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        if self.has(Fault::SessionNotRenewed) {
            return Ok(0);
        }
        let idle = if self.has(Fault::SessionIdleRenewed) { AGES } else { idle_timeout };
        self.inner.renew_session_lock(owners, extend_for, idle).await
    }

    pub(crate) async fn fetch_work_batch(
        &self,
        mut request: WorkFetch<'_>,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        let poll_timeout = self.faulty_poll(request.poll_timeout);
        self.bounce(&request).await?;
        let filter = self.faulty_handlers(&request);
        request.filter = &filter;
        let mut work = self.inner.fetch_work_items(request.with_poll_timeout(poll_timeout)).await?;
        if self.has(Fault::WorkBatchSlotsMixed) {
            work.iter_mut().for_each(|fetched| fetched.slot = 0);
        }
        work.iter_mut().for_each(|fetched| self.distort_fetched(fetched));
        Ok(work)
    }

    /// The filter with a fault in the handlers that the caller has.
    fn faulty_handlers(&self, request: &WorkFetch<'_>) -> FetchFilter {
        let mut filter = request.filter.clone();
        let has_sessions = request.slots.iter().any(|slot| slot.session.is_some());
        match self.fault() {
            Some(Fault::ActivityFilterIgnored) => filter.activities = None,
            Some(Fault::ActivityFilterForgetsSessions) if has_sessions => filter.activities = None,
            Some(Fault::ActivityFilterWithoutTags) if filter.activities.is_some() => {
                filter.tags = TagFilter::Any;
            }
            _keeps_the_filter => {}
        }
        filter
    }

    /// Leases what the caller cannot run, and releases it: the attempt counts, or what follows is
    /// out of reach.
    async fn bounce(&self, request: &WorkFetch<'_>) -> Result<(), ProviderError> {
        let (counts, hides) =
            (self.has(Fault::ActivityFilterBounces), self.has(Fault::ActivityFilterFromTheFront));
        if request.filter.activities.is_none() || !(counts || hides) {
            return Ok(());
        }
        let mut everything = request.clone().with_poll_timeout(Duration::ZERO);
        let filter = FetchFilter::from(&request.filter.tags);
        everything.filter = &filter;
        let all = self.inner.fetch_work_items(everything).await?;
        let is_foreign = |work: &FetchedWork| {
            matches!(&work.item, WorkItem::ActivityExecute { name, tag, .. }
                if !request.filter.allows_activity(tag.as_deref(), name))
        };
        let is_hidden = hides && all.first().is_some_and(is_foreign);
        for work in all {
            let ignored = hides || !is_foreign(&work);
            let delay = is_hidden.then_some(AGES);
            self.inner.abandon_work_item(&work.lock_token, delay, ignored).await?;
        }
        Ok(())
    }
}
