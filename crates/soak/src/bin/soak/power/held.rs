//! What a store holds, to compare it with what it has acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::NoTls;

use crate::acks::Ack;
use crate::facts::Facts;
use crate::kinds::Workflow;

const TEXTS_SQL: &str = "SELECT instance_id, event_data FROM history WHERE instance_id = ANY($1)
     UNION ALL
     SELECT instance_id, work_item FROM orchestrator_queue WHERE instance_id = ANY($1)";
const ENDED_SQL: &str = "SELECT instances.instance_id FROM instances
     JOIN executions ON executions.instance_id = instances.instance_id
         AND executions.execution_id = instances.current_execution_id
     WHERE instances.instance_id = ANY($1) AND executions.status IN ('Completed', 'Failed')";

/// In the text about what is missing.
pub(crate) const LOST: &str = "acknowledged changes are lost";

/// Instances of a store.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Instances that have a message or a history, with the texts of both.
    texts: BTreeMap<String, String>,
    /// Instances that have ended.
    ended: BTreeSet<String>,
}

impl Held {
    /// What facts and texts say.
    pub(crate) fn of(facts: &Facts, texts: BTreeMap<String, String>) -> Self {
        let ended = facts.executions.iter().filter(|row| {
            let current = (row.instance.clone(), row.execution);
            matches!(row.status.as_str(), "Completed" | "Failed")
                && facts.instances.binary_search(&current).is_ok()
        });
        Self { texts, ended: ended.map(|row| row.instance.clone()).collect() }
    }

    /// What a server holds about these instances.
    pub(crate) async fn on_server(
        url: &str,
        schema: &str,
        instances: &[String],
    ) -> Result<Self, String> {
        let read = async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            let connection = tokio::spawn(connection);
            client.batch_execute(&format!("SET search_path TO \"{schema}\"")).await?;
            // In this order: what has ended has all its texts.
            let ended = client.query(ENDED_SQL, &[&instances]).await?;
            let texts = client.query(TEXTS_SQL, &[&instances]).await?;
            drop(client);
            connection.abort();
            let mut held = Self::default();
            held.ended.extend(ended.iter().map(|row| row.get::<_, String>(0)));
            for row in &texts {
                held.texts.entry(row.get(0)).or_default().push_str(row.get(1));
            }
            Ok::<_, tokio_postgres::Error>(held)
        };
        read.await.map_err(|error| format!("the server cannot be read: {error}"))
    }

    /// Whether a text is in a message or in the history of an instance.
    pub(crate) fn has_text(&self, instance: &str, text: &str) -> bool {
        self.texts.get(instance).is_some_and(|texts| texts.contains(text))
    }

    /// Everything that was acknowledged is there.
    pub(crate) fn require<'a>(
        &self,
        acks: impl IntoIterator<Item = &'a Ack>,
    ) -> Result<(), String> {
        let missing: Vec<String> =
            acks.into_iter().filter(|ack| !self.has(ack)).map(|ack| format!("{ack:?}")).collect();
        match missing.len() {
            0 => Ok(()),
            count => Err(format!("{count} {LOST}: {}", missing.join(", "))),
        }
    }

    fn has(&self, ack: &Ack) -> bool {
        match ack {
            Ack::Started(workflow) => self.texts.contains_key(&workflow.id()),
            Ack::Sent(workflow, text) => self.has_text(&workflow.id(), text),
            Ack::Finished(workflow) => self.ended.contains(&workflow.id()),
        }
    }

    /// The workflows that were started.
    pub(crate) fn workflows(&self) -> Vec<Workflow> {
        self.texts.keys().filter_map(|id| Workflow::parse(id)).collect()
    }

    /// What a workflow has been sent already.
    pub(crate) fn sent(&self, workflow: Workflow) -> BTreeSet<String> {
        let id = workflow.id();
        workflow.sent_texts().into_iter().filter(|text| self.has_text(&id, text)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kind;

    #[test]
    fn a_lost_acknowledged_change_is_found() {
        let [chain, events] = [Kind::Chain, Kind::Events].map(|kind| Workflow { kind, number: 1 });
        let held = Held {
            texts: BTreeMap::from([(chain.id(), "started".to_owned())]),
            ended: BTreeSet::from([chain.id()]),
        };
        held.require(&[Ack::Started(chain), Ack::Finished(chain)]).unwrap();
        for lost in
            [Ack::Started(events), Ack::Finished(events), Ack::Sent(chain, "go-1".to_owned())]
        {
            assert!(held.require([&lost]).is_err(), "{lost:?}");
        }
    }
}
