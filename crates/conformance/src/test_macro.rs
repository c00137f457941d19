//! One line per backend: a test of every validation.

/// Makes a `#[tokio::test]` of every validation, in a module per category.
///
/// The factory is any expression; it is evaluated in each test. What the backend lacks is named
/// by [`Ability::word`](crate::Ability::word): validations that need it are shown as ignored, with
/// the reason.
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
            // The factory is named as in the module around.
            #[allow(unused_imports)]
            use super::*;

            $($crate::__test! {
                ($factory, $category, $name) needs [$($($ability)+)?] without $without left $without
            })*
        }
    };
}

/// Decides whether a test is shown as ignored, by comparing each needed ability with each missing
/// one. The attribute is spelled through `cfg_attr` because our own tests must not be ignored.
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
        $crate::__ignored! { $test "the backend offers no look at attempt counts" }
    };
    ($test:tt needs [management $($n:ident)*] without $w:tt left [management $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend has no management side" }
    };
    ($test:tt needs [waiting $($n:ident)*] without $w:tt left [waiting $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend does not wait for work" }
    };
    ($test:tt needs [watching $($n:ident)*] without $w:tt left [watching $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend does not tell of changes" }
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
        $crate::__ignored! { $test "the backend leases no activities by commits" }
    };
    ($test:tt needs [direct_turns $($n:ident)*] without $w:tt left [direct_turns $($l:ident)*]) => {
        $crate::__ignored! { $test "the backend takes no direct turns" }
    };
    ($test:tt needs $n:tt without $w:tt left [$other:ident $($l:ident)*]) => {
        $crate::__test! { $test needs $n without $w left [$($l)*] }
    };
    ($test:tt needs [$met:ident $($n:ident)*] without $w:tt left []) => {
        $crate::__test! { $test needs [$($n)*] without $w left $w }
    };
}

/// A test that is listed and does not run.
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
