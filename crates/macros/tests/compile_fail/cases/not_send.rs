//! An orchestration moves between threads at every `await`.

use std::rc::Rc;

use duroxide::prelude::*;

#[orchestration]
async fn remind(ctx: OrchestrationContext, name: String) -> Result<String, String> {
    let name = Rc::new(name);
    ctx.schedule_timer(Duration::from_secs(60)).await;
    Ok(format!("remember, {name}"))
}

fn main() {}
