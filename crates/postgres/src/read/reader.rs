//! Questions about instances in groups: whatever is asked while an answer is under way shares the
//! next statement. Clients that wait for many instances ask often, and so do workers that run
//! activities of an instance that is not warm here.

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

struct Question {
    instance: String,
    reply: Reply,
}

enum Reply {
    Status(oneshot::Sender<Result<InstanceStatus, JobError>>),
    StartEvent(oneshot::Sender<Result<Option<Event>, JobError>>),
}

/// Hands questions to the lane, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Reader {
    // Not bounded: each caller waits for its answer, so there are at most as many as callers.
    questions: mpsc::UnboundedSender<Question>,
}

impl Reader {
    /// Starts the lane.
    pub(crate) fn start(store: &Arc<Store>) -> Self {
        let (questions, waiting) = mpsc::unbounded_channel();
        tokio::spawn(serve(Arc::clone(store), waiting));
        Self { questions }
    }

    /// How an instance stands.
    pub(crate) async fn status(&self, instance: &str) -> Result<InstanceStatus, JobError> {
        self.ask(instance, Reply::Status).await
    }

    /// The start event of the latest execution.
    pub(crate) async fn start_event(&self, instance: &str) -> Result<Option<Event>, JobError> {
        self.ask(instance, Reply::StartEvent).await
    }

    async fn ask<T>(
        &self,
        instance: &str,
        reply: impl FnOnce(oneshot::Sender<Result<T, JobError>>) -> Reply,
    ) -> Result<T, JobError> {
        let (sender, answer) = oneshot::channel();
        let stopped = || JobError::stopped("the reader has stopped");
        let question = Question { instance: stored(instance), reply: reply(sender) };
        self.questions.send(question).map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

async fn serve(store: Arc<Store>, mut waiting: mpsc::UnboundedReceiver<Question>) {
    let mut questions = Vec::new();
    while waiting.recv_many(&mut questions, limits::QUESTIONS_PER_READ_MAX).await > 0 {
        answer_all(&store, &mut questions).await;
    }
}

/// Each instance is looked at once, however many ask.
async fn answer_all(store: &Store, questions: &mut Vec<Question>) {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut instances: Vec<&str> = Vec::new();
    let mut first_wanted: Vec<bool> = Vec::new();
    for question in &*questions {
        let place = *places.entry(&question.instance).or_insert_with(|| {
            instances.push(&question.instance);
            first_wanted.push(false);
            instances.len() - 1
        });
        first_wanted[place] |= matches!(question.reply, Reply::StartEvent(_));
    }
    let places: Vec<usize> = questions.iter().map(|it| places[it.instance.as_str()]).collect();
    let rows = history::stored_statuses(store, &instances, &first_wanted).await;
    for (question, place) in questions.drain(..).zip(places) {
        let row = match &rows {
            Ok(rows) => rows.get(place).ok_or_else(no_answer),
            Err(error) => Err(error.clone()),
        };
        // Whoever asked may have gone away.
        match question.reply {
            Reply::Status(reply) => drop(reply.send(row.and_then(history::status))),
            Reply::StartEvent(reply) => drop(reply.send(row.and_then(history::start_event))),
        }
    }
}

fn no_answer() -> JobError {
    JobError::Broken("read_outcomes gave no answer for an instance".to_owned())
}
