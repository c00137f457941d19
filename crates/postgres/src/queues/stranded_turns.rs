//! Turns that no node may fetch, for operators.
//!
//! The cost depends on what is stranded, not on what waits: the list goes from route to route by
//! one probe of the index each, and reads the messages of stranded routes only. A message may be
//! listed under an outdated route, so that every turn is judged by its instance.

use duroxide_core::providers::kit::TurnPlace;
use duroxide_core::providers::{NeededCode, StrandedTurnQuery, StrandedTurns, WaitingTurn};
use semver::Version;
use tokio_postgres::Row;

use crate::connect::connection::Params;
use crate::error::JobError;
use crate::limits;
use crate::schema::number::from_db;
use crate::schema::stored_text::{from_stored, stored};
use crate::schema::version_key::version_from_key;
use crate::store::Store;

/// Turns that no node of the query may fetch.
pub(crate) async fn turns(
    store: &Store,
    query: &StrandedTurnQuery,
) -> Result<StrandedTurns, JobError> {
    if query.limit == 0 {
        return Ok(StrandedTurns::default());
    }
    let mut page = Page { store, query, turns: Vec::new() };
    let next = match TurnPlace::behind(query.after.as_ref())? {
        TurnPlace::Late { until, instance } => match page.read_late(until, &instance).await? {
            Some(next) => Some(next),
            None => page.read_routes(Vec::new()).await?,
        },
        TurnPlace::Ready { route, visible_at, number } => {
            match page.read_route(&route, (visible_at, number)).await? {
                Some(next) => Some(next),
                None => page.read_routes(behind(route)).await?,
            }
        }
    };
    let next = next.map(|place| place.cursor()).transpose()?;
    Ok(StrandedTurns::new(page.turns, next))
}

struct Page<'a> {
    store: &'a Store,
    query: &'a StrandedTurnQuery,
    turns: Vec<WaitingTurn>,
}

impl Page<'_> {
    /// Reads turns whose lease has expired; returns where the list goes on if it stops among them.
    async fn read_late(
        &mut self,
        until: i64,
        instance: &str,
    ) -> Result<Option<TurnPlace>, JobError> {
        let limit = self.room();
        let (now, instance) = (self.store.now(), stored(instance));
        let rows = self.store.query(LATE_SQL, &[&now, &until, &instance, &limit]).await?;
        self.add(&rows);
        Ok(last_of(&rows, limit).map(|last| TurnPlace::Late {
            until: last.get("since"),
            instance: from_stored(last.get("instance_id")),
        }))
    }

    /// Reads ready turns, from the routes at or behind `from`; returns where the list goes on if it
    /// stops.
    async fn read_routes(&mut self, mut from: Vec<u8>) -> Result<Option<TurnPlace>, JobError> {
        for _ in 0..limits::STRANDED_ROUTES_PER_READ {
            let rows = self.store.query(ROUTE_SQL, &[&from]).await?;
            let Some(first) = rows.first() else { return Ok(None) };
            let route: Vec<u8> = first.get("pin");
            // Nodes that may read a route correct what is outdated there.
            if self.may_be_stranded(&route)
                && let Some(place) = self.read_route(&route, FIRST_MESSAGE).await?
            {
                return Ok(Some(place));
            }
            from = behind(route);
        }
        let (visible_at, number) = FIRST_MESSAGE;
        Ok(Some(TurnPlace::Ready { route: from, visible_at, number }))
    }

    async fn read_route(
        &mut self,
        route: &[u8],
        (visible_at, number): (i64, i64),
    ) -> Result<Option<TurnPlace>, JobError> {
        let limit = self.room();
        let now = self.store.now();
        let given: Params<'_> = &[&now, &route, &visible_at, &number, &limit];
        let rows = self.store.query(STRANDED_SQL, given).await?;
        self.add(&rows);
        Ok(last_of(&rows, limit).map(|last| TurnPlace::Ready {
            route: route.to_vec(),
            visible_at: last.get("since"),
            number: last.get("id"),
        }))
    }

    /// Whether no node may read a route. What its bytes do not say, its turns do.
    fn may_be_stranded(&self, route: &[u8]) -> bool {
        let needs = parts(route).and_then(|(code, pin)| {
            let code = from_stored(String::from_utf8(code.to_vec()).ok()?);
            let pin = match pin {
                [] => None,
                key => Some(version_from_key(key)?),
            };
            Some((NeededCode::from_key(&code), pin))
        });
        needs.is_none_or(|(code, pin)| self.query.strands(code.as_ref(), pin.as_ref()))
    }

    fn add(&mut self, rows: &[Row]) {
        for row in rows {
            let (code, pin) = needs(row);
            if !self.query.strands(code.as_ref(), pin.as_ref()) {
                continue;
            }
            let execution_id: Option<i64> = row.get("current_execution_id");
            let instance_id = from_stored(row.get("instance_id"));
            let turn = WaitingTurn::new(instance_id, from_db(row.get("since")))
                .with_execution_id(execution_id.map(from_db))
                .with_needs(code, pin);
            self.turns.push(turn);
        }
    }

    fn room(&self) -> i64 {
        i64::from(self.query.limit) - i64::try_from(self.turns.len()).unwrap_or(i64::MAX)
    }
}

