//! The serialised form of a selector, which cannot be derived, as not every pair of numbers is one.

use crate::{Tag, TagSelector};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A tag, and the bits that a selector ignores, if there are any.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Selector {
    tag: Tag,
    #[serde(default, skip_serializing_if = "is_zero")]
    ignore: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a function of a reference")]
fn is_zero(bits: &u64) -> bool {
    *bits == 0
}

impl Serialize for TagSelector {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Selector { tag: self.tag(), ignore: self.ignore() }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for TagSelector {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Selector { tag, ignore } = Selector::deserialize(from)?;
        if tag.0 & ignore != 0 {
            let Tag(tag) = tag;
            return Err(D::Error::custom(format_args!(
                "tag {tag} has bits of those that it ignores, {ignore}"
            )));
        }
        Ok(Self::new(tag, ignore))
    }
}
