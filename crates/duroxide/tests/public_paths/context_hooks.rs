//! Hidden hooks of `OrchestrationContext` that tests of an engine use.

use duroxide::{Action, CompletionResult, OrchestrationContext};

use crate::is;

fn hooks() {
    let ctx = OrchestrationContext::new(
        Vec::new(),
        1,
        String::from("instance"),
        String::from("O"),
        String::from("1.0.0"),
        Some(String::from("worker")),
    );
    let () = ctx.set_is_replaying(true);
    let () = ctx.bind_external_subscription(2, "event");
    let () = ctx.deliver_external_event(String::from("event"), String::from("data"));
    let () = ctx.bind_queue_subscription(3, "queue");
    let () = ctx.deliver_queue_message(String::from("queue"), String::from("data"));
    is::<Vec<(u64, Action)>>(ctx.get_emitted_actions());
    is::<Vec<(u64, Action)>>(ctx.drain_emitted_actions());
    let () = ctx.bind_token(1, 2);
    let () = ctx.deliver_result(2, CompletionResult::TimerFired);
}

#[test]
fn signatures_compile() {
    is::<fn()>(hooks);
}
