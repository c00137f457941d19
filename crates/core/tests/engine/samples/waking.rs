//! Code that wakes itself or its own branches.

use std::future::poll_fn;
use std::task::Poll;

use tokio::sync::oneshot;

/// Wakes itself and completes at the next poll.
pub(crate) async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

super::samples! {
    branches_with_channel(ctx, _input) {
        let (sender, receiver) = oneshot::channel::<String>();
        let receiving = async {
            let text = receiver.await.map_err(|error| error.to_string())?;
            ctx.schedule_activity("B", text).await
        };
        let sending = async {
            let result = ctx.schedule_activity("A", "1").await?;
            sender.send(result)
        };
        let (received, sent) = ctx.join2(receiving, sending).await;
        sent.and(received)
    }
    wakes_itself(_ctx, _input) {
        loop {
            yield_once().await;
        }
    }
    yields(ctx, input) {
        let count: usize = input.parse().map_err(|_| "a number".to_owned())?;
        for _time in 0..count {
            yield_once().await;
        }
        let result = ctx.schedule_activity("A", "1").await;
        yield_once().await;
        result
    }
}
