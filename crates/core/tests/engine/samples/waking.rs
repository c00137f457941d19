//! Code that wakes itself or parts of itself.

use std::future::poll_fn;
use std::task::Poll;

use tokio::sync::oneshot;

/// Wakes itself and goes on at the next poll.
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
        let (tell, told) = oneshot::channel::<String>();
        let listener = async {
            let text = told.await.map_err(|error| error.to_string())?;
            ctx.schedule_activity("B", text).await
        };
        let teller = async {
            let answer = ctx.schedule_activity("A", "1").await?;
            tell.send(answer)
        };
        let (heard, told) = ctx.join2(listener, teller).await;
        told.and(heard)
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
        let answer = ctx.schedule_activity("A", "1").await;
        yield_once().await;
        answer
    }
}
