//! Cursors of the list of stranded turns.

use serde::{Deserialize, Serialize};

use super::RowError;
use crate::providers::ListCursor;

/// A place in the list of stranded turns: first those whose lease has expired, then those that are
/// listed as ready, by their routes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnPlace {
    /// Behind the expired lease of an instance.
    Late {
        /// When the lease expired.
        until: i64,
        /// The instance.
        instance: String,
    },
    /// Behind a ready message.
    Ready {
        /// The route of the message, as the store has it.
        route: Vec<u8>,
        /// When the message became visible.
        visible_at: i64,
        /// Its number in the queue.
        number: i64,
    },
}

impl TurnPlace {
    /// Behind all ready messages of a route.
    pub fn behind_route(route: Vec<u8>) -> Self {
        Self::Ready { route, visible_at: i64::MAX, number: i64::MAX }
    }

    /// The cursor of this place.
    ///
    /// # Errors
    /// When it has no stored form.
    pub fn cursor(&self) -> Result<ListCursor, RowError> {
        Ok(ListCursor::new(serde_json::to_string(self).map_err(RowError::malformed)?))
    }

    /// The place that the next page starts behind; before the first turn without a cursor.
    ///
    /// # Errors
    /// When the cursor is not one of this list.
    pub fn behind(after: Option<&ListCursor>) -> Result<Self, RowError> {
        let Some(cursor) = after else {
            return Ok(Self::Late { until: i64::MIN, instance: String::new() });
        };
        serde_json::from_str(cursor.as_str()).map_err(|_| RowError::UnknownCursor(cursor.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_returns_to_its_place() {
        let late = TurnPlace::Late { until: 7, instance: "a \"b\"".to_owned() };
        for place in [late, TurnPlace::behind_route(vec![0, 1, 255])] {
            assert_eq!(TurnPlace::behind(Some(&place.cursor().unwrap())).unwrap(), place);
        }
        let error = TurnPlace::behind(Some(&ListCursor::new("7"))).unwrap_err();
        assert!(error.to_string().contains("`7`"), "{error}");
    }
}
