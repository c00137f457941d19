//! Choosing the instances whose turns a fetch leases.
//!
//! The cost depends on what the caller may lease, not on what waits: the fetch goes from route to
//! route by one probe of the index each, and reads the messages of its own routes only.

use std::collections::HashSet;

use duroxide_core::providers::DispatcherCapabilityFilter;
use rusqlite::{Connection, OptionalExtension, params};
use semver::Version;

use crate::error::JobError;
use crate::limits;
use crate::queues::{orchestrator_queue, ready_messages};
use crate::schema::number::from_db;
use crate::schema::stored_text::{stored_id, stored_integer};
use crate::write::writer::Tx;

/// The choice of one fetch, which may take several rounds.
pub(crate) struct Candidates<'a> {
    filter: Option<&'a DispatcherCapabilityFilter>,
    /// The routes with ready messages that the caller may lease.
    routes: Vec<String>,
    /// Instances of earlier rounds: no fetch leases an instance twice.
    seen: HashSet<String>,
}

/// What one round found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) instances: Vec<String>,
    /// The round stopped before it had checked every ready message.
    pub(crate) unfinished: bool,
}

/// A listed message of an instance that is not leased.
struct Ready {
    visible_at: i64,
    id: i64,
    instance: String,
}

impl<'a> Candidates<'a> {
    /// The choice of a caller that can replay these versions.
    pub(crate) fn new(
        conn: &Connection,
        filter: Option<&'a DispatcherCapabilityFilter>,
    ) -> Result<Self, JobError> {
        let mut candidates = Self { filter, routes: Vec::new(), seen: HashSet::new() };
        let (mut route, last): (Option<String>, Option<String>) =
            conn.prepare_cached(ROUTES_SQL)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for _ in 0..limits::ROUTES_MAX {
            let Some(found) = route else { break };
            // Mostly there is only one.
            route = if last.as_ref() == Some(&found) { None } else { route_after(conn, &found)? };
            if candidates.fits(&found) {
                candidates.routes.push(found);
            }
        }
        Ok(candidates)
    }

    /// Instances that can be locked now: those whose lease has expired come first, then the others
    /// by time of visibility.
    pub(crate) fn next(&mut self, tx: &Tx<'_>, wanted: usize) -> Result<Found, JobError> {
        if wanted == 0 {
            return Ok(Found::default());
        }
        let mut instances = self.expired(tx, wanted)?;
        let mut ready = Vec::new();
        let mut unfinished = false;
        for route in &self.routes {
            unfinished |= self.ready_on(tx, route, wanted - instances.len(), &mut ready)?;
        }
        ready.sort_unstable_by_key(|message| (message.visible_at, message.id));
        for message in ready {
            if instances.len() < wanted && self.seen.insert(message.instance.clone()) {
                instances.push(message.instance);
            }
        }
        Ok(Found { instances, unfinished })
    }

    /// When a message of these routes becomes visible, or any lease expires.
    pub(crate) fn next_due(&self, tx: &Tx<'_>) -> Result<Option<u64>, JobError> {
        let mut due = tx
            .conn
            .prepare_cached(NEXT_EXPIRY_SQL)?
            .query_row([tx.now], |row| stored_integer(row, 0))?;
        let mut statement = tx.conn.prepare_cached(NEXT_VISIBLE_SQL)?;
        for route in &self.routes {
            let visible = statement.query_row(params![route, tx.now], |r| stored_integer(r, 0))?;
            due = due.into_iter().chain(visible).min();
        }
        Ok(due.map(from_db))
    }

    /// Instances whose lease has expired. They are as few as the turns of nodes that died.
    fn expired(&mut self, tx: &Tx<'_>, wanted: usize) -> Result<Vec<String>, JobError> {
        let mut found = Vec::new();
        let mut statement = tx.conn.prepare_cached(EXPIRED_SQL)?;
        let mut rows = statement.query([tx.now])?;
        while found.len() < wanted
            && let Some(row) = rows.next()?
        {
            // The lease was acquired by this text, so it is one.
            let Some(instance) = stored_id(row, 0)? else { continue };
            if self.seen.insert(instance.clone())
                && self.fits(&ready_messages::route_of(tx.conn, &instance)?)
            {
                found.push(instance);
            }
        }
        Ok(found)
    }

