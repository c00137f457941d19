//! Functions that name themselves: continue-as-new with other types than texts, and children of
//! the own kind.

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::support::node;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Sum {
    added: Vec<u32>,
}

#[derive(Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("{0} is too much")]
struct TooMuch(u32);

#[orchestration]
async fn add(ctx: OrchestrationContext, limit: u32, mut sum: Sum) -> Result<Sum, TooMuch> {
    let next = u32::try_from(sum.added.len()).unwrap_or(u32::MAX);
    if next == limit {
        return Ok(sum);
    }
    if next > 3 {
        return Err(TooMuch(next));
    }
    sum.added.push(next);
    ctx.continue_as(add, (limit, sum)).await
}

#[tokio::test]
async fn a_function_continues_as_itself_with_its_own_types() {
    let (runtime, client) = node(DuroxideRuntime::builder().register(add)).await;
    let empty = Sum { added: Vec::new() };
    let three = client.start(add, "three", (3, empty.clone())).await.unwrap();
    assert_eq!(three.result().await, Ok(Sum { added: vec![0, 1, 2] }));
    let row = client.get_instance_row("three").await.unwrap().unwrap();
    assert_eq!(row.executions, 4);
    let nine = client.start(add, "nine", (9, empty)).await.unwrap();
    assert_eq!(nine.result().await, Err(CallError::App(TooMuch(4))));
    runtime.shutdown(None).await;
}

/// Counts the nodes of a binary tree of this depth, which are its instances.
#[orchestration]
async fn tree(ctx: OrchestrationContext, depth: u32) -> Result<u32, String> {
    if depth == 0 {
        return Ok(1);
    }
    let (left, right) = duroxide::join!(ctx.child(tree, depth - 1), ctx.child(tree, depth - 1));
    Ok(left? + right? + 1)
}

/// Calls itself as it is, without an instance of its own.
#[orchestration]
async fn sum(ctx: OrchestrationContext, number: u32) -> Result<u32, String> {
    match number {
        0 => Ok(0),
        _ => Ok(number + sum(ctx, number - 1).await?),
    }
}

#[tokio::test]
async fn a_function_starts_children_of_its_own_kind_and_calls_itself() {
    let (runtime, client) = node(DuroxideRuntime::builder().register(tree).register(sum)).await;
    let counted = client.start(tree, "tree", 3).await.unwrap();
    assert_eq!(counted.result().await, Ok(15));
    assert_eq!(client.list_all_instances().await.unwrap().len(), 15);
    let summed = client.start(sum, "sum", 4).await.unwrap();
    assert_eq!(summed.result().await, Ok(10));
    runtime.shutdown(None).await;
}
