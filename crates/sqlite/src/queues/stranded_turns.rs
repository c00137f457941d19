//! Turns that no node may fetch, as operators see them.
//!
//! The cost depends on what is stranded, not on what waits: the list goes from route to route by
//! one probe of the index each, and reads the messages of stranded routes only.

use duroxide_core::providers::kit::TurnPlace;
use duroxide_core::providers::{NeededCode, StrandedTurnQuery, StrandedTurns, WaitingTurn};
use rusqlite::{Connection, OptionalExtension, params};
use semver::Version;

use crate::error::JobError;
use crate::limits;
use crate::queues::ready_messages;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{stored_id, stored_integer};

/// Turns that no node of the query may fetch.
pub(crate) fn turns(
    conn: &Connection,
    now: u64,
    query: &StrandedTurnQuery,
) -> Result<StrandedTurns, JobError> {
    if query.limit == 0 || query.after.is_none() && !are_possible(conn, to_db(now))? {
        return Ok(StrandedTurns::default());
    }
    let mut page = Page { conn, now: to_db(now), query, turns: Vec::new() };
    let next = match TurnPlace::behind(query.after.as_ref())? {
        TurnPlace::Late { until, instance } => match page.read_late(until, &instance)? {
            Some(next) => Some(next),
            None => page.read_routes(None)?,
        },
        TurnPlace::Ready { route, visible_at, number } => {
            // A route that is not text is none of ours.
            let route = String::from_utf8_lossy(&route).into_owned();
            page.read_routes(Some((route, visible_at, number)))?
        }
    };
    let next = next.map(|place| place.cursor()).transpose()?;
    Ok(StrandedTurns::new(page.turns, next))
}

/// Whether any turn waits; mostly none does.
fn are_possible(conn: &Connection, now: i64) -> Result<bool, JobError> {
    Ok(conn.prepare_cached(POSSIBLE_SQL)?.query_row([now], |row| row.get(0))?)
}

struct Page<'a> {
    conn: &'a Connection,
    now: i64,
    query: &'a StrandedTurnQuery,
    turns: Vec<WaitingTurn>,
}

impl Page<'_> {
    /// Reads turns whose lease has expired; returns where the list goes on if it stops among them.
    fn read_late(&mut self, until: i64, instance: &str) -> Result<Option<TurnPlace>, JobError> {
        let limit = limits::LATE_TURNS_PER_READ;
        let mut statement = self.conn.prepare_cached(LATE_SQL)?;
        let mut rows = statement.query(params![self.now, until, instance, limit])?;
        let (mut read, mut last) = (0, None);
        while !self.is_full()
            && let Some(row) = rows.next()?
        {
            read += 1;
            let until: i64 = row.get(0)?;
            let Some(instance) = stored_id(row, 1)? else { continue };
            let needs = Needs::of(&ready_messages::route_of(self.conn, &instance)?);
            self.add(&needs, &instance, until, stored_integer(row, 2)?);
            last = Some(TurnPlace::Late { until, instance });
        }
        Ok(last.filter(|_| self.is_full() || read == limit))
    }

    /// Reads ready turns from a place on; returns where the list goes on if it stops.
    fn read_routes(
        &mut self,
        from: Option<(String, i64, i64)>,
    ) -> Result<Option<TurnPlace>, JobError> {
        let (mut route, mut behind) = match from {
            Some((route, visible_at, number)) => (Some(route), (visible_at, number)),
            None => (self.probe(FIRST_ROUTE_SQL, "")?, FIRST_MESSAGE),
        };
        for _ in 0..limits::STRANDED_ROUTES_PER_READ {
            let Some(found) = route else { return Ok(None) };
            let needs = Needs::of(&found);
            if self.query.strands(needs.code.as_ref(), needs.pin.as_ref())
                && let Some(place) = self.read_route(&found, &needs, behind)?
            {
                return Ok(Some(place));
            }
            let next = self.probe(NEXT_ROUTE_SQL, &found)?;
            if next.is_none() {
                return Ok(None);
            }
            (route, behind) = (next, FIRST_MESSAGE);
        }
        Ok(route.map(|route| TurnPlace::Ready {
            route: route.into_bytes(),
            visible_at: FIRST_MESSAGE.0,
            number: FIRST_MESSAGE.1,
        }))
    }

    fn read_route(
        &mut self,
        route: &str,
        needs: &Needs,
        (visible_at, number): (i64, i64),
    ) -> Result<Option<TurnPlace>, JobError> {
        let mut statement = self.conn.prepare_cached(STRANDED_SQL)?;
        let mut rows = statement.query(params![route, self.now, visible_at, number])?;
        while let Some(row) = rows.next()? {
            let (number, visible_at): (i64, i64) = (row.get(0)?, row.get(1)?);
            // A fetch sets a message of a damaged instance aside.
            let Some(instance) = stored_id(row, 2)? else { continue };
            self.add(needs, &instance, visible_at, stored_integer(row, 3)?);
            if self.is_full() {
                let route = route.as_bytes().to_vec();
                return Ok(Some(TurnPlace::Ready { route, visible_at, number }));
            }
        }
        Ok(None)
    }

    fn add(&mut self, needs: &Needs, instance: &str, since: i64, execution_id: Option<i64>) {
        let Needs { code, pin } = needs.clone();
        if self.query.strands(code.as_ref(), pin.as_ref()) {
            let turn = WaitingTurn::new(instance, from_db(since))
                .with_execution_id(execution_id.map(from_db))
                .with_needs(code, pin);
            self.turns.push(turn);
        }
    }

    fn is_full(&self) -> bool {
        self.turns.len() >= self.query.limit as usize
    }

    fn probe(&self, sql: &str, from: &str) -> Result<Option<String>, JobError> {
        Ok(self.conn.prepare_cached(sql)?.query_row([from], |row| row.get(0)).optional()?)
    }
}

