//! Deleting instances and pruning executions.

use std::collections::HashSet;

use duroxide_core::clock::millis;
use duroxide_core::providers::kit::BulkErrors;
use duroxide_core::providers::{
    DeleteInstanceResult, InstanceFilter, ProviderErrorKind, PruneOptions, PruneResult,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::JobError;
use crate::notify::change::Changes;
use crate::read::{family, inspect};
use crate::schema::call::Argument;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{from_stored, stored, to_stored};
use crate::store::Store;
use crate::{deletion_slices, limits, reservation};

/// Deletes a root instance with its tree.
///
/// An id that was never an instance can be deleted if messages are parked for it.
pub(crate) async fn delete_root(
    store: &Store,
    instance: &str,
    force: bool,
) -> Result<DeleteInstanceResult, JobError> {
    let parent = match inspect::parent(store, instance).await {
        Ok(parent) => parent,
        Err(error) => return delete_rest(store, instance).await?.ok_or(error),
    };
    if parent.is_some() {
        return Err(JobError::refused(
            ProviderErrorKind::NotRoot,
            format!(
                "Cannot delete sub-orchestration {instance} directly. Delete root instance instead."
            ),
        ));
    }
    let mut attempt = 1;
    loop {
        let tree = inspect::tree(store, instance).await?;
        // By force, children that are started meanwhile are deleted with their parents.
        let unlisted = if force { Unlisted::Delete } else { Unlisted::Refuse };
        let call = Deletion { ids: &tree, force, unlisted, root: Some(instance) };
        match call.run(store).await {
            Err(JobError::Refused(ProviderErrorKind::Conflict, _))
                if attempt < limits::GROWN_TREES_MAX =>
            {
                attempt += 1;
            }
            outcome => return outcome,
        }
    }
}

/// Deletes what is left of an id without an instance: of a deletion whose caller died, or messages
/// that are parked for it. A deletion that goes on belongs to its caller.
async fn delete_rest(
    store: &Store,
    instance: &str,
) -> Result<Option<DeleteInstanceResult>, JobError> {
    match deletion_slices::claim_abandoned(store, instance).await? {
        Some(deletion) => deletion_slices::finish(store, deletion).await.map(Some),
        None => delete_parked(store, instance).await,
    }
}

async fn delete_parked(
    store: &Store,
    instance: &str,
) -> Result<Option<DeleteInstanceResult>, JobError> {
    let sql = "DELETE FROM {schema}.orchestrator_queue WHERE instance_id = $1 AND parked
         RETURNING 1";
    let deleted = store.change(sql, &[&to_stored(instance)]).await?.len();
    Ok((deleted > 0).then(|| DeleteInstanceResult {
        queue_messages_deleted: u64::try_from(deleted).unwrap_or(u64::MAX),
        ..DeleteInstanceResult::default()
    }))
}

/// Children of listed instances that are not listed themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unlisted {
    Refuse,
    Delete,
}

/// Deletes exactly these instances, all or none. A long list is checked as a whole and then deleted
/// in slices, parents first: what a parent has started goes with it, even if the caller dies.
/// Without force, the check keeps all of them from running until they are deleted.
pub(crate) async fn delete_listed(
    store: &Store,
    ids: &[String],
    force: bool,
) -> Result<DeleteInstanceResult, JobError> {
    Deletion { ids, force, unlisted: Unlisted::Refuse, root: None }.run(store).await
}

/// A deletion of instances, all or none.
#[derive(Clone, Copy)]
struct Deletion<'a> {
    ids: &'a [String],
    force: bool,
    unlisted: Unlisted,
    /// Of several deletions of this one at the same time, the others fail: it is not found.
    root: Option<&'a str>,
}

