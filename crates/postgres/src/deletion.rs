//! One deletion of instances, all or none.

use duroxide_core::clock::millis;
use duroxide_core::providers::{DeleteInstanceResult, ProviderErrorKind};
use uuid::Uuid;

use crate::error::JobError;
use crate::notify::change::Changes;
use crate::read::{family, inspect};
use crate::retention::still_running;
use crate::schema::call::Argument;
use crate::schema::number::to_db;
use crate::schema::stored_text::{from_stored, stored};
use crate::store::Store;
use crate::{deletion_slices, limits, reservation};

/// Children of listed instances that are not listed themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unlisted {
    Refuse,
    Delete,
}

/// The root of a tree that is to be deleted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Root<'a> {
    pub(crate) id: &'a str,
    /// Another incarnation or execution is not deleted.
    pub(crate) seen: Option<Seen>,
}

/// What of an id a caller has seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) incarnation: i64,
    pub(crate) execution_id: i64,
}

/// A deletion of instances, all or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deletion<'a> {
    pub(crate) ids: &'a [String],
    pub(crate) force: bool,
    pub(crate) unlisted: Unlisted,
    /// The listed ids are the trees of these; `None` if they are just listed. If one of them is
    /// gone, or another one by now, nothing is deleted: it is not found.
    pub(crate) roots: Option<&'a [Root<'a>]>,
}

impl Deletion<'_> {
    pub(crate) async fn run(self, store: &Store) -> Result<DeleteInstanceResult, JobError> {
        let mut total = DeleteInstanceResult::default();
        self.count_into(store, &mut total).await?;
        Ok(total)
    }

    /// Adds what is deleted to `total`. After an error that is what disappeared before it: the rest
    /// of its rows is removed by any node.
    pub(crate) async fn count_into(
        self,
        store: &Store,
        total: &mut DeleteInstanceResult,
    ) -> Result<(), JobError> {
        let Self { ids, force, unlisted, roots } = self;
        let deletion = Uuid::new_v4();
        let mut unfinished = false;
        if ids.len() <= limits::INSTANCES_PER_DELETION {
            unfinished = self.hide(store, deletion, total).await?;
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
                let roots = roots.map(|roots| if number == 0 { roots } else { &[] });
                let part = Deletion { ids, force, unlisted: Unlisted::Delete, roots };
                let hidden = part.hide(store, deletion, total).await;
                if matches!(hidden, Err(JobError::Refused(..))) && number == 0 {
                    reservation::release(store, &family.parents_first, deletion).await;
                }
                unfinished |= hidden?;
            }
        }
        if unfinished {
            deletion_slices::finish(store, deletion, total).await?;
        }
        Ok(())
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
        let roots = self.roots.map(|roots| roots.iter().map(|root| stored(root.id)).collect());
        let seen = |part: fn(Seen) -> i64| -> Vec<Option<i64>> {
            self.roots.unwrap_or_default().iter().map(|root| root.seen.map(part)).collect()
        };
        let arguments: [Argument<'_>; 10] = [
            ("p_now", &store.now()),
            ("p_ids", &stored_ids),
            ("p_roots", &(roots as Option<Vec<String>>)),
            ("p_incarnations", &seen(|seen| seen.incarnation)),
            ("p_executions", &seen(|seen| seen.execution_id)),
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
        let text = |column: &str| row.get::<_, Option<String>>(column).map(from_stored);
        if let Some(root) = text("o_gone") {
            return Err(inspect::not_found(&root));
        }
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
