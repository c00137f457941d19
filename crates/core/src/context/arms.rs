//! `join!` and `select!`: any number of futures of any type.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for all futures and returns their results as a tuple.
///
/// The futures may be of any type, also `async` blocks. They are polled in the order of the
/// arguments, which is the same in every replay. Use it within orchestration code.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::OrchestrationContext;
///
/// async fn book_trip(ctx: OrchestrationContext, city: String) -> Result<String, String> {
///     let (flight, hotel, car) = duroxide::join!(
///         ctx.schedule_activity("BookFlight", city.clone()),
///         ctx.schedule_activity("BookHotel", city.clone()),
///         async {
///             let offer = ctx.schedule_activity("FindCar", city.clone()).await?;
///             ctx.schedule_activity("BookCar", offer).await
///         },
///     );
///     Ok(format!("{}, {}, {}", flight?, hotel?, car?))
/// }
/// ```
#[macro_export]
macro_rules! join {
    ($($future:expr),+ $(,)?) => { $crate::__join_arms!([] $($future,)+) };
}

/// Waits for the first of several futures, drops the others, which cancels their work, and runs
/// the block of the first.
///
/// An arm is `pattern = future => expression`; the pattern must match every value. If several
/// futures are ready, the earliest arm wins, in every replay. The futures may be of any type, also
/// `async` blocks. A future that must outlive the race is passed as `&mut future`. Use it within
/// orchestration code.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use std::time::Duration;
///
/// use duroxide::OrchestrationContext;
///
/// async fn approval(ctx: OrchestrationContext, _order: String) -> Result<String, String> {
///     duroxide::select! {
///         by = ctx.schedule_wait("approved") => Ok(format!("approved by {by}")),
///         reason = ctx.schedule_wait("rejected") => Err(reason),
///         () = ctx.schedule_timer(Duration::from_secs(24 * 60 * 60)) => {
///             Err("no decision within a day".to_owned())
///         }
///     }
/// }
/// ```
#[macro_export]
macro_rules! select {
    ($($arms:tt)+) => { $crate::__select_arms!([] $($arms)+) };
}

// Each step introduces identifiers of its own: those of one step do not collide with those of
// another, although they are spelled alike.

#[doc(hidden)]
#[macro_export]
macro_rules! __join_arms {
    ([$($future:ident $value:ident $code:expr,)*] $head:expr, $($rest:tt)*) => {
        $crate::__join_arms!([$($future $value $code,)* future value $head,] $($rest)*)
    };
    ([$($future:ident $value:ident $code:expr,)+]) => {{
        $(
            let mut $future = ::std::pin::pin!($code);
            let mut $value = ::std::option::Option::None;
        )+
        ::std::future::poll_fn(|cx| {
            let mut all_ready = true;
            $(all_ready &= $crate::context::poll_arm($future.as_mut(), &mut $value, cx);)+
            if !all_ready {
                return ::std::task::Poll::Pending;
            }
            ::std::task::Poll::Ready((
                $($value.take().expect("a join is polled until all are ready"),)+
            ))
        })
        .await
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select_arms {
    ([$($arms:tt)*] $pattern:pat = $code:expr => $body:block, $($rest:tt)*) => {
        $crate::__select_arms!([$($arms)* [future value ($pattern) ($code) ($body)]] $($rest)*)
    };
    ([$($arms:tt)*] $pattern:pat = $code:expr => $body:block $($rest:tt)*) => {
        $crate::__select_arms!([$($arms)* [future value ($pattern) ($code) ($body)]] $($rest)*)
    };
    ([$($arms:tt)*] $pattern:pat = $code:expr => $body:expr, $($rest:tt)*) => {
        $crate::__select_arms!([$($arms)* [future value ($pattern) ($code) ($body)]] $($rest)*)
    };
    ([$($arms:tt)*] $pattern:pat = $code:expr => $body:expr) => {
        $crate::__select_arms!([$($arms)* [future value ($pattern) ($code) ($body)]])
    };
    ([$([$future:ident $value:ident ($pattern:pat) ($code:expr) ($body:expr)])+]) => {{
        $(let mut $value = ::std::option::Option::None;)+
        {
            $(let mut $future = ::std::pin::pin!($code);)+
            ::std::future::poll_fn(|cx| {
                $(if $crate::context::poll_arm($future.as_mut(), &mut $value, cx) {
                    return ::std::task::Poll::Ready(());
                })+
                ::std::task::Poll::Pending
            })
            .await;
        }
        // The others are dropped before the block runs.
        $crate::__select_bodies!($([$value ($pattern) ($body)])+)
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __select_bodies {
    ([$value:ident ($pattern:pat) ($body:expr)] $($rest:tt)*) => {
        match $value {
            ::std::option::Option::Some(value) => {
                let $pattern = value;
                $body
            }
            ::std::option::Option::None => $crate::__select_bodies!($($rest)*),
        }
    };
    () => { ::std::unreachable!("a race ends with the value of one arm") };
}

/// Polls a future that has no value yet, and stores its value. Returns whether there is one.
#[doc(hidden)]
pub fn poll_arm<F: Future>(
    future: Pin<&mut F>,
    value: &mut Option<F::Output>,
    cx: &mut Context<'_>,
) -> bool {
    if value.is_none()
        && let Poll::Ready(ready) = future.poll(cx)
    {
        *value = Some(ready);
    }
    value.is_some()
}