    /// Adds up to `wanted` ready messages of one route, the oldest first. True if it stopped before
    /// the last.
    fn ready_on(
        &self,
        tx: &Tx<'_>,
        route: &str,
        wanted: usize,
        ready: &mut Vec<Ready>,
    ) -> Result<bool, JobError> {
        let wanted = ready.len() + wanted;
        let mut unlisted = Vec::new();
        let mut unreadable = Vec::new();
        let mut statement = tx.conn.prepare_cached(READY_SQL)?;
        let mut rows = statement.query(params![route, tx.now])?;
        while ready.len() < wanted
            && unlisted.len() < limits::UNLISTED_PER_ROUND_MAX
            && let Some(row) = rows.next()?
        {
            let id = row.get(0)?;
            let Some(instance) = stored_id(row, 2)? else {
                unreadable.push(id);
                continue;
            };
            if row.get(3)? {
                unlisted.push(id);
            } else if !self.seen.contains(&instance) {
                ready.push(Ready { visible_at: row.get(1)?, id, instance });
            }
        }
        drop(rows);
        let unfinished = unlisted.len() == limits::UNLISTED_PER_ROUND_MAX;
        for message in unlisted {
            ready_messages::unlist(tx.conn, message)?;
        }
        for message in unreadable {
            orchestrator_queue::park_unreadable(tx, message)?;
        }
        Ok(unfinished)
    }

    /// Whether the caller may lease what has this route.
    fn fits(&self, route: &str) -> bool {
        let Some(filter) = self.filter else { return true };
        if filter.supported_duroxide_versions.is_empty() {
            return false;
        }
        // Pins are written from parsed versions. One that cannot be parsed counts as none, so that
        // the instance can continue.
        Version::parse(route).ok().is_none_or(|pin| filter.is_compatible(&pin))
    }
}

fn route_after(conn: &Connection, route: &str) -> Result<Option<String>, JobError> {
    Ok(conn.prepare_cached(NEXT_ROUTE_SQL)?.query_row([route], |row| row.get(0)).optional()?)
}

// The first and the last.
const ROUTES_SQL: &str = "SELECT
     (SELECT min(route) FROM orchestrator_queue INDEXED BY idx_orch_ready WHERE route IS NOT NULL),
     (SELECT max(route) FROM orchestrator_queue INDEXED BY idx_orch_ready WHERE route IS NOT NULL)";

const NEXT_ROUTE_SQL: &str = "SELECT route FROM orchestrator_queue INDEXED BY idx_orch_ready
     WHERE route > ?1 ORDER BY route LIMIT 1";

pub(crate) const READY_SQL: &str = "SELECT q.id, q.visible_at, q.instance_id, EXISTS (
         SELECT 1 FROM instance_locks l
         WHERE l.instance_id = q.instance_id AND l.locked_until > ?2)
     FROM orchestrator_queue q INDEXED BY idx_orch_ready
     WHERE q.route = ?1 AND q.visible_at <= ?2 ORDER BY q.visible_at, q.id";

// Leased messages are not listed as ready; they are found through their lease.
pub(crate) const EXPIRED_SQL: &str =
    "SELECT l.instance_id FROM instance_locks l INDEXED BY idx_locks_until
     WHERE l.locked_until <= ?1 AND EXISTS (
         SELECT 1 FROM orchestrator_queue q INDEXED BY idx_orch_instance
         WHERE q.instance_id = l.instance_id AND q.parked = 0 AND q.visible_at <= ?1)
     ORDER BY l.locked_until, l.instance_id";

const NEXT_EXPIRY_SQL: &str =
    "SELECT min(locked_until) FROM instance_locks INDEXED BY idx_locks_until
     WHERE locked_until > ?1";

const NEXT_VISIBLE_SQL: &str =
    "SELECT min(visible_at) FROM orchestrator_queue INDEXED BY idx_orch_ready
     WHERE route = ?1 AND visible_at > ?2";
