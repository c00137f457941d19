//! The orchestration of a bulk act.
//!
//! Each page of ids and each page of outcomes has an execution of its own, so that neither a replay
//! nor a record grows with the number of instances.

use crate::client::bulk::{
    AppliedSlice, ApplyInput, BulkCode, BulkProgress, BulkResult, BulkState, CURRENT_CODE,
    FIRST_CODE, FreezeInput, FrozenPage, Stage,
};
use crate::context::OrchestrationContext;

/// Acts that began under the first version. Hosts of this build continue them in the current one.
pub(super) async fn first(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    match run(&ctx, FIRST_CODE, &input).await? {
        Next::Stage(state) => ctx.continue_as_new_typed(&state).await,
        Next::End(counts) => Ok(counts),
    }
}

/// Names its version when it continues: a host of an older build would run its own instead.
pub(super) async fn current(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    match run(&ctx, CURRENT_CODE, &input).await? {
        Next::Stage(state) => {
            let state = serde_json::to_string(&state).map_err(|error| error.to_string())?;
            ctx.continue_as_new_versioned(CURRENT_CODE.version, state).await
        }
        Next::End(counts) => Ok(counts),
    }
}

/// What follows an execution.
enum Next {
    /// Another one, with this input.
    Stage(Box<BulkState>),
    /// Nothing: the counts are the result.
    End(String),
}

async fn run(ctx: &OrchestrationContext, code: BulkCode, input: &str) -> Result<Next, String> {
    let mut state: Box<BulkState> =
        serde_json::from_str(input).map_err(|error| format!("not a bulk act: {error}"))?;
    report(ctx, &state);
    let next = match state.stage.clone() {
        Stage::Freeze { after } => freeze(ctx, code, &mut state, after).await?,
        Stage::Apply { page } => apply(ctx, code, &mut state, page).await?,
    };
    Ok(match next {
        Some(stage) => {
            state.stage = stage;
            Next::Stage(state)
        }
        None => Next::End(serde_json::to_string(&state.counts).unwrap_or_default()),
    })
}

/// Records the next page of ids. Returns what follows.
async fn freeze(
    ctx: &OrchestrationContext,
    code: BulkCode,
    state: &mut BulkState,
    after: Option<String>,
) -> Result<Option<Stage>, String> {
    let (found, next) = match (state.ids.take(), &state.filter) {
        (Some(ids), _) => (ids.len(), None),
        (None, Some(filter)) => {
            let input = FreezeInput { filter: filter.clone(), after };
            let page: FrozenPage = ctx.schedule_activity_typed(code.freeze, &input).await?;
            (page.ids.len(), page.next)
        }
        (None, None) => return Err("not a bulk act: it has neither ids nor a filter".to_owned()),
    };
    if found > 0 {
        state.add_page(ctx.execution_id());
        state.counts.frozen += found as u64;
    }
    report(ctx, state);
    match next {
        Some(after) => Ok(Some(Stage::Freeze { after: Some(after) })),
        None => Ok(state.execution_of(0).map(|_| Stage::Apply { page: 0 })),
    }
}

/// Acts on one page. Returns what follows.
async fn apply(
    ctx: &OrchestrationContext,
    code: BulkCode,
    state: &mut BulkState,
    page: u64,
) -> Result<Option<Stage>, String> {
    let Some(page_in) = state.execution_of(page) else { return Ok(None) };
    let mut next = Some(0);
    while let Some(from) = next {
        let input = ApplyInput {
            act: state.act,
            reason: reason(state),
            rate_per_second: state.rate_per_second,
            page_in,
            from,
        };
        let slice: AppliedSlice = ctx.schedule_activity_typed(code.apply, &input).await?;
        for outcome in &slice.outcomes {
            match outcome.result {
                BulkResult::Done => state.counts.done += 1,
                BulkResult::NotFound => state.counts.not_found += 1,
                BulkResult::Failed => state.counts.failed += 1,
            }
        }
        report(ctx, state);
        next = slice.next;
    }
    let following = page + 1;
    Ok(state.execution_of(following).map(|_| Stage::Apply { page: following }))
}

/// The reason that instances get.
fn reason(state: &BulkState) -> String {
    match state.reason.is_empty() {
        true => format!("{} by {}", state.act, state.by),
        false => state.reason.clone(),
    }
}

fn report(ctx: &OrchestrationContext, state: &BulkState) {
    ctx.set_custom_status(serde_json::to_string(&BulkProgress::of(state)).unwrap_or_default());
}
