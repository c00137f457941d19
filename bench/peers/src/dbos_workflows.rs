//! The workflows of the comparison, written for dbos.

use bench_harness::job::two_numbers;
use dbos::{DBOS, Result, WorkflowRef};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

/// The input is malformed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InvalidInput(String);

impl std::fmt::Display for InvalidInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidInput {}

/// A workflow that can be started.
pub(crate) type Workflow = WorkflowRef<String, String, InvalidInput>;

/// Registers a chain and a fan-out.
pub(crate) fn register(dbos: &DBOS) -> Result<(Workflow, Workflow)> {
    Ok((dbos.register_workflow("chain", chain)?, dbos.register_workflow("fan_out", fan_out)?))
}

async fn add_one(value: u64) -> Result<u64, InvalidInput> {
    Ok(value + 1)
}

async fn chain(input: String) -> Result<String, InvalidInput> {
    let (steps, _) = two_numbers(&input).map_err(InvalidInput)?;
    let mut value = 0;
    for _ in 0..steps {
        value = dbos::step("add_one", move || add_one(value)).await?;
    }
    Ok(value.to_string())
}

async fn fan_out(input: String) -> Result<String, InvalidInput> {
    let (width, _) = two_numbers(&input).map_err(InvalidInput)?;
    let calls = (0..width).map(|call| dbos::step("add_one", move || add_one(call)));
    let mut sum = 0;
    for result in join_all(calls.collect::<Vec<_>>()).await {
        sum += result?;
    }
    Ok(sum.to_string())
}
