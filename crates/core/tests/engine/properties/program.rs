//! Random orchestrations: a small tree and the code that runs it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::context::OrchestrationHandler;
use duroxide_core::{BackoffStrategy, OrchestrationContext, RetryPolicy};
use proptest::prelude::*;
use tokio::sync::oneshot;

use crate::samples::yield_once;

/// An action that the world completes.
#[derive(Debug, Clone)]
pub(crate) enum Leaf {
    Activity,
    Timer,
    Wait(u8),
    Dequeue(u8),
    Child,
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Await(Leaf),
    Hold(Leaf),
    AwaitHeld,
    DropNewestHeld,
    DropOldestHeld,
    RaceHeld(Leaf),
    DropAtOnce(Leaf),
    Forget(Leaf),
    Join(Vec<Block>),
    Race2(Block, Block),
    Race3(Block, Block, Block),
    Loop(u8, Block),
    /// The first block waits for the second one.
    Sequence(Block, Block),
    /// The code wakes itself.
    Yield,
    Retry {
        attempts: u32,
        delay: bool,
        timeout: bool,
    },
    SetKey(u8),
    ClearKey(u8),
    ClearKeys,
    PruneKeys(u16),
    Status,
    Detached,
    /// Runs the block if the execution has adopted the patch. Code before the patch skips it.
    Patched(u8, Block),
    Continue {
        awaited: bool,
    },
    Fail,
}

pub(crate) type Block = Vec<Op>;

fn leaf() -> impl Strategy<Value = Leaf> {
    prop_oneof![
        3 => Just(Leaf::Activity),
        2 => Just(Leaf::Timer),
        2 => (0..2_u8).prop_map(Leaf::Wait),
        3 => (0..2_u8).prop_map(Leaf::Dequeue),
        1 => Just(Leaf::Child),
    ]
}

fn simple() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => leaf().prop_map(Op::Await),
        6 => leaf().prop_map(Op::Hold),
        5 => Just(Op::AwaitHeld),
        1 => Just(Op::DropNewestHeld),
        1 => Just(Op::DropOldestHeld),
        3 => leaf().prop_map(Op::RaceHeld),
        1 => leaf().prop_map(Op::DropAtOnce),
        1 => leaf().prop_map(Op::Forget),
        2 => (1..4_u32, any::<bool>(), any::<bool>())
            .prop_map(|(attempts, delay, timeout)| Op::Retry { attempts, delay, timeout }),
        2 => (0..4_u8).prop_map(Op::SetKey),
        1 => (0..4_u8).prop_map(Op::ClearKey),
        1 => Just(Op::ClearKeys),
        1 => (0..3000_u16).prop_map(Op::PruneKeys),
        1 => Just(Op::Status),
        1 => Just(Op::Detached),
        1 => any::<bool>().prop_map(|awaited| Op::Continue { awaited }),
        1 => Just(Op::Yield),
        1 => Just(Op::Fail),
    ]
}

pub(crate) fn program() -> impl Strategy<Value = Block> {
    let op = simple().prop_recursive(3, 24, 4, |op| {
        let block = prop::collection::vec(op, 0..4).boxed();
        prop_oneof![
            2 => prop::collection::vec(block.clone(), 0..5).prop_map(Op::Join),
            3 => (block.clone(), block.clone()).prop_map(|(a, b)| Op::Race2(a, b)),
            1 => (block.clone(), block.clone(), block.clone())
                .prop_map(|(a, b, c)| Op::Race3(a, b, c)),
            1 => (block.clone(), block.clone()).prop_map(|(a, b)| Op::Sequence(a, b)),
            1 => (1..4_u8, block.clone()).prop_map(|(times, body)| Op::Loop(times, body)),
            2 => (0..3_u8, block).prop_map(|(id, body)| Op::Patched(id, body)),
        ]
    });
    prop::collection::vec(op, 1..12)
}

/// A place that the code passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) replaying: bool,
    pub(crate) what: String,
}