/// The last of the rows, if there may be more.
fn last_of(rows: &[Row], limit: i64) -> Option<&Row> {
    rows.last().filter(|_| i64::try_from(rows.len()).is_ok_and(|read| read >= limit))
}

/// The key of the code in a route, and that of the pin.
fn parts(route: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut ends = route.iter().enumerate().filter(|(_, byte)| **byte == 1).map(|(place, _)| place);
    route.split_at_checked(ends.nth(1)? + 1)
}

/// Where the routes behind one begin.
fn behind(mut route: Vec<u8>) -> Vec<u8> {
    route.push(0);
    route
}

/// What the next turn of an instance needs, as `turn_route` has it.
pub(crate) fn needs(row: &Row) -> (Option<NeededCode>, Option<Version>) {
    let mut pin = row.get::<_, Option<&str>>("duroxide_version");
    let requested = || {
        let key = row.get::<_, Option<Vec<u8>>>("code")?;
        NeededCode::from_key(&from_stored(String::from_utf8(key).ok()?))
    };
    let code = match row.get::<_, Option<&str>>("status") {
        Some("Running") => {
            let name = from_stored(row.get("orchestration_name"));
            let version = from_stored(row.get("orchestration_version"));
            Some(NeededCode::of_execution(&name, &version))
        }
        Some("ContinuedAsNew") | None => requested(),
        Some(_ended) => {
            pin = None;
            None
        }
    };
    (code, pin.and_then(|pin| Version::parse(pin).ok()))
}

/// Before every message of a route.
const FIRST_MESSAGE: (i64, i64) = (i64::MIN, i64::MIN);

/// The columns that say what the next turn of the instance in `w` needs.
macro_rules! with_needs {
    ($columns:literal, $rows:literal, $order:literal) => {
        concat!(
            "SELECT ",
            $columns,
            ", i.current_execution_id, i.orchestration_name, i.orchestration_version, e.status,
                 e.duroxide_version,
                 CASE WHEN e.status IS NULL OR e.status = 'ContinuedAsNew' THEN (
                     SELECT s.code FROM {schema}.orchestrator_queue s
                     WHERE s.instance_id = w.instance_id AND s.kind = 1 AND NOT s.parked
                         AND (e.status IS NULL OR s.work_item LIKE '__ContinueAsNew_%')
                     ORDER BY s.id LIMIT 1) END AS code
             FROM ",
            $rows,
            " LEFT JOIN {schema}.instances i ON i.instance_id = w.instance_id
             LEFT JOIN {schema}.executions e
                 ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id ",
            $order
        )
    };
}
pub(super) use with_needs;

const LATE_SQL: &str = with_needs!(
    "w.instance_id, w.locked_until AS since",
    "(SELECT l.instance_id, l.locked_until FROM {schema}.instance_locks l
      WHERE l.locked_until <= coalesce($1, {schema}.now_ms())
          AND (l.locked_until, l.instance_id) > ($2, $3)
          AND EXISTS (
              SELECT 1 FROM {schema}.orchestrator_queue q
              WHERE q.instance_id = l.instance_id AND NOT q.parked
                  AND q.visible_at <= coalesce($1, {schema}.now_ms()))
      ORDER BY l.locked_until, l.instance_id LIMIT $4) AS w",
    "ORDER BY w.locked_until, w.instance_id"
);

const ROUTE_SQL: &str = "SELECT q.pin FROM {schema}.orchestrator_queue q
     WHERE NOT q.parked AND q.pin >= $1 ORDER BY q.pin LIMIT 1";

/// Of several listed messages of an instance, the first.
const STRANDED_SQL: &str = with_needs!(
    "w.instance_id, w.visible_at AS since, w.id",
    "(SELECT q.instance_id, q.visible_at, q.id FROM {schema}.orchestrator_queue q
      WHERE NOT q.parked AND q.pin = $2 AND q.visible_at <= coalesce($1, {schema}.now_ms())
          AND (q.visible_at, q.id) > ($3, $4)
          AND (SELECT 1 FROM {schema}.instance_locks l
               WHERE l.instance_id = q.instance_id) IS NULL
          AND (SELECT 1 FROM {schema}.orchestrator_queue f
               WHERE f.instance_id = q.instance_id AND f.id < q.id AND f.pin IS NOT NULL
                   AND NOT f.parked AND f.visible_at <= coalesce($1, {schema}.now_ms())
               LIMIT 1) IS NULL
      ORDER BY q.visible_at, q.id LIMIT $5) AS w",
    "ORDER BY w.visible_at, w.id"
);