impl Deletion<'_> {
    async fn run(self, store: &Store) -> Result<DeleteInstanceResult, JobError> {
        let Self { ids, force, unlisted, root } = self;
        let deletion = Uuid::new_v4();
        let mut total = DeleteInstanceResult::default();
        let mut unfinished = false;
        if ids.len() <= limits::INSTANCES_PER_DELETION {
            unfinished = self.hide(store, deletion, &mut total).await?;
        } else {
            let family = family::read(store, ids).await?;
            let running = family.running.filter(|_| !force);
            let child = family.unlisted_child.filter(|_| unlisted == Unlisted::Refuse);
            if let Some(refusal) = refusal(ids, running, child) {
                return Err(refusal);
            }
            if !force {
                reservation::reserve(store, &family.parents_first, deletion).await?;
            }
            let parts = family.parents_first.chunks(limits::INSTANCES_PER_DELETION);
            for (number, ids) in parts.enumerate() {
                // The first part holds the root.
                let root = root.filter(|_| number == 0);
                let part = Deletion { ids, force, unlisted: Unlisted::Delete, root };
                let hidden = part.hide(store, deletion, &mut total).await;
                if matches!(hidden, Err(JobError::Refused(..))) && number == 0 {
                    reservation::release(store, &family.parents_first, deletion).await;
                }
                unfinished |= hidden?;
            }
        }
        if unfinished {
            total += deletion_slices::finish(store, deletion).await?;
        }
        Ok(total)
    }

    /// In one transaction, makes the instances disappear and removes what a slice allows; true if
    /// rows are left.
    async fn hide(
        self,
        store: &Store,
        deletion: Uuid,
        total: &mut DeleteInstanceResult,
    ) -> Result<bool, JobError> {
        let stored_ids: Vec<String> = self.ids.iter().map(|id| stored(id)).collect();
        let arguments: [Argument<'_>; 8] = [
            ("p_now", &store.now()),
            ("p_ids", &stored_ids),
            ("p_root", &self.root.map(stored)),
            ("p_force", &self.force),
            ("p_cascade", &(self.unlisted == Unlisted::Delete)),
            ("p_deletion", &deletion),
            ("p_window", &deletion_slices::message_id_window()),
            ("p_slice", &to_db(millis(limits::DELETION_SLICE))),
        ];
        let rows = store.call("delete_instances", &arguments).await?;
        let Some(row) = rows.first() else {
            return Err(JobError::Broken("delete_instances returned no row".to_owned()));
        };
        if let Some(root) = self.root
            && row.get::<_, Option<bool>>("o_gone") == Some(true)
        {
            return Err(inspect::not_found(root));
        }
        let text = |column: &str| row.get::<_, Option<String>>(column).map(from_stored);
        let refusal = refusal(self.ids, text("o_running"), text("o_parent").zip(text("o_child")));
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        *total += deletion_slices::counts(row);
        let mut changes = Changes::default();
        changes.work_locks();
        if row.get("o_freed") {
            // Another instance of that id may start.
            changes.orchestrator_queue();
        }
        for id in self.ids {
            changes.instance(id);
        }
        store.publish(changes);
        Ok(row.get("o_unfinished"))
    }
}

/// Why nothing was deleted: the first reason in the order of the list.
fn refusal(
    ids: &[String],
    running: Option<String>,
    child: Option<(String, String)>,
) -> Option<JobError> {
    let place = |id: &String| ids.iter().position(|listed| listed == id);
    let running_first = match (&running, &child) {
        (Some(running), Some((parent, _))) => place(running) <= place(parent),
        (running, _) => running.is_some(),
    };
    if running_first {
        return running.map(|id| still_running(&id));
    }
    let (id, child) = child?;
    Some(JobError::refused(
        ProviderErrorKind::Conflict,
        format!(
            "Instance {id} has child {child} that was created after tree traversal. Re-fetch the \
             tree and retry."
        ),
    ))
}

/// The refusal to delete an instance that runs.
pub(crate) fn still_running(id: &str) -> JobError {
    JobError::refused(
        ProviderErrorKind::StillRunning,
        format!("Instance {id} is still running. Cancel it first, or use force to delete it."),
    )
}

/// Deletes finished roots that a filter selects, each with its tree and by itself. Passes over a
/// root that cannot be deleted.
pub(crate) async fn delete_bulk(
    store: &Store,
    filter: &InstanceFilter,
) -> Result<DeleteInstanceResult, JobError> {
    let mut page = Page::of(filter);
    let mut errors = BulkErrors::default();
    let mut total = DeleteInstanceResult::default();
    while page.limit > 0 {
        let roots = deletable_roots(store, filter, page).await?;
        if roots.is_empty() {
            break;
        }
        for roots in roots.chunks(limits::ROOTS_PER_DELETION) {
            // All of them in one transaction, if none refuses.
            if let Some(deleted) = delete_roots(store, roots).await? {
                total += deleted;
                errors.succeeded();
                page.limit -= to_db(roots.len() as u64);
                continue;
            }
            for root in roots {
                match delete_if_finished(store, root).await {
                    Ok(deleted) if deleted.instances_deleted > 0 => {
                        total += deleted;
                        errors.succeeded();
                        page.limit -= 1;
                    }
                    Ok(_) => page.offset += 1,
                    Err(error) => {
                        page.offset += 1;
                        errors.failed(root, error)?;
                    }
                }
            }
        }
    }
    errors.unless(total.instances_deleted > 0)?;
    Ok(total)
}

/// Prunes instances that a filter selects. Passes over one that cannot be pruned.
pub(crate) async fn prune_bulk(
    store: &Store,
    filter: &InstanceFilter,
    options: &PruneOptions,
) -> Result<PruneResult, JobError> {
    let mut errors = BulkErrors::default();
    let mut total = PruneResult::default();
    for instance in prunable_instances(store, filter).await? {
        match prune(store, &instance, options).await {
            Ok(pruned) => {
                total += pruned;
                errors.succeeded();
            }
            Err(error) => errors.failed(&instance, error)?,
        }
    }
    errors.unless(total.instances_processed > 0)?;
    Ok(total)
}

/// A part of what a filter selects.
#[derive(Debug, Clone, Copy)]
struct Page {
    limit: i64,
    offset: i64,
}

