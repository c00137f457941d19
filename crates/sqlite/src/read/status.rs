//! The status of an instance, as every listing, count and deletion sees it.

/// The status of instance `i`, whose current execution is `e`, in SQL.
///
/// An execution that continued as new has ended, but its instance runs while the start of the next
/// execution is queued.
macro_rules! instance_status {
    () => {
        "(CASE WHEN e.status = 'ContinuedAsNew' AND EXISTS (
             SELECT 1 FROM orchestrator_queue q
             WHERE q.instance_id = i.instance_id
                 AND substr(q.work_item, 1, 16) = '{\"ContinueAsNew\"')
         THEN 'Running' ELSE e.status END)"
    };
}

pub(crate) use instance_status;
