//! Deletes many finished roots: as many in one transaction as a slice lasts, so that a thousand
//! small ones do not wait for the disk a thousand times, and other jobs run in between.

use std::ops::AddAssign;
use std::time::Instant;

use duroxide_core::providers::kit::BulkErrors;
use duroxide_core::providers::{
    DeleteInstanceResult, InstanceFilter, ProviderError, ProviderErrorKind,
};

use crate::error::JobError;
use crate::retention::SelectedInstance;
use crate::write::slices::Slice;
use crate::write::writer::Tx;
use crate::{SqliteProvider, deletion_slices, limits, retention};

const OPERATION: &str = "delete_instance_bulk";

/// What became of roots.
#[derive(Debug, Default)]
struct DeletedRoots {
    total: DeleteInstanceResult,
    deleted: u32,
    /// Those that stay, and that the next selection finds again.
    passed_over: u32,
    /// The root that could not be deleted; those behind it were not tried.
    failed: Option<SelectedInstance>,
}

impl AddAssign for DeletedRoots {
    fn add_assign(&mut self, other: Self) {
        self.total += other.total;
        self.deleted += other.deleted;
        self.passed_over += other.passed_over;
        self.failed = self.failed.take().or(other.failed);
    }
}

/// Why a selected root is not deleted.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    /// The next selection does not find it, or finds another one of that id.
    Gone,
    /// It runs again, or has grown: that is for the next time.
    Stays,
}

impl Refusal {
    fn of(kind: ProviderErrorKind) -> Option<Self> {
        if kind == ProviderErrorKind::NotFound {
            return Some(Self::Gone);
        }
        let stays = [ProviderErrorKind::StillRunning, ProviderErrorKind::Conflict];
        stays.contains(&kind).then_some(Self::Stays)
    }
}

impl SqliteProvider {
    /// Deletes finished roots that a filter selects, each with its tree.
    pub(crate) async fn delete_matching_roots(
        &self,
        mut filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let mut left = filter.limit.unwrap_or(limits::BULK_INSTANCES_DEFAULT);
        let (mut errors, mut passed_over) = (BulkErrors::default(), 0);
        let mut total = DeleteInstanceResult::default();
        while left > 0 {
            filter.limit = Some(left);
            let page = filter.clone();
            let select = move |conn: &_| retention::deletable_roots(conn, &page, passed_over);
            let roots = self.read_with(OPERATION, select).await?;
            if roots.is_empty() {
                break;
            }
            let done = self.delete_roots(roots).await?;
            if done.deleted > 0 {
                errors.succeeded();
            }
            total += done.total;
            left = left.saturating_sub(done.deleted);
            passed_over += done.passed_over;
            let Some(root) = done.failed else { continue };
            // Alone, so that its error is known.
            match self.delete_one_root(root.clone()).await {
                Ok(deleted) => {
                    total += deleted;
                    left = left.saturating_sub(1);
                }
                Err(error) => match Refusal::of(error.kind) {
                    Some(Refusal::Gone) => {}
                    Some(Refusal::Stays) => passed_over += 1,
                    None => {
                        passed_over += 1;
                        errors.failed(&root.id, error)?;
                    }
                },
            }
        }
        errors.unless(total.instances_deleted > 0)?;
        Ok(total)
    }

    async fn delete_one_root(
        &self,
        root: SelectedInstance,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.delete_in_slices(OPERATION, move |tx| retention::delete_selected(tx, &root)).await
    }

    /// Deletes roots until one fails.
    async fn delete_roots(
        &self,
        roots: Vec<SelectedInstance>,
    ) -> Result<DeletedRoots, ProviderError> {
        // Where each slice begins: one that was undone runs again.
        let mut begins = vec![0];
        let slice = move |tx: &mut Tx<'_>, number: usize| {
            begins.truncate(number + 1);
            let begin = begins.last().copied().unwrap_or(0);
            let (slice, end) = delete_some(tx, &roots, begin)?;
            begins.push(end);
            Ok(slice)
        };
        self.writer().run_in_slices(OPERATION, slice).await
    }
}

/// Deletes roots from a place on for as long as a slice lasts; returns the next place.
fn delete_some(
    tx: &mut Tx<'_>,
    roots: &[SelectedInstance],
    begin: usize,
) -> Result<(Slice<DeletedRoots>, usize), JobError> {
    let started = Instant::now();
    let is_over = || started.elapsed() >= limits::DELETION_SLICE_MAX;
    let mut done = DeletedRoots::default();
    let mut place = begin;
    while let Some(root) = roots.get(place).filter(|_| place == begin || !is_over()) {
        match delete_alone(tx, root)? {
            Ok(result) => {
                done.total += result;
                done.deleted += 1;
            }
            Err(error) => match Refusal::of(error.during(OPERATION).kind) {
                Some(Refusal::Gone) => {}
                Some(Refusal::Stays) => done.passed_over += 1,
                // Its own call finds out why.
                None => {
                    done.failed = Some(root.clone());
                    return Ok((Slice { done, is_last: true }, roots.len()));
                }
            },
        }
        place += 1;
    }
    if place < roots.len() {
        return Ok((Slice { done, is_last: false }, place));
    }
    // What was too large for one transaction.
    let is_last = match is_over() {
        true => !deletion_slices::is_pending(tx.conn)?,
        false => {
            let swept = deletion_slices::sweep(tx)?;
            done.total += swept.done;
            swept.is_last
        }
    };
    Ok((Slice { done, is_last }, place))
}

/// Deletes a root in a savepoint, so that its failure leaves the others deleted.
fn delete_alone(
    tx: &mut Tx<'_>,
    root: &SelectedInstance,
) -> Result<Result<DeleteInstanceResult, JobError>, JobError> {
    tx.conn.prepare_cached("SAVEPOINT root")?.execute([])?;
    let deleted = retention::delete_selected(tx, root);
    if deleted.is_err() {
        tx.conn.prepare_cached("ROLLBACK TO root")?.execute([])?;
    }
    tx.conn.prepare_cached("RELEASE root")?.execute([])?;
    Ok(deleted)
}