/// What the turns of a route need.
#[derive(Clone)]
pub(super) struct Needs {
    pub(super) code: Option<NeededCode>,
    pub(super) pin: Option<Version>,
}

impl Needs {
    pub(super) fn of(route: &str) -> Self {
        let (code, pin) = ready_messages::parts(route);
        Self { code: NeededCode::from_key(code), pin: Version::parse(pin).ok() }
    }
}

/// Before every message of a route.
const FIRST_MESSAGE: (i64, i64) = (i64::MIN, i64::MIN);

const POSSIBLE_SQL: &str = "SELECT EXISTS (
         SELECT 1 FROM instance_locks INDEXED BY idx_locks_until WHERE locked_until <= ?1)
     OR EXISTS (
         SELECT 1 FROM orchestrator_queue INDEXED BY idx_orch_ready WHERE route >= '')";

const LATE_SQL: &str = "SELECT l.locked_until, l.instance_id, (
         SELECT i.current_execution_id FROM instances i WHERE i.instance_id = l.instance_id)
     FROM instance_locks l INDEXED BY idx_locks_until
     WHERE l.locked_until <= ?1 AND (l.locked_until, l.instance_id) > (?2, ?3) AND EXISTS (
         SELECT 1 FROM orchestrator_queue q INDEXED BY idx_orch_instance
         WHERE q.instance_id = l.instance_id AND q.parked = 0 AND q.visible_at <= ?1)
     ORDER BY l.locked_until, l.instance_id LIMIT ?4";

const FIRST_ROUTE_SQL: &str = "SELECT route FROM orchestrator_queue INDEXED BY idx_orch_ready
     WHERE route >= ?1 ORDER BY route LIMIT 1";

const NEXT_ROUTE_SQL: &str = "SELECT route FROM orchestrator_queue INDEXED BY idx_orch_ready
     WHERE route > ?1 ORDER BY route LIMIT 1";

// Of several listed messages of an instance, the first. An instance that has an expired lease is
// found through the lease.
const STRANDED_SQL: &str = "SELECT q.id, q.visible_at, q.instance_id, (
         SELECT i.current_execution_id FROM instances i WHERE i.instance_id = q.instance_id)
     FROM orchestrator_queue q INDEXED BY idx_orch_ready
     WHERE q.route = ?1 AND q.visible_at <= ?2 AND (q.visible_at, q.id) > (?3, ?4)
         AND NOT EXISTS (SELECT 1 FROM instance_locks l WHERE l.instance_id = q.instance_id)
         AND NOT EXISTS (
             SELECT 1 FROM orchestrator_queue f INDEXED BY idx_orch_instance
             WHERE f.instance_id = q.instance_id AND f.parked = 0 AND f.visible_at <= q.visible_at
                 AND f.route IS NOT NULL AND (f.visible_at, f.id) < (q.visible_at, q.id))
     ORDER BY q.visible_at, q.id";
