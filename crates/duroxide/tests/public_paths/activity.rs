//! `ActivityContext`.

use duroxide::runtime::ProgressError;
use duroxide::{ActivityContext, Client};
use tokio_util::sync::CancellationToken;

use crate::{is, is_send};

async fn activity(ctx: ActivityContext) -> Result<String, String> {
    is::<&str>(ctx.instance_id());
    is::<u64>(ctx.execution_id());
    is::<&str>(ctx.orchestration_name());
    is::<&str>(ctx.orchestration_version());
    is::<&str>(ctx.activity_name());
    is::<u64>(ctx.activity_id());
    is::<u32>(ctx.attempt());
    is::<&str>(ctx.worker_id());
    is::<Option<&str>>(ctx.session_id());
    is::<Option<&str>>(ctx.tag());
    is::<Option<&str>>(ctx.last_progress());
    is::<Result<Option<u8>, String>>(ctx.last_progress_typed());
    is::<Result<(), ProgressError>>(ctx.report_progress("half").await);
    is::<Result<(), ProgressError>>(ctx.report_progress_typed(&(1, 2)).await);
    let () = ctx.trace_info("message");
    let () = ctx.trace_warn(String::from("message"));
    let () = ctx.trace_error("message");
    let () = ctx.trace_debug("message");
    is::<bool>(ctx.is_cancelled());
    let () = ctx.cancelled().await;
    is::<CancellationToken>(ctx.cancellation_token());
    is::<Client>(ctx.get_client());
    Ok(String::new())
}

#[test]
fn signatures_compile() {
    is::<fn(ActivityContext) -> _>(|ctx| is_send(activity(ctx)));
}