impl Page {
    fn of(filter: &InstanceFilter) -> Self {
        Self { limit: i64::from(filter.limit.unwrap_or(limits::BULK_INSTANCES_DEFAULT)), offset: 0 }
    }
}

/// Finished roots that a filter selects, oldest first.
async fn deletable_roots(
    store: &Store,
    filter: &InstanceFilter,
    page: Page,
) -> Result<Vec<String>, JobError> {
    let sql = "SELECT i.instance_id FROM {schema}.instances i
         JOIN {schema}.executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE i.parent_instance_id IS NULL
             AND {schema}.instance_status{v}(i.instance_id, e.status)
                 IN ('Completed', 'Failed', 'ContinuedAsNew')
             AND ($1::BIGINT IS NULL OR e.completed_at < $1)
             AND ($2::TEXT[] IS NULL OR i.instance_id = ANY ($2))
         ORDER BY array_position($2, i.instance_id), i.created_at, i.number LIMIT $3 OFFSET $4";
    select(store, filter, page, sql).await
}

/// Instances that a filter selects, whatever their status.
async fn prunable_instances(
    store: &Store,
    filter: &InstanceFilter,
) -> Result<Vec<String>, JobError> {
    let sql = "SELECT i.instance_id FROM {schema}.instances i
         JOIN {schema}.executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE ($1::BIGINT IS NULL OR e.completed_at < $1
                 AND {schema}.instance_status{v}(i.instance_id, e.status) <> 'Running')
             AND ($2::TEXT[] IS NULL OR i.instance_id = ANY ($2))
         ORDER BY array_position($2, i.instance_id), i.created_at, i.number LIMIT $3 OFFSET $4";
    select(store, filter, Page::of(filter), sql).await
}

async fn select(
    store: &Store,
    filter: &InstanceFilter,
    page: Page,
    sql: &'static str,
) -> Result<Vec<String>, JobError> {
    let before = filter.completed_before.map(to_db);
    let ids = filter.instance_ids.as_ref().map(|ids| {
        let mut seen = HashSet::new();
        let once = ids.iter().filter(|id| seen.insert(id.as_str()));
        once.map(|id| stored(id)).collect::<Vec<String>>()
    });
    let rows = store.query(sql, &[&before, &ids, &page.limit, &page.offset]).await?;
    Ok(rows.iter().map(|row| from_stored(row.get("instance_id"))).collect())
}

/// Deletes selected roots with their trees; `None` if one of them runs again or has grown since the
/// selection, if they are too many, or if the call failed: then each is deleted alone.
async fn delete_roots(
    store: &Store,
    roots: &[String],
) -> Result<Option<DeleteInstanceResult>, JobError> {
    if let [_only] = roots {
        return Ok(None);
    }
    let ids = inspect::trees(store, roots).await?;
    if ids.len() > limits::INSTANCES_PER_DELETION {
        return Ok(None);
    }
    Ok(delete_listed(store, &ids, false).await.ok())
}

/// Deletes a selected root unless it is gone or runs again since the selection.
async fn delete_if_finished(store: &Store, root: &str) -> Result<DeleteInstanceResult, JobError> {
    let tree = inspect::tree(store, root).await?;
    match delete_listed(store, &tree, false).await {
        // It runs again, or has grown: that is for the next time.
        Err(JobError::Refused(..)) => Ok(DeleteInstanceResult::default()),
        outcome => outcome,
    }
}

/// Deletes old executions of a known instance, never the current or a running one.
pub(crate) async fn prune(
    store: &Store,
    instance: &str,
    options: &PruneOptions,
) -> Result<PruneResult, JobError> {
    let keep = i64::from(options.keep_last.unwrap_or(0));
    let deletion = Uuid::new_v4();
    let arguments: [Argument<'_>; 6] = [
        ("p_instance", &to_stored(instance)),
        ("p_keep_last", &keep),
        ("p_completed_before", &options.completed_before.map(to_db)),
        ("p_executions_max", &limits::EXECUTIONS_PER_PRUNING),
        ("p_rows_max", &limits::ROWS_PER_PRUNING),
        ("p_deletion", &deletion),
    ];
    let mut total = PruneResult { instances_processed: 1, ..PruneResult::default() };
    let (mut unfinished, mut hidden) = (true, false);
    while unfinished {
        let rows = store.call("prune_executions", &arguments).await?;
        let number = |row: &Row, column| row.get::<_, Option<i64>>(column);
        let counts =
            rows.first().and_then(|row| number(row, "o_executions").zip(number(row, "o_events")));
        let (executions, events) = counts.ok_or_else(|| inspect::not_found(instance))?;
        total.executions_deleted += from_db(executions);
        total.events_deleted += from_db(events);
        let flag = |column| rows.first().and_then(|row| row.get(column)) == Some(true);
        unfinished = flag("o_unfinished");
        hidden |= flag("o_hidden");
    }
    if hidden {
        total.events_deleted += deletion_slices::finish(store, deletion).await?.events_deleted;
    }
    Ok(total)
}
