//! First turns that need no fetch of their own: the transaction that stores the start of an
//! instance hands its first turn to a fetch that waits for turns. That saves a round trip.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deadpool_postgres::Object;
use tokio::sync::oneshot;
use tokio_postgres::Row;

use crate::connection;
use crate::error::JobError;
use crate::fetch::{self, RawTurn, TurnBatch, TurnRequest};
use crate::number::attempts;
use crate::orchestrator_queue::DelayedMessage;
use crate::store::Store;
use crate::token::TurnToken;

/// Fetches of this node that wait for turns, the longest waiting first.
#[derive(Debug, Default)]
pub(crate) struct Rides(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    passengers: VecDeque<Passenger>,
    next_number: u64,
}

impl Rides {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a ride, until the ticket is dropped.
    pub(crate) fn wait(
        &self,
        request: &Arc<TurnRequest>,
    ) -> (Ticket<'_>, oneshot::Receiver<TurnBatch>) {
        let (seat, arrival) = oneshot::channel();
        let mut queue = self.lock();
        let number = queue.next_number;
        queue.next_number += 1;
        let request = Arc::clone(request);
        queue.passengers.push_back(Passenger { number, request, seat });
        drop(queue);
        (Ticket { rides: self, number }, arrival)
    }

    /// Whoever has waited longest.
    pub(crate) fn take_along(&self) -> Option<Passenger> {
        self.lock().passengers.pop_front()
    }
}

/// A fetch that waits. Dropped, it tells the fetch that there is no ride.
pub(crate) struct Passenger {
    number: u64,
    pub(crate) request: Arc<TurnRequest>,
    seat: oneshot::Sender<TurnBatch>,
}

impl fmt::Debug for Passenger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passenger").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Passenger {
    /// Hands over the turns. If the fetch went away meanwhile, they go back.
    pub(crate) fn arrive(self, store: &Arc<Store>, turns: TurnBatch) {
        let Err(undelivered) = self.seat.send(turns) else { return };
        let store = Arc::clone(store);
        tokio::spawn(async move {
            if let Err(error) = fetch::undo(&store, undelivered).await {
                tracing::warn!(%error, "turns cannot be given back; their leases will run out");
            }
        });
    }
}

/// A place in the queue.
#[derive(Debug)]
pub(crate) struct Ticket<'a> {
    rides: &'a Rides,
    number: u64,
}

impl Ticket<'_> {
    /// Stops waiting; false if a ride is under way.
    pub(crate) fn give_up(&self) -> bool {
        let mut queue = self.rides.lock();
        let place = queue.passengers.iter().position(|waiting| waiting.number == self.number);
        place.is_some_and(|place| queue.passengers.remove(place).is_some())
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Stores starts and leases the turns of those that are new. Nobody has the turns before the
/// transaction is committed. If it is lazy, that says nothing about the disk.
pub(crate) async fn start_turns(
    store: &Store,
    client: &Object,
    starts: &[&DelayedMessage],
    request: &TurnRequest,
    lazily: bool,
) -> Result<TurnBatch, JobError> {
    let instances: Vec<&str> = starts.iter().map(|it| it.message.instance.as_str()).collect();
    let texts: Vec<&str> = starts.iter().map(|it| it.message.text.as_str()).collect();
    let turns_max = request.turns_max_in_db();
    let rows = connection::query(
        client,
        &store.schema.sql(START_SQL),
        &[&store.now(), &instances, &texts, &turns_max, &request.lock_for, &lazily],
    )
    .await?;
    let mut batch = TurnBatch::default();
    for row in &rows {
        match row.get::<_, Option<String>>(0) {
            Some(instance) => batch.turns.push(first_turn(row, instance)),
            None => store.told(row.get(5)),
        }
    }
    Ok(batch)
}

fn first_turn(row: &Row, instance: String) -> RawTurn {
    let ids: Vec<i64> = row.get(2);
    let texts: Vec<String> = row.get(3);
    let token = TurnToken { id: row.get(1), instance };
    RawTurn::first(token, ids.into_iter().zip(texts).collect(), attempts(row.get(4)))
}

/// Stores starts and hands out their turns.
pub(crate) const START_SQL: &str = "SELECT * FROM {schema}.start_turns($1, $2, $3, $4, $5, $6)";
