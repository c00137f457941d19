//! Choosing the instances whose turns a fetch leases.
//!
//! The cost depends on what the caller may lease, not on what waits: the fetch goes from route to
//! route by one probe of the index each, past those of code that the caller does not have, and
//! reads the messages of its own routes only.

use std::collections::{BTreeSet, BinaryHeap, HashSet};
use std::ops::Bound;

use duroxide_core::providers::{FetchFilter, RegisteredOrchestrations};
use rusqlite::{Connection, OptionalExtension, params};
use semver::Version;

use crate::error::JobError;
use crate::queues::{orchestrator_queue, ready_messages};
use crate::schema::number::from_db;
use crate::schema::stored_text::{stored_id, stored_integer};
use crate::write::writer::Tx;
use crate::{limits, suspension};

/// The choice of one fetch, which may take several rounds.
pub(crate) struct Candidates<'a> {
    filter: &'a FetchFilter,
    /// The routes with ready messages that the caller may lease.
    routes: Vec<String>,
    /// Instances of earlier rounds: no fetch leases an instance twice.
    seen: HashSet<String>,
    /// A lease or a suspension has expired.
    has_expired: bool,
}

/// What one round found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) instances: Vec<String>,
    /// It took as many messages as it may, some of them perhaps of one instance: more may be ready.
    pub(crate) is_full: bool,
    /// The round stopped before it had checked every ready message.
    pub(crate) unfinished: bool,
}

/// Leases that have expired.
#[derive(Default)]
struct Expired {
    instances: Vec<String>,
    suspended: Vec<String>,
}

/// A listed message of an instance that is not leased. The order is that of the queue.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ready {
    visible_at: i64,
    id: i64,
    instance: String,
}

impl<'a> Candidates<'a> {
    /// The choice of a caller that can run this.
    pub(crate) fn new(tx: &Tx<'_>, filter: &'a FetchFilter) -> Result<Self, JobError> {
        let (routes, seen) = (Vec::new(), HashSet::new());
        let mut candidates = Self { filter, routes, seen, has_expired: false };
        candidates.read_routes(tx)?;
        Ok(candidates)
    }

    /// Whether a lease or a suspension has expired.
    pub(crate) fn has_expired(&self) -> bool {
        self.has_expired
    }

