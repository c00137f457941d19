//! Names of messages, for logs.

use crate::model::WorkItem;

/// Name of the message's variant. `QueueMessage` goes by its older name, which logs and tools know.
pub fn kind_of(msg: &WorkItem) -> &'static str {
    if let WorkItem::QueueMessage { .. } = msg {
        return "ExternalRaisedPersistent";
    }
    msg.variant_name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_message_goes_by_its_older_name() {
        let (instance, name, data) = (String::new(), String::new(), String::new());
        let queued = WorkItem::QueueMessage { instance, name, data };
        assert_eq!(kind_of(&queued), "ExternalRaisedPersistent");
        let cancel = WorkItem::CancelInstance { instance: String::new(), reason: String::new() };
        assert_eq!(kind_of(&cancel), "CancelInstance");
    }
}
