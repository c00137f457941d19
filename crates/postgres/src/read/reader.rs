//! Reads of instance states in groups: requests that arrive while a statement runs share the next
//! one. Clients that wait for many instances send many requests, and so do workers that run
//! activities of an instance whose history is not in memory.

use std::collections::HashMap;
use std::sync::Arc;

use duroxide_core::Event;
use duroxide_core::providers::InstanceStatus;
use tokio::sync::{mpsc, oneshot};

use crate::error::JobError;
use crate::limits;
use crate::read::history;
use crate::schema::stored_text::stored;
use crate::store::Store;

struct Request {
    instance: String,
    reply: Reply,
}

enum Reply {
    Status(oneshot::Sender<Result<InstanceStatus, JobError>>),
    StartEvent(oneshot::Sender<Result<Option<Event>, JobError>>),
}

/// Passes requests to the lane, which stops when this is dropped.
#[derive(Debug)]
pub(crate) struct Reader {
    // Bounded by the callers: each waits for its response.
    requests: mpsc::UnboundedSender<Request>,
}

impl Reader {
    /// Starts the lane.
    pub(crate) fn start(store: &Arc<Store>) -> Self {
        let (requests, waiting) = mpsc::unbounded_channel();
        tokio::spawn(serve(Arc::clone(store), waiting));
        Self { requests }
    }

    /// The state of an instance.
    pub(crate) async fn status(&self, instance: &str) -> Result<InstanceStatus, JobError> {
        self.request(instance, Reply::Status).await
    }

    /// The start event of the latest execution.
    pub(crate) async fn start_event(&self, instance: &str) -> Result<Option<Event>, JobError> {
        self.request(instance, Reply::StartEvent).await
    }

    async fn request<T>(
        &self,
        instance: &str,
        reply: impl FnOnce(oneshot::Sender<Result<T, JobError>>) -> Reply,
    ) -> Result<T, JobError> {
        let (sender, response) = oneshot::channel();
        let stopped = || JobError::stopped("the reader has stopped");
        let request = Request { instance: stored(instance), reply: reply(sender) };
        self.requests.send(request).map_err(|_| stopped())?;
        response.await.unwrap_or_else(|_| Err(stopped()))
    }
}

async fn serve(store: Arc<Store>, mut waiting: mpsc::UnboundedReceiver<Request>) {
    let mut requests = Vec::new();
    while waiting.recv_many(&mut requests, limits::REQUESTS_PER_READ_MAX).await > 0 {
        respond_all(&store, &mut requests).await;
    }
}

/// Reads each instance once, however many requests name it.
async fn respond_all(store: &Store, requests: &mut Vec<Request>) {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut instances: Vec<&str> = Vec::new();
    let mut first_wanted: Vec<bool> = Vec::new();
    for request in &*requests {
        let place = *places.entry(&request.instance).or_insert_with(|| {
            instances.push(&request.instance);
            first_wanted.push(false);
            instances.len() - 1
        });
        first_wanted[place] |= matches!(request.reply, Reply::StartEvent(_));
    }
    let places: Vec<usize> = requests.iter().map(|it| places[it.instance.as_str()]).collect();
    let rows = history::stored_statuses(store, &instances, &first_wanted).await;
    for (request, place) in requests.drain(..).zip(places) {
        let row = match &rows {
            Ok(rows) => rows.get(place).ok_or_else(no_row),
            Err(error) => Err(error.clone()),
        };
        // The caller may have gone away.
        match request.reply {
            Reply::Status(reply) => drop(reply.send(row.and_then(history::status))),
            Reply::StartEvent(reply) => drop(reply.send(row.and_then(history::start_event))),
        }
    }
}

fn no_row() -> JobError {
    JobError::Broken("read_outcomes returned no row for an instance".to_owned())
}
