//! The shapes of functions that have handles, by the number of their parameters.

use super::callable::Callable;
use super::functions::{CallableFn, CodeContext, Method, MethodFn, RecordedFn};
use super::recorded::Recorded;

macro_rules! functions_with {
    ($input:pat, $type:ty, $($name:ident: $arg:ident),*) => {
        impl<F, C, H, $($arg),*> CallableFn<(C, $($arg,)*)> for F
        where
            F: Fn(C, $($arg),*) -> Recorded<'static, H>,
            C: CodeContext,
            H: Callable,
        {
            type Handle = H;
        }

        impl<F, S, C, H, $($arg),*> CallableFn<Method<(S, C, $($arg,)*)>> for F
        where
            F: for<'a> Fn(&'a S, C, $($arg),*) -> Recorded<'a, H>,
            C: CodeContext,
            H: Callable,
        {
            type Handle = H;
        }

        impl<F, C, H, $($arg),*> RecordedFn<C, ($($arg,)*)> for F
        where
            F: Fn(C, $($arg),*) -> Recorded<'static, H> + Send + Sync + 'static,
            C: CodeContext,
            H: Callable<Input = $type>,
        {
            type Handle = H;

            fn start(&self, ctx: C, $input: $type) -> Recorded<'static, H> {
                self(ctx, $($name),*)
            }
        }

        impl<F, S, C, H, $($arg),*> MethodFn<S, C, ($($arg,)*)> for F
        where
            F: for<'a> Fn(&'a S, C, $($arg),*) -> Recorded<'a, H> + Send + Sync + 'static,
            C: CodeContext,
            H: Callable<Input = $type>,
        {
            type Handle = H;

            fn start<'a>(&self, state: &'a S, ctx: C, $input: $type) -> Recorded<'a, H> {
                self(state, ctx, $($name),*)
            }
        }
    };
}

functions_with!((), (),);
functions_with!(a, A, a: A);
functions_with!((a, b), (A, B), a: A, b: B);
functions_with!((a, b, c), (A, B, D), a: A, b: B, c: D);
functions_with!((a, b, c, d), (A, B, D, E), a: A, b: B, c: D, d: E);
functions_with!((a, b, c, d, e), (A, B, D, E, G), a: A, b: B, c: D, d: E, e: G);
functions_with!((a, b, c, d, e, f), (A, B, D, E, G, I), a: A, b: B, c: D, d: E, e: G, f: I);
