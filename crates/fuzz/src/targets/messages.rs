//! Stored messages and activities, one text each.

use duroxide::providers::kit::{
    StartedOrchestration, activity_name, decode_activity, decode_messages, message_variant,
    waiting_start,
};
use duroxide::providers::{NeededCode, WorkItem};

use crate::target::{Target, Verdict, require};

pub(super) const TARGET: Target = Target { name: "messages", seeds, read };

fn seeds() -> Vec<Vec<u8>> {
    let golden = include_str!("../../../core/tests/stored_form/testdata/work_items.txt");
    let texts = golden.lines().filter_map(|line| line.find('{').map(|at| &line[at..]));
    texts.map(|text| text.as_bytes().to_vec()).collect()
}

fn read(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input).into_owned();
    let items = decode_messages("i", &[(1, text.clone())]);
    let name = activity_name(&text);
    let waits = waiting_start(&text).is_some();
    let variant = message_variant(&text).to_owned();
    require(decode_activity(1, text, None).is_some() != items.is_empty(), || {
        "a text is an item of one queue only".to_owned()
    })?;
    for item in &items {
        drop(StartedOrchestration::from_message(item));
        drop(NeededCode::of_message(item));
        let stored = serde_json::to_string(item).map_err(|error| error.to_string())?;
        let again: WorkItem =
            serde_json::from_str(&stored).map_err(|error| format!("{stored}: {error}"))?;
        require(again == *item, || format!("{item:?} is read back as {again:?}"))?;
    }
    let variant = variant.chars().take(20).collect::<String>();
    Ok(format!("{variant} {} {} {waits}", items.len(), name.is_empty()))
}
