//! The JSON form of values that belong to other parts of the API.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::client::StrandedReason;
use crate::providers::SuspensionOrigin;

/// The word of an origin.
pub(super) fn origin<S: Serializer>(origin: &SuspensionOrigin, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(origin.as_str())
}

impl Serialize for StrandedReason {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut object = to.serialize_struct("StrandedReason", 2)?;
        object.serialize_field("reason", self.word())?;
        object.serialize_field("text", &self.to_string())?;
        object.end()
    }
}
