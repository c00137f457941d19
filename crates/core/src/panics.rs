//! Panics as values, so that none ends a task of the runtime.

use std::any::Any;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Once;
use std::task::Poll;

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// The text of a panic; `None` if it carries something else.
pub(crate) fn text(payload: &(dyn Any + Send)) -> Option<String> {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned())
}

/// Drops what a panic carries. It may be anything, also something that panics when it is dropped.
pub(crate) fn discard(payload: Payload) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // Dropping this payload may panic with yet another one, without end; leak it instead.
        std::mem::forget(another);
    }
}

thread_local! {
    /// Where the code that this thread watches panicked; `None` while it watches none.
    static WATCHED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Calls a function that catches panics itself. Returns the line of the last one, and keeps them
/// out of the program's panic hook.
pub(crate) fn located<T>(call: impl FnOnce() -> T) -> (T, Option<String>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let program = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let note = |watched: &RefCell<Option<String>>| match &mut *watched.borrow_mut() {
                Some(place) => {
                    *place = panic.location().map(ToString::to_string).unwrap_or_default();
                    true
                }
                None => false,
            };
            if !WATCHED.try_with(note).unwrap_or(false) {
                program(panic);
            }
        }));
    });
    WATCHED.set(Some(String::new()));
    let result = call();
    (result, WATCHED.take().filter(|place| !place.is_empty()))
}

/// Runs a future; a panic in it ends it and is returned as its text.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        // Unwind safety: a future that panicked is not polled again.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(payload) => {
                let message = text(payload.as_ref()).unwrap_or_else(|| "without a text".to_owned());
                discard(payload);
                Poll::Ready(Err(message))
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics when it is dropped, with another one of its kind.
    struct Bomb(u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                std::panic::panic_any(Bomb(self.0 - 1));
            }
        }
    }

    #[tokio::test]
    async fn a_panic_is_returned_as_its_text() {
        assert_eq!(caught(async { 7 }).await, Ok(7));
        let message = caught(async { panic!("number {}", 7) }).await;
        assert_eq!(message, Err::<(), _>("number 7".to_owned()));
        let message = caught(async { std::panic::panic_any(7_u32) }).await;
        assert_eq!(message, Err::<(), _>("without a text".to_owned()));
    }

    #[tokio::test]
    async fn what_a_panic_carries_may_panic_too() {
        let message = caught(async { std::panic::panic_any(Bomb(3)) }).await;
        assert_eq!(message, Err::<(), _>("without a text".to_owned()));
    }
}
