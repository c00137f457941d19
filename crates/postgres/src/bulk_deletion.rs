//! Deletes many finished roots: several in one transaction, each with its tree.

use duroxide_core::providers::kit::BulkErrors;
use duroxide_core::providers::{DeleteInstanceResult, InstanceFilter, ProviderErrorKind};

use crate::deletion::{Deletion, Root, Seen, Unlisted};
use crate::error::JobError;
use crate::limits;
use crate::read::inspect;
use crate::retention::{Page, select};
use crate::schema::number::to_db;
use crate::schema::stored_text::from_stored;
use crate::store::Store;

/// Deletes finished roots that a filter selects, each with its tree and by itself. Passes over a
/// root that cannot be deleted.
pub(crate) async fn delete_bulk(
    store: &Store,
    filter: &InstanceFilter,
) -> Result<DeleteInstanceResult, JobError> {
    let limit = filter.limit.unwrap_or(limits::BULK_INSTANCES_DEFAULT);
    let page = Page { limit: i64::from(limit), offset: 0 };
    let mut bulk = BulkDeletion {
        store,
        page,
        errors: BulkErrors::default(),
        total: DeleteInstanceResult::default(),
    };
    while bulk.page.limit > 0 {
        let roots = deletable_roots(store, filter, bulk.page).await?;
        if roots.is_empty() {
            break;
        }
        for roots in roots.chunks(limits::ROOTS_PER_DELETION) {
            bulk.delete(roots).await?;
        }
    }
    bulk.errors.unless(bulk.total.instances_deleted > 0)?;
    Ok(bulk.total)
}

/// A finished root, as a filter selected it.
#[derive(Debug)]
struct SelectedRoot {
    id: String,
    seen: Seen,
}

/// How far a deletion of many roots is.
struct BulkDeletion<'a> {
    store: &'a Store,
    /// What the next selection reads: as many as may still be deleted, behind what stays.
    page: Page,
    errors: BulkErrors<JobError>,
    total: DeleteInstanceResult,
}

impl BulkDeletion<'_> {
    /// Deletes selected roots: all of them in one transaction, or else each by itself.
    async fn delete(&mut self, roots: &[SelectedRoot]) -> Result<(), JobError> {
        if let [_, _, ..] = roots {
            let ids: Vec<String> = roots.iter().map(|root| root.id.clone()).collect();
            let trees = inspect::trees(self.store, &ids).await?;
            if trees.len() <= limits::INSTANCES_PER_DELETION
                && self.delete_together(roots, &trees).await?
            {
                return Ok(());
            }
        }
        for root in roots {
            self.delete_one(root).await?;
        }
        Ok(())
    }

    /// False if nothing was deleted: one of them is gone, runs again or has grown since the
    /// selection, or the call failed.
    async fn delete_together(
        &mut self,
        roots: &[SelectedRoot],
        trees: &[String],
    ) -> Result<bool, JobError> {
        let (deleted, outcome) = self.try_delete(roots, trees).await;
        if deleted.instances_deleted == 0 {
            return Ok(false);
        }
        self.note(roots, deleted, outcome)?;
        Ok(true)
    }

    /// Deletes a root unless it is gone, runs again or has grown since the selection.
    async fn delete_one(&mut self, root: &SelectedRoot) -> Result<(), JobError> {
        let tree = inspect::tree(self.store, &root.id).await?;
        let roots = std::slice::from_ref(root);
        let (deleted, outcome) = self.try_delete(roots, &tree).await;
        if deleted.instances_deleted > 0 {
            return self.note(roots, deleted, outcome);
        }
        match outcome {
            // The next selection does not find it, or finds another one of that id.
            Ok(()) | Err(JobError::Refused(ProviderErrorKind::NotFound, _)) => Ok(()),
            // It runs again, or has grown: that is for the next time.
            Err(JobError::Refused(..)) => {
                self.page.offset += 1;
                Ok(())
            }
            Err(error) => {
                self.page.offset += 1;
                self.errors.failed(&root.id, error)
            }
        }
    }

    async fn try_delete(
        &self,
        roots: &[SelectedRoot],
        trees: &[String],
    ) -> (DeleteInstanceResult, Result<(), JobError>) {
        let roots: Vec<Root<'_>> =
            roots.iter().map(|root| Root { id: &root.id, seen: Some(root.seen) }).collect();
        let deletion =
            Deletion { ids: trees, force: false, unlisted: Unlisted::Refuse, roots: Some(&roots) };
        let mut deleted = DeleteInstanceResult::default();
        let outcome = deletion.count_into(self.store, &mut deleted).await;
        (deleted, outcome)
    }

    /// Roots are deleted. An error then concerns rows that any node removes later.
    fn note(
        &mut self,
        roots: &[SelectedRoot],
        deleted: DeleteInstanceResult,
        outcome: Result<(), JobError>,
    ) -> Result<(), JobError> {
        self.total += deleted;
        self.page.limit -= to_db(roots.len() as u64);
        match (outcome, roots) {
            (Err(error), [root, ..]) => self.errors.failed(&root.id, error),
            (Err(error), []) => Err(error),
            (Ok(()), _) => {
                self.errors.succeeded();
                Ok(())
            }
        }
    }
}

/// Finished roots that a filter selects, oldest first.
async fn deletable_roots(
    store: &Store,
    filter: &InstanceFilter,
    page: Page,
) -> Result<Vec<SelectedRoot>, JobError> {
    let sql =
        "SELECT i.instance_id, i.incarnation, i.current_execution_id FROM {schema}.instances i
         JOIN {schema}.executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE i.parent_instance_id IS NULL
             AND {schema}.instance_status{v}(i.instance_id, e.status)
                 IN ('Completed', 'Failed', 'ContinuedAsNew')
             AND ($1::BIGINT IS NULL OR e.completed_at < $1)
             AND ($2::TEXT[] IS NULL OR i.instance_id = ANY ($2))
         ORDER BY array_position($2, i.instance_id), i.created_at, i.number LIMIT $3 OFFSET $4";
    let rows = select(store, filter, page, sql).await?;
    Ok(rows
        .iter()
        .map(|row| SelectedRoot {
            id: from_stored(row.get("instance_id")),
            seen: Seen {
                incarnation: row.get("incarnation"),
                execution_id: row.get("current_execution_id"),
            },
        })
        .collect())
}
