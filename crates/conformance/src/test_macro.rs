//! Generates one test for every validation.

/// Generates a `#[tokio::test]` for every validation, in a module per category.
///
/// The factory is any expression; each test evaluates it. Name the abilities that the backend lacks
/// by [`Ability::word`](crate::Ability::word): validations that need one are listed as ignored,
/// with the reason.
///
/// ```
/// # use std::sync::Arc;
/// # use duroxide_conformance::ProviderFactory;
/// # use duroxide_core::providers::Provider;
/// # struct MyFactory;
/// # #[async_trait::async_trait]
/// # impl ProviderFactory for MyFactory {
/// #     async fn create_provider(&self) -> Arc<dyn Provider> { unreachable!() }
/// # }
/// mod my_backend {
///     use super::MyFactory;
///
///     duroxide_conformance::provider_conformance_tests!(MyFactory);
/// }
///
/// mod another_backend {
///     use super::MyFactory;
///
///     duroxide_conformance::provider_conformance_tests!(
///         MyFactory,
///         without = [corruption, waiting]
///     );
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! provider_conformance_tests {
    ($factory:expr $(,)?) => {
        $crate::provider_conformance_tests!($factory, without = []);
    };
    ($factory:expr, without = [$($ability:ident),* $(,)?] $(,)?) => {
        $crate::__each_category! { __category_tests ($factory, [$($ability)*]) }
    };
}

/// The tests of one category.
#[doc(hidden)]
#[macro_export]
macro_rules! __category_tests {
    (
        ($factory:expr, $without:tt) $category:ident
        $($name:ident $(needs($($ability:ident),+))? $(via $wrapper:ident)?;)*
    ) => {
        mod $category {
            // The factory expression uses the names of the surrounding module.
            #[allow(unused_imports)]
            use super::*;

            $($crate::__test! {
                ($factory, $category, $name) needs [$($($ability)+)?] without $without left $without
            })*
        }
    };
}

/// Decides whether a test is ignored by comparing each needed ability with each missing one.
/// `cfg_attr` sets the attribute because the tests of this repository must not be ignored.
#[doc(hidden)]
#[macro_export]
macro_rules! __test {
    (($factory:expr, $category:ident, $name:ident) needs [] without $w:tt left $l:tt) => {
        $crate::__test_fn! { $factory, $category, $name }
    };
    ($test:tt needs [corruption $($n:ident)*] without $w:tt left [corruption $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend offers no corruption hook" }
    };
    ($test:tt needs [attempt_counts $($n:ident)*] without $w:tt
        left [attempt_counts $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend does not expose attempt counts" }
    };
    ($test:tt needs [management $($n:ident)*] without $w:tt left [management $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend has no management side" }
    };
    ($test:tt needs [waiting $($n:ident)*] without $w:tt left [waiting $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend does not wait for work" }
    };
    ($test:tt needs [watching $($n:ident)*] without $w:tt left [watching $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend does not publish changes" }
    };
    ($test:tt needs [progress $($n:ident)*] without $w:tt left [progress $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend does not keep progress of activities" }
    };
    ($test:tt needs [start_limits $($n:ident)*] without $w:tt
        left [start_limits $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend keeps no schedule-to-start limits" }
    };
    ($test:tt needs [workers $($n:ident)*] without $w:tt left [workers $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend does not list workers and waiting activities" }
    };
    ($test:tt needs [work_leases $($n:ident)*] without $w:tt left [work_leases $($l:ident)*]) => {
        $crate::__ignored! { $test "the commits of the backend lease no activities" }
    };
    ($test:tt needs [direct_turns $($n:ident)*] without $w:tt left [direct_turns $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend commits no direct turns" }
    };
    ($test:tt needs [lease_holders $($n:ident)*] without $w:tt
        left [lease_holders $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend knows no lease holders" }
    };
    ($test:tt needs [reclaiming $($n:ident)*] without $w:tt left [reclaiming $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend cannot reclaim expired leases" }
    };
    ($test:tt needs [message_ids $($n:ident)*] without $w:tt left [message_ids $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend does not remember ids of messages" }
    };
    ($test:tt needs [bounded_turns $($n:ident)*] without $w:tt
        left [bounded_turns $($l:ident)*]) => {
        $crate::__ignored! { $test "a turn of the backend takes all messages" }
    };
    ($test:tt needs [vouching $($n:ident)*] without $w:tt left [vouching $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend counts every lost lease as an attempt" }
    };
    ($test:tt needs [new_starts $($n:ident)*] without $w:tt left [new_starts $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend cannot start only new instances" }
    };
    ($test:tt needs [suspension $($n:ident)*] without $w:tt left [suspension $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend suspends no instances" }
    };
    ($test:tt needs [holding $($n:ident)*] without $w:tt left [holding $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend holds no instances for operators" }
    };
    ($test:tt needs [instance_queues $($n:ident)*] without $w:tt
        left [instance_queues $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend does not report the queues of an instance" }
    };
    ($test:tt needs [reopening $($n:ident)*] without $w:tt left [reopening $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend stores no executions for operators" }
    };
    ($test:tt needs [transfer $($n:ident)*] without $w:tt left [transfer $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend does not carry instances between stores" }
    };
    ($test:tt needs $n:tt without $w:tt left [$other:ident $($l:ident)*]) => {
        $crate::__test! { $test needs $n without $w left [$($l)*] }
    };
    ($test:tt needs [$met:ident $($n:ident)*] without $w:tt left []) => {
        $crate::__test! { $test needs [$($n)*] without $w left $w }
    };
}

/// A test that is listed but not run.
#[doc(hidden)]
#[macro_export]
macro_rules! __ignored {
    (($factory:expr, $category:ident, $name:ident) $reason:literal) => {
        $crate::__test_fn! { $factory, $category, $name, cfg_attr(all(), ignore = $reason) }
    };
}

/// One test.
#[doc(hidden)]
#[macro_export]
macro_rules! __test_fn {
    ($factory:expr, $category:ident, $name:ident $(, $attribute:meta)?) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        $(#[$attribute])?
        async fn $name() {
            let (category, name) = (stringify!($category), stringify!($name));
            $crate::run_validation(&$factory, category, name).await;
        }
    };
}
