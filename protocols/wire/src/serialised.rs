//! The serialised form of a communicator, which cannot be derived, as not every number is one.

use crate::Communicator;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A communicator is its number.
impl Serialize for Communicator {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.index().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Communicator {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = u16::deserialize(from)?;
        Self::new(number).ok_or_else(|| D::Error::custom(format_args!("there is no communicator {number}")))
    }
}