    fn read_routes(&mut self, tx: &Tx<'_>) -> Result<(), JobError> {
        let conn = tx.conn;
        self.routes.clear();
        let (mut route, last, has_expired): (Option<String>, Option<String>, bool) = conn
            .prepare_cached(ROUTES_SQL)?
            .query_row([tx.now], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        self.has_expired = has_expired;
        for _ in 0..limits::ROUTES_MAX {
            let Some(found) = route else { break };
            // Mostly there is only one.
            route =
                if last.as_ref() == Some(&found) { None } else { self.route_behind(conn, &found)? };
            if self.fits(&found) {
                self.routes.push(found);
            }
        }
        Ok(())
    }

    /// The next route, past all that lie before the next code that the caller has.
    fn route_behind(&self, conn: &Connection, route: &str) -> Result<Option<String>, JobError> {
        let keys = self.filter.orchestrations.as_ref().map(|registered| registered.keys());
        let is_foreign = |keys: &&BTreeSet<String>| {
            let mut before = keys.range::<str, _>((Bound::Unbounded, Bound::Included(route)));
            before.next_back().is_none_or(|key| !route.starts_with(key.as_str()))
        };
        let Some(keys) = keys.filter(is_foreign) else {
            return probe(conn, NEXT_ROUTE_SQL, route);
        };
        let behind = (Bound::Excluded(route), Bound::Unbounded);
        match keys.range::<str, _>(behind).next() {
            Some(key) => probe(conn, ROUTE_FROM_SQL, key),
            None => Ok(None),
        }
    }

    /// Instances that can be locked now: those whose lease has expired come first, then the others
    /// by time of visibility.
    pub(crate) fn next(&mut self, tx: &mut Tx<'_>, wanted: usize) -> Result<Found, JobError> {
        let Expired { mut instances, suspended } =
            if self.has_expired { self.expired(tx, wanted)? } else { Expired::default() };
        // More of them may have expired.
        let mut unfinished = suspended.len() == limits::SUSPENSIONS_ENDED_MAX;
        if !suspended.is_empty() {
            for instance in &suspended {
                suspension::end(tx, instance)?;
            }
            self.read_routes(tx)?;
        }
        let mut ready = BinaryHeap::new();
        for route in &self.routes {
            unfinished |= self.ready_on(tx, route, wanted - instances.len(), &mut ready)?;
        }
        let is_full = instances.len() + ready.len() >= wanted;
        for message in ready.into_sorted_vec() {
            if instances.len() < wanted && self.seen.insert(message.instance.clone()) {
                instances.push(message.instance);
            }
        }
        Ok(Found { instances, is_full, unfinished })
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

    /// Instances whose lease has expired, as few as the turns of nodes that died, and some whose
    /// suspension has. The messages of those are listed as ready: a suspension that no node can
    /// run costs later fetches nothing, and those that can take their turn among the others.
    fn expired(&mut self, tx: &Tx<'_>, wanted: usize) -> Result<Expired, JobError> {
        let mut found = Expired::default();
        let mut statement = tx.conn.prepare_cached(EXPIRED_SQL)?;
        let mut rows = statement.query([tx.now])?;
        while found.instances.len() < wanted
            && found.suspended.len() < limits::SUSPENSIONS_ENDED_MAX
            && let Some(row) = rows.next()?
        {
            // The lease was acquired by this text, so it is one.
            let Some(instance) = stored_id(row, 0)? else { continue };
            if suspension::is_suspension(&row.get::<_, String>(1)?) {
                found.suspended.push(instance);
            } else if self.seen.insert(instance.clone())
                && self.fits(&ready_messages::route_of(tx.conn, &instance)?)
            {
                found.instances.push(instance);
            }
        }
        Ok(found)
    }

    /// Adds the ready messages of one route that are among the oldest `wanted` of all. True if it
    /// stopped before the last.
    fn ready_on(
        &self,
        tx: &Tx<'_>,
        route: &str,
        wanted: usize,
        ready: &mut BinaryHeap<Ready>,
    ) -> Result<bool, JobError> {
        let mut unlisted = Vec::new();
        let mut unreadable = Vec::new();
        let mut statement = tx.conn.prepare_cached(READY_SQL)?;
        let mut rows = statement.query(params![route, tx.now])?;
        let mut added = 0;
        while added < wanted
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
                let message = Ready { visible_at: row.get(1)?, id, instance };
                if ready.len() >= wanted && ready.peek().is_none_or(|last| *last < message) {
                    break;
                }
                ready.push(message);
                added += 1;
                if ready.len() > wanted {
                    ready.pop();
                }
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
        let (code, pin) = ready_messages::parts(route);
        let has_code = |registered: &RegisteredOrchestrations| registered.keys().contains(code);
        // Pins are written from parsed versions. One that cannot be parsed counts as none, so that
        // the instance can continue.
        self.filter.allows_some_turn()
            && self.filter.orchestrations.as_ref().is_none_or(has_code)
            && Version::parse(pin).ok().is_none_or(|pin| self.filter.allows_pin(&pin))
    }
}

fn probe(conn: &Connection, sql: &str, from: &str) -> Result<Option<String>, JobError> {
    Ok(conn.prepare_cached(sql)?.query_row([from], |row| row.get(0)).optional()?)
}

// The first and the last, and whether leases have to be read.
const ROUTES_SQL: &str = "SELECT
     (SELECT min(route) FROM orchestrator_queue INDEXED BY idx_orch_ready WHERE route IS NOT NULL),
     (SELECT max(route) FROM orchestrator_queue INDEXED BY idx_orch_ready WHERE route IS NOT NULL),
     EXISTS (SELECT 1 FROM instance_locks INDEXED BY idx_locks_until WHERE locked_until <= ?1)";

const NEXT_ROUTE_SQL: &str = "SELECT route FROM orchestrator_queue INDEXED BY idx_orch_ready
     WHERE route > ?1 ORDER BY route LIMIT 1";

const ROUTE_FROM_SQL: &str = "SELECT route FROM orchestrator_queue INDEXED BY idx_orch_ready
     WHERE route >= ?1 ORDER BY route LIMIT 1";

// A damaged time that is no whole number must not make every fetch fail.
pub(crate) const READY_SQL: &str =
    "SELECT q.id, CAST(q.visible_at AS INTEGER), q.instance_id, EXISTS (
         SELECT 1 FROM instance_locks l
         WHERE l.instance_id = q.instance_id AND l.locked_until > ?2)
     FROM orchestrator_queue q INDEXED BY idx_orch_ready
     WHERE q.route = ?1 AND q.visible_at <= ?2 ORDER BY q.visible_at, q.id";

// Leased messages are not listed as ready; they are found through their lease.
pub(crate) const EXPIRED_SQL: &str =
    "SELECT l.instance_id, l.lock_token FROM instance_locks l INDEXED BY idx_locks_until
     WHERE l.locked_until <= ?1 AND EXISTS (
         SELECT 1 FROM orchestrator_queue q INDEXED BY idx_orch_instance
         WHERE q.instance_id = l.instance_id AND q.parked = 0 AND q.visible_at <= ?1)
     ORDER BY l.locked_until, l.instance_id";

const NEXT_EXPIRY_SQL: &str =
    "SELECT CAST(min(locked_until) AS INTEGER) FROM instance_locks INDEXED BY idx_locks_until
     WHERE locked_until > ?1";

const NEXT_VISIBLE_SQL: &str =
    "SELECT CAST(min(visible_at) AS INTEGER) FROM orchestrator_queue INDEXED BY idx_orch_ready
     WHERE route = ?1 AND visible_at > ?2";
