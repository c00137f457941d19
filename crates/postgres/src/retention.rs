//! Deleting instances and pruning executions.

use std::collections::HashSet;

use duroxide_core::providers::kit::BulkErrors;
use duroxide_core::providers::{
    DeleteInstanceResult, InstanceFilter, ProviderErrorKind, PruneOptions, PruneResult,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::deletion::{Deletion, Root, Unlisted};
use crate::error::JobError;
use crate::read::inspect;
use crate::schema::call::Argument;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{from_stored, stored, to_stored};
use crate::store::Store;
use crate::{deletion_slices, limits};

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
        let roots = [Root { id: instance, seen: None }];
        let call = Deletion { ids: &tree, force, unlisted, roots: Some(&roots) };
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
    let Some(deletion) = deletion_slices::claim_abandoned(store, instance).await? else {
        return delete_parked(store, instance).await;
    };
    let mut total = DeleteInstanceResult::default();
    deletion_slices::finish(store, deletion, &mut total).await?;
    Ok(Some(total))
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

/// Deletes exactly these instances, all or none. A long list is checked as a whole and then deleted
/// in slices, parents first: what a parent has started goes with it, even if the caller dies.
/// Without force, the check keeps all of them from running until they are deleted.
pub(crate) async fn delete_listed(
    store: &Store,
    ids: &[String],
    force: bool,
) -> Result<DeleteInstanceResult, JobError> {
    Deletion { ids, force, unlisted: Unlisted::Refuse, roots: None }.run(store).await
}

/// The refusal to delete an instance that runs.
pub(crate) fn still_running(id: &str) -> JobError {
    JobError::refused(
        ProviderErrorKind::StillRunning,
        format!("Instance {id} is still running. Cancel it first, or use force to delete it."),
    )
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
    let limit = filter.limit.unwrap_or(limits::BULK_INSTANCES_DEFAULT);
    let rows = select(store, filter, Page { limit: i64::from(limit), offset: 0 }, sql).await?;
    Ok(rows.iter().map(|row| from_stored(row.get("instance_id"))).collect())
}

/// A part of what a filter selects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub(crate) limit: i64,
    pub(crate) offset: i64,
}

/// Runs a selection: its parameters are a time, ids, a limit and an offset.
pub(crate) async fn select(
    store: &Store,
    filter: &InstanceFilter,
    page: Page,
    sql: &'static str,
) -> Result<Vec<Row>, JobError> {
    let before = filter.completed_before.map(to_db);
    let ids = filter.instance_ids.as_ref().map(|ids| {
        let mut seen = HashSet::new();
        let once = ids.iter().filter(|id| seen.insert(id.as_str()));
        once.map(|id| stored(id)).collect::<Vec<String>>()
    });
    store.query(sql, &[&before, &ids, &page.limit, &page.offset]).await
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
        let mut rest = DeleteInstanceResult::default();
        deletion_slices::finish(store, deletion, &mut rest).await?;
        total.events_deleted += rest.events_deleted;
    }
    Ok(total)
}
