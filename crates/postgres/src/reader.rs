//! Questions about instances in groups: whatever is asked while an answer is under way shares the
//! next statement. Clients that wait for many instances ask often.

use std::sync::Arc;

use duroxide_core::providers::InstanceStatus;
use tokio::sync::{mpsc, oneshot};

use crate::error::JobError;
use crate::history;
use crate::limits;
use crate::store::Store;
use crate::stored_text::to_stored;

struct Question {
    instance: String,
    reply: oneshot::Sender<Result<InstanceStatus, JobError>>,
}

/// Hands questions to the lanes, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct Reader {
    // Not bounded: each caller waits for its answer, so there are at most as many as callers.
    questions: mpsc::UnboundedSender<Question>,
}

type Waiting = Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Question>>>;

impl Reader {
    /// Starts the lanes.
    pub(crate) fn start(store: &Arc<Store>) -> Self {
        let (questions, waiting) = mpsc::unbounded_channel();
        let waiting = Arc::new(tokio::sync::Mutex::new(waiting));
        for _ in 0..limits::READERS {
            tokio::spawn(serve(Arc::clone(store), Arc::clone(&waiting)));
        }
        Self { questions }
    }

    /// How an instance stands.
    pub(crate) async fn status(&self, instance: &str) -> Result<InstanceStatus, JobError> {
        let (reply, answer) = oneshot::channel();
        let instance = to_stored(instance).into_owned();
        let stopped = || JobError::Failed("the reader has stopped".to_owned());
        self.questions.send(Question { instance, reply }).map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

async fn serve(store: Arc<Store>, waiting: Waiting) {
    let mut questions = Vec::new();
    loop {
        let asked = {
            let mut waiting = waiting.lock().await;
            waiting.recv_many(&mut questions, limits::QUESTIONS_PER_READ_MAX).await
        };
        if asked == 0 {
            return;
        }
        let instances: Vec<&str> = questions.iter().map(|it| it.instance.as_str()).collect();
        match history::statuses(&store, &instances).await {
            Ok(answers) => {
                for (question, answer) in questions.drain(..).zip(answers) {
                    let _gone = question.reply.send(answer);
                }
            }
            Err(error) => {
                for question in questions.drain(..) {
                    let _gone = question.reply.send(Err(error.clone()));
                }
            }
        }
    }
}
