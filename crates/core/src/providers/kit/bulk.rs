//! Bulk operations go on past an instance that fails.

use std::fmt::Display;

use crate::limits::BULK_ERRORS_MAX;

/// What failed in a bulk operation so far.
#[derive(Debug)]
pub struct BulkErrors<E> {
    first: Option<E>,
    in_a_row: usize,
}

impl<E> Default for BulkErrors<E> {
    fn default() -> Self {
        Self { first: None, in_a_row: 0 }
    }
}

impl<E: Display> BulkErrors<E> {
    /// The operation succeeded for an instance.
    pub fn succeeded(&mut self) {
        self.in_a_row = 0;
    }

    /// The operation failed for an instance; it goes on with the next one.
    ///
    /// # Errors
    /// When so many fail in a row that the store itself must be in trouble.
    pub fn failed(&mut self, instance_id: &str, error: E) -> Result<(), E> {
        tracing::warn!(
            target: "duroxide::providers",
            instance_id,
            %error,
            "a bulk operation failed for an instance; passing over it"
        );
        self.in_a_row += 1;
        if self.in_a_row >= BULK_ERRORS_MAX {
            return Err(error);
        }
        self.first.get_or_insert(error);
        Ok(())
    }

    /// The end of the operation.
    ///
    /// # Errors
    /// The first error, unless the operation succeeded for any instance.
    pub fn unless(self, is_done: bool) -> Result<(), E> {
        self.first.filter(|_| !is_done).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_failures_are_passed_over() {
        let mut errors = BulkErrors::default();
        for _ in 0..10 {
            errors.failed("a", "broken").unwrap();
            errors.succeeded();
        }
        assert_eq!(errors.unless(true), Ok(()));
    }

    #[test]
    fn a_store_in_trouble_ends_the_operation() {
        let mut errors = BulkErrors::default();
        for _ in 1..BULK_ERRORS_MAX {
            errors.failed("a", "broken").unwrap();
        }
        assert_eq!(errors.failed("b", "down"), Err("down"));
        assert_eq!(errors.unless(false), Err("broken"));
    }
}
