//! Faults of schedule-to-start limits, of progress and of the list of workers.

use std::time::Duration;

use duroxide_core::providers::{
    FetchedWork, OverdueFetch, Provider, ProviderAdmin, ProviderError, SessionFetchConfig,
    TagFilter, WaitingWork, WaitingWorkQuery, WorkFetch, WorkSlot, WorkerAnnouncement,
};

use crate::fault::Fault;
use crate::provider::{AGES, FaultyProvider};

impl FaultyProvider {
    pub(crate) async fn overdue(
        &self,
        mut request: OverdueFetch,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        request.poll_timeout = self.faulty_poll(request.poll_timeout);
        if self.has(Fault::OverdueNeverFound) {
            return Ok(Vec::new());
        }
        if self.has(Fault::OverdueSizeIgnored) {
            request.work_max = usize::MAX;
        }
        if self.has(Fault::OverdueLeaseNeverExpires) {
            request.lock_timeout = AGES;
        }
        let mut work = self.inner.fetch_overdue_work(request).await?;
        if self.has(Fault::OverdueOrderLost) {
            work.reverse();
        }
        if self.has(Fault::OverdueClaimsSession) && !work.is_empty() {
            self.claim_next_session(&request).await?;
        }
        Ok(work)
    }

    /// Claims a session as a worker would, and abandons the activity.
    async fn claim_next_session(&self, request: &OverdueFetch) -> Result<(), ProviderError> {
        let (owner_id, lock_timeout) = ("sweeper".to_owned(), AGES);
        let session = Some(SessionFetchConfig { owner_id, lock_timeout });
        let slots = [WorkSlot::new(session)];
        let fetch = WorkFetch::new(&slots, request.lock_timeout);
        for work in self.inner.fetch_work_items(fetch).await? {
            self.inner.return_unstarted_work_item(&work.lock_token, None, true).await?;
        }
        Ok(())
    }

    pub(crate) fn distort_fetched(&self, work: &mut FetchedWork) {
        if self.has(Fault::OverdueNotReported) {
            work.overdue = None;
        }
        if self.has(Fault::ProgressNotPassedOn) {
            work.progress = None;
        }
    }

    pub(crate) async fn return_unstarted(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        if self.has(Fault::EveryLeaseIsAStart) {
            return self.inner.abandon_work_item(token, delay, ignore_attempt).await;
        }
        self.inner.return_unstarted_work_item(token, delay, ignore_attempt).await
    }

    pub(crate) async fn report(&self, token: &str, progress: &str) -> Result<(), ProviderError> {
        if self.has(Fault::ProgressLost) {
            return self.inner.renew_work_item_lock(token, Duration::from_secs(5)).await;
        }
        let kept = self.inner.record_activity_progress(token, progress).await;
        if self.has(Fault::ProgressAfterLeaseLost) { Ok(()) } else { kept }
    }

    pub(crate) async fn announce(
        &self,
        announcement: &WorkerAnnouncement,
    ) -> Result<(), ProviderError> {
        let mut announced = announcement.clone();
        if self.has(Fault::WorkersNeverExpire) {
            announced.expires_in = AGES;
        }
        if self.has(Fault::WorkerFilterLost) {
            announced.tag_filter = TagFilter::Any;
        }
        if self.has(Fault::AnnouncedTurnsLost) {
            announced.turns = None;
        }
        self.inner.announce_worker(&announced).await
    }

    pub(crate) async fn waiting(
        &self,
        mut query: WaitingWorkQuery,
    ) -> Result<Vec<WaitingWork>, ProviderError> {
        if self.has(Fault::WaitingLimitIgnored) {
            query.limit = u32::MAX;
        }
        if self.has(Fault::WaitingPageIgnored) {
            query.after = None;
        }
        if self.has(Fault::WaitingCursorUnchecked) {
            query.after = query.after.filter(|cursor| cursor.as_str().parse::<u64>().is_ok());
        }
        self.inner.list_waiting_work(query).await
    }
}
