//! Mistakes that do not compile. Each file in `cases` is one, and the `.stderr` file beside it is
//! what the compiler says: at the code of the user, and in words about it.
//!
//! `TRYBUILD=overwrite cargo test -p duroxide-macros --test compile_fail` writes the texts again.

#[test]
fn a_mistake_is_reported_at_the_code_that_makes_it() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/cases/*.rs");
}
