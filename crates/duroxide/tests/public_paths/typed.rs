//! Typed functions: the attributes, handles, calls, errors, retries and registration. Newer than
//! 0.1.x, and part of every program that uses the attributes.

use duroxide::client::{InstanceHandle, StartRequest};
use duroxide::prelude::*;
use duroxide::runtime::registry::{
    ActivityState, IntoState, MissingRegistrations, Register, Registries,
};
use duroxide::typed::{
    self, Activity, CallInput, CallOptions, Callable, CallableFn, Called, CalledKind, CodeContext,
    ErrorText, MethodFn, Orchestration, PayloadError, Recorded, RecordedError, RecordedFn,
};
use duroxide::{Call, DurableFuture};

use crate::{is, is_send};

const GO: Signal<u64> = Signal::new("go");
const INBOX: Queue<u64> = Queue::new("inbox");

#[duroxide::activity]
async fn double(_ctx: ActivityContext, number: u64) -> Result<u64, String> {
    Ok(number * 2)
}

#[duroxide::orchestration]
async fn twice(ctx: OrchestrationContext, number: u64) -> Result<u64, String> {
    Ok(ctx.call(double, number).await?)
}

#[derive(Default)]
struct Pool;

#[activity]
impl Pool {
    async fn size(&self, _ctx: ActivityContext) -> Result<u64, String> {
        Ok(1)
    }
}

type CallResult = Result<u64, CallError<String>>;

#[expect(clippy::needless_borrows_for_generic_args, reason = "inputs may be references")]
async fn calls(ctx: OrchestrationContext) -> Result<(), String> {
    let call: Call<double> = ctx.call(double, 1);
    let second = Duration::from_secs(1);
    let call = call.with_tag("gpu").with_session("desk").with_schedule_to_start_limit(second);
    let call = call.with_timeout(second).with_retry(Retry::new(3));
    is::<CallResult>(is_send(call).await);
    is::<CallResult>(ctx.call(double, &1).with_retry(RetryPolicy::new(2)).await);
    is::<CallResult>(ctx.call(Pool::size, ()).await);
    is::<DurableFuture<CallResult>>(ctx.child(twice, 1));
    is::<DurableFuture<CallResult>>(ctx.child_with_id(twice, "id", 1));
    is::<DurableFuture<Result<u64, PayloadError>>>(ctx.wait(GO));
    is::<DurableFuture<Result<u64, PayloadError>>>(ctx.receive(INBOX));
    is_send(ctx.continue_as(twice, 1)).await.map(is::<u64>)
}

async fn client(client: &Client) -> Result<(), ClientError> {
    let instance: InstanceHandle<twice> = is_send(client.start(twice, "id", 1)).await?;
    is::<InstanceHandle<twice>>(client.attach(twice, "id"));
    is::<StartRequest>(StartRequest::of(twice, "id", 1)?);
    is::<&str>(instance.instance_id());
    is::<OrchestrationStatus>(is_send(instance.status()).await?);
    is_send(instance.raise(GO, 1)).await?;
    is_send(instance.enqueue(INBOX, 1)).await?;
    is_send(instance.cancel("enough")).await?;
    is_send(instance.request_cancellation("enough", Duration::from_secs(1))).await?;
    is::<CallResult>(is_send(instance.result()).await);
    is::<CallResult>(is_send(instance.result_within(Duration::from_secs(1))).await);
    Ok(())
}

fn errors(error: CallError<String>) {
    is::<Option<&String>>(error.app());
    is::<CallError<usize>>(error.clone().map(|text| text.len()));
    is::<Result<String, CallError<String>>>(error.clone().into_app());
    is::<Box<dyn std::error::Error + Send + Sync>>(error.clone().into());
    is::<String>(error.clone().into());
    match error {
        CallError::App(text) => is::<String>(text),
        CallError::Exhausted { last, attempts } => is::<(String, u32)>((last, attempts)),
        CallError::Cancelled { reason: text } | CallError::Infrastructure { message: text } => {
            is::<String>(text);
        }
        CallError::TimedOut => {}
        _ => {}
    }
}

fn retries() {
    let second = Duration::from_secs(1);
    let retry = Retry::new(3).with_backoff(BackoffStrategy::None).with_fixed_backoff(second);
    let retry = retry.with_exponential_backoff(second, second).with_jitter(0.1);
    let retry = retry.with_deadline(second).with_attempt_timeout(second).with_timeouts_retried();
    is::<u32>(retry.attempts_max());
    is::<(Option<Duration>, Option<Duration>)>((retry.deadline(), retry.attempt_timeout()));
    is::<bool>(retry.is_timeout_retried());
    is::<Duration>(retry.delay(1, 0));
    is::<Retry>(RetryPolicy::new(1).into());
    let options = CallOptions::new().with_tag("gpu").with_timeout(second);
    is::<CallOptions>(options.with_schedule_to_start(second).with_retry(Retry::unlimited()));
}

fn traits() {
    fn function<F: RecordedFn<C, M> + CallableFn<N>, C: CodeContext, M, N>(_function: F) {}
    fn method<F: MethodFn<S, C, M>, S, C, M>(_method: F) {}
    fn registered<F: Register<M>, M>(function: F) -> Registries {
        function.register_in(Registries::default())
    }
    fn input<T>(_input: impl CallInput<T>) {}
    fn error<E: RecordedError<Form> + From<ErrorText>, Form>() {}
    function(double);
    function(twice);
    method(Pool::size);
    input::<String>("text");
    error::<Box<dyn std::error::Error>, _>();
    is::<Registries>(registered(twice));
    is::<&str>(<double as Callable>::NAME);
    is::<bool>(<double as Activity>::ELSEWHERE);
    is::<Option<&str>>(<twice as Orchestration>::VERSION);
    is::<Vec<Called>>(<twice as Orchestration>::calls());
    is::<CalledKind>(typed::called(double).kind);
    is::<CalledKind>(typed::child(twice).kind);
    is::<Option<MissingRegistrations>>(None);
}

fn registration() {
    fn state<S: ActivityState>(state: impl IntoState<State = S>) -> Arc<S> {
        state.into_state()
    }
    let pool = state(Pool);
    let activities = ActivityRegistry::builder().register_fn(double).elsewhere(Pool::size);
    let activities = activities.register_method(Pool::size, Arc::clone(&pool)).build();
    let orchestrations = OrchestrationRegistry::builder().register_fn(twice).elsewhere(twice);
    let extended = orchestrations.build().extended(OrchestrationRegistry::builder());
    let builder = DuroxideRuntime::builder().with_activities(activities);
    drop(builder.with_orchestrations(extended).register(double).register_state(pool));
}

#[tokio::test]
async fn the_functions_behind_the_attributes_can_be_called() {
    let ctx = OrchestrationContext::new(
        Vec::new(),
        1,
        "instance".to_owned(),
        "twice".to_owned(),
        "1.0.0".to_owned(),
        None,
    );
    let code: Recorded<'static, twice> = twice(ctx, 1);
    assert_eq!(format!("{code:?}"), "Recorded(\"twice\")");
    is::<fn(OrchestrationContext) -> _>(|ctx| is_send(calls(ctx)));
    is::<fn(&'static Client) -> _>(|store| is_send(client(store)));
    is::<fn(CallError<String>)>(errors);
    retries();
    traits();
    registration();
}
