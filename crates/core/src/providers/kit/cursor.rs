//! Cursors of a list that is ordered by one number.

use super::RowError;
use crate::providers::ListCursor;

/// The cursor behind the item with this number.
pub fn cursor_at(number: u64) -> ListCursor {
    ListCursor::new(number.to_string())
}

/// The number that the next page starts behind; zero for the first page.
pub fn number_behind(after: Option<&ListCursor>) -> Result<u64, RowError> {
    let Some(cursor) = after else { return Ok(0) };
    cursor.as_str().parse().map_err(|_| RowError::UnknownCursor(cursor.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_returns_to_its_number() {
        assert_eq!(number_behind(None).unwrap(), 0);
        for number in [0, 7, u64::MAX] {
            assert_eq!(number_behind(Some(&cursor_at(number))).unwrap(), number);
        }
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        for text in ["", "-1", "7;9", "18446744073709551616"] {
            let error = number_behind(Some(&ListCursor::new(text))).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
