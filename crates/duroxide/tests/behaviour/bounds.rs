//! Long histories and many messages of one instance.

use std::sync::Arc;

use duroxide::{Client, OrchestrationContext};

use crate::support::{Mode, Node, activities, in_every_mode, memory, orchestrations};

const MESSAGES: usize = 2500;

async fn reads_all(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.set_kv_value("kept", "value");
    for number in 0..MESSAGES {
        let message = ctx.dequeue_event("numbers").await;
        if message != number.to_string() {
            return Err(format!("{message} instead of {number}"));
        }
    }
    Ok(ctx.get_kv_value("kept").unwrap_or_default())
}

/// More messages than one turn takes, and a history that a cold turn reads for itself.
async fn many_messages_of_one_instance_come_in_order(mode: Mode) {
    let store = memory().await;
    let client = Client::new(Arc::clone(&store));
    client.start_orchestration("many", "ReadAll", "").await.unwrap();
    for number in 0..MESSAGES {
        client.enqueue_event("many", "numbers", number.to_string()).await.unwrap();
    }
    let orchestrations = orchestrations().register("ReadAll", reads_all);
    let node = Node::on(&store, mode.options(), orchestrations, activities()).await;
    assert_eq!(node.output("many").await, "value");
    node.stop().await;
}

in_every_mode! {
    many_messages_of_one_instance_come_in_order,
}