/// All points that the code passed, one list for each run of the code.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Vec<Point>>>>);

impl Log {
    pub(crate) fn runs(&self) -> Vec<Vec<Point>> {
        self.0.lock().expect("never poisoned").clone()
    }

    fn new_run(&self) -> usize {
        let mut runs = self.0.lock().expect("never poisoned");
        runs.push(Vec::new());
        runs.len() - 1
    }
}

/// The code that runs a program.
pub(crate) struct Interpreter {
    pub(crate) program: Block,
    pub(crate) log: Log,
    pub(crate) has_patches: bool,
}

/// Executions of one instance; the last one ignores continue-as-new.
pub(crate) const GENERATIONS: u64 = 3;

#[async_trait]
impl OrchestrationHandler for Interpreter {
    async fn invoke(&self, ctx: OrchestrationContext, _input: String) -> Result<String, String> {
        let code = Code {
            ctx,
            run: self.log.new_run(),
            log: self.log.clone(),
            digest: Arc::new(Mutex::new(7)),
            has_patches: self.has_patches,
        };
        code.pass("begin");
        code.block(&self.program).await?;
        Ok(code.digest())
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[derive(Clone)]
struct Code {
    ctx: OrchestrationContext,
    log: Log,
    run: usize,
    /// Hashes all results so far, so that every difference shows in the next action.
    digest: Arc<Mutex<u64>>,
    has_patches: bool,
}

impl Code {
    fn pass(&self, what: &str) {
        let point = Point { replaying: self.ctx.is_replaying(), what: what.to_owned() };
        self.log.0.lock().expect("never poisoned")[self.run].push(point);
        let mut digest = self.digest.lock().expect("never poisoned");
        for byte in what.bytes() {
            *digest = (*digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn digest(&self) -> String {
        format!("{:x}", *self.digest.lock().expect("never poisoned"))
    }

    /// Schedules at once; the future logs the result.
    fn schedule(&self, leaf: &Leaf) -> Boxed<'static, ()> {
        let code = self.clone();
        match leaf {
            Leaf::Activity => {
                let call = self.ctx.schedule_activity("A", self.digest());
                Box::pin(async move { code.pass(&format!("activity {:?}", call.await)) })
            }
            Leaf::Timer => {
                let timer = self.ctx.schedule_timer(Duration::from_millis(5));
                Box::pin(async move {
                    timer.await;
                    code.pass("timer");
                })
            }
            Leaf::Wait(name) => {
                let wait = self.ctx.schedule_wait(format!("s{name}"));
                Box::pin(async move { code.pass(&format!("signal {}", wait.await)) })
            }
            Leaf::Dequeue(name) => {
                let dequeue = self.ctx.dequeue_event(format!("q{name}"));
                Box::pin(async move { code.pass(&format!("message {}", dequeue.await)) })
            }
            Leaf::Child => {
                let child = self.ctx.schedule_sub_orchestration("Child", self.digest());
                Box::pin(async move { code.pass(&format!("child {:?}", child.await)) })
            }
        }
    }

    fn block<'a>(&'a self, ops: &'a [Op]) -> Boxed<'a, Result<(), String>> {
        Box::pin(async move {
            let mut held: Vec<Boxed<'static, ()>> = Vec::new();
            for op in ops {
                match op {
                    Op::Hold(leaf) => held.push(self.schedule(leaf)),
                    Op::DropNewestHeld => drop(held.pop()),
                    Op::DropOldestHeld if !held.is_empty() => drop(held.remove(0)),
                    Op::DropOldestHeld => {}
                    Op::AwaitHeld => {
                        if let Some(future) = held.pop() {
                            future.await;
                        }
                    }
                    Op::RaceHeld(leaf) => {
                        if let Some(mut future) = held.pop() {
                            let race = self.ctx.select2(&mut future, self.schedule(leaf)).await;
                            if race.is_second() {
                                held.push(future);
                            }
                        }
                    }
                    op => self.op(op).await?,
                }
            }
            Ok(())
        })
    }

    async fn op(&self, op: &Op) -> Result<(), String> {
        let ctx = &self.ctx;
        match op {
            Op::Await(leaf) => self.schedule(leaf).await,
            Op::DropAtOnce(leaf) => drop(self.schedule(leaf)),
            Op::Forget(leaf) => std::mem::forget(self.schedule(leaf)),
            Op::Join(blocks) => {
                let ends = ctx.join(blocks.iter().map(|block| self.block(block)).collect()).await;
                self.pass("joined");
                return ends.into_iter().collect();
            }
            Op::Race2(a, b) => {
                let (winner, end) = ctx.select2(self.block(a), self.block(b)).await.into_tuple();
                self.pass(&format!("raced {winner}"));
                return end;
            }
            Op::Race3(a, b, c) => {
                let race = ctx.select3(self.block(a), self.block(b), self.block(c)).await;
                let (winner, end) = race.into_tuple();
                self.pass(&format!("raced {winner}"));
                return end;
            }
            Op::Sequence(after, before) => return self.sequence(after, before).await,
            Op::Yield => {
                yield_once().await;
                self.pass("yielded");
            }
            Op::Loop(times, body) => {
                for _time in 0..*times {
                    self.block(body).await?;
                }
            }
            Op::Retry { attempts, delay, timeout } => {
                let result = self.retry(*attempts, *delay, *timeout).await;
                self.pass(&format!("retried {result:?}"));
            }
            Op::Patched(id, body) => {
                if self.has_patches && ctx.patched(format!("p{id}")) {
                    self.pass(&format!("patched {id}"));
                    return self.block(body).await;
                }
            }
            Op::Continue { awaited } => self.continue_as_new(*awaited).await,
            Op::Fail => return Err(self.digest()),
            state => self.change(state),
        }
        Ok(())
    }

    /// Operations that complete at once.
    fn change(&self, op: &Op) {
        let ctx = &self.ctx;
        match op {
            Op::SetKey(key) => ctx.set_kv_value(format!("k{key}"), self.digest()),
            Op::ClearKey(key) => ctx.clear_kv_value(format!("k{key}")),
            Op::ClearKeys => ctx.clear_all_kv_values(),
            Op::PruneKeys(before) => {
                let pruned = ctx.prune_kv_values_updated_before(u64::from(*before));
                self.pass(&format!("pruned {pruned} leaves {:?}", ctx.get_kv_all_keys()));
            }
            Op::Status => ctx.set_custom_status(self.digest()),
            Op::Detached => ctx.schedule_orchestration("Other", "other", self.digest()),
            other => panic!("{other:?} does not complete at once"),
        }
    }

    async fn sequence(&self, after: &[Op], before: &[Op]) -> Result<(), String> {
        let (sender, receiver) = oneshot::channel();
        let receiving = async {
            self.pass(&format!("received {:?}", receiver.await));
            self.block(after).await
        };
        let sending = async {
            let end = self.block(before).await;
            sender.send(self.digest())?;
            end
        };
        let (after_result, before_result) = self.ctx.join2(receiving, sending).await;
        after_result.and(before_result)
    }

    async fn retry(&self, attempts: u32, delay: bool, timeout: bool) -> Result<String, String> {
        let backoff = match delay {
            true => BackoffStrategy::Fixed { delay: Duration::from_millis(3) },
            false => BackoffStrategy::None,
        };
        let mut policy = RetryPolicy::new(attempts).with_backoff(backoff);
        if timeout {
            policy = policy.with_timeout(Duration::from_millis(9));
        }
        self.ctx.schedule_activity_with_retry("A", self.digest(), policy).await
    }

    async fn continue_as_new(&self, awaited: bool) {
        if self.ctx.execution_id() >= GENERATIONS {
            return;
        }
        let next = self.ctx.continue_as_new(self.digest());
        if awaited {
            // It never completes.
            drop(next.await);
        }
    }
}
