//! Every target.

use super::{
    attributes, cursors, edits, events, filters, histories, instances, messages, replay, retention,
    urls,
};
use crate::Target;

/// Every target.
pub static TARGETS: &[Target] = &[
    filters::TARGET,
    retention::TARGET,
    edits::TARGET,
    cursors::TARGET,
    urls::SQLITE,
    urls::POSTGRES,
    events::TARGET,
    messages::TARGET,
    attributes::TARGET,
    histories::TARGET,
    instances::TARGET,
    replay::TARGET,
];
