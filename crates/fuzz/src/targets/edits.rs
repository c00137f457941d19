//! Data of markers: edits, mended executions, cancellations, patches. They are read back from
//! stored signals.

use duroxide::{CancelRequest, Event, InstanceEdit, MendMarker, PatchMarker};

use crate::target::{Target, Verdict, require, word};

pub(super) const TARGET: Target = Target { name: "edits", seeds: Vec::new, read };

/// Names under which the runtime stores markers.
const NAMES: [&str; 6] = [
    "__duroxide_syscall:patched",
    "__duroxide_syscall:patch_deprecated",
    "__duroxide_syscall:mended",
    "__duroxide_syscall:held_signal",
    "__duroxide_syscall:edited",
    "go",
];

fn read(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let mut found = String::new();
    for name in NAMES {
        let event = signal(name, &text)?;
        let markers = [
            PatchMarker::of(&event).is_some(),
            MendMarker::of(&event).is_some(),
            CancelRequest::of(&event).is_some(),
        ];
        found.extend(markers.map(|is| if is { 'x' } else { '-' }));
    }
    match serde_json::from_str::<InstanceEdit>(&text) {
        Ok(edit) => {
            let again = serde_json::to_string(&edit).map_err(|error| error.to_string())?;
            let again: InstanceEdit =
                serde_json::from_str(&again).map_err(|error| error.to_string())?;
            require(again == edit, || format!("{edit:?} is read as {again:?}"))?;
            Ok(format!("{found} edit"))
        }
        Err(error) => Ok(format!("{found} {}", word(&error))),
    }
}

fn signal(name: &str, data: &str) -> Result<Event, String> {
    let stored = serde_json::json!({
        "event_id": 2, "source_event_id": null, "instance_id": "i", "execution_id": 1,
        "timestamp_ms": 0, "duroxide_version": "0.2.0", "type": "ExternalEvent",
        "name": name, "data": data,
    });
    serde_json::from_value(stored).map_err(|error| error.to_string())
}
