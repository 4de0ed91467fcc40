//! MPI libraries whose tags can be told in words: what the 64 bits of a tag mean to libfabric is the matter of who uses it.

use carrousel_rank::TagSelector;
use serde::{Deserialize, Serialize};

/// An MPI library that uses libfabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostLibrary {
    /// MPICH: 31 bits of the tag, above them 20 of the context, above them those of its protocol (`ofi_impl.h`,
    /// `MPIDI_OFI_init_sendtag`, where the sender's rank is in the data beside the message).
    Mpich,
    /// Open MPI: 32 bits of the tag, two of its protocol, 30 of the context (`mtl_ofi_types.h`, with
    /// `FI_REMOTE_CQ_DATA`). Tags below zero are those of its collectives.
    OpenMpi,
}

impl HostLibrary {
    /// The tag of a message, or the tags that a receive accepts: `tag 7 of context 4`.
    pub fn tag_text(self, tag: TagSelector) -> String {
        let (bits, ignored) = (tag.tag().0, tag.ignore());
        let (of_tag, any, context, protocol) = match self {
            Self::Mpich => (0x7fff_ffff, 0x7fff_ffff, bits >> 31 & 0xf_ffff, bits >> 51),
            // Receives of any tag take no message of a collective.
            Self::OpenMpi => (0xffff_ffff, 0x7fff_ffff, bits >> 34, bits >> 32 & 3),
        };
        let tag = match ignored & of_tag {
            0 => format!("tag {}", (bits & of_tag) as u32 as i32),
            ignored if ignored == any => "any tag".to_owned(),
            _ => return raw_tag(tag),
        };
        let protocol = if protocol == 0 { String::new() } else { format!(", with bits {protocol:#x}") };
        format!("{tag} of context {context}{protocol}")
    }
}

/// A tag whose bits mean nothing that is known.
fn raw_tag(tag: TagSelector) -> String {
    match tag.ignore() {
        0 => format!("tag {:#x}", tag.tag().0),
        u64::MAX => "any tag".to_owned(),
        ignored => format!("tag {:#x} but for the bits {ignored:#x}", tag.tag().0),
    }
}

/// The tag of a message, or the tags that a receive accepts, in words of the library if it is known.
pub fn tag_text(library: Option<HostLibrary>, tag: TagSelector) -> String {
    library.map_or_else(|| raw_tag(tag), |library| library.tag_text(tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_rank::Tag;

    #[test]
    fn tags_are_told_as_their_library_means_them() {
        let (mpich, open) = (Some(HostLibrary::Mpich), Some(HostLibrary::OpenMpi));
        let protocol = 0x14 << 51;
        for (library, bits, ignored, text) in [
            (mpich, 4 << 31 | 7, protocol, "tag 7 of context 4"),
            (mpich, 5 << 31, protocol | 0x7fff_ffff, "any tag of context 5"),
            (mpich, 8 << 51 | 4 << 31 | 7, 0, "tag 7 of context 4, with bits 0x8"),
            (mpich, 4 << 31 | 8, 7, "tag 0x200000008 but for the bits 0x7"),
            (open, 3 << 34 | 7, 3 << 32, "tag 7 of context 3"),
            (open, 3 << 34 | 0xffff_fff0, 0, "tag -16 of context 3"),
            (open, 3 << 34, 3 << 32 | 0x7fff_ffff, "any tag of context 3"),
            (open, 3 << 34 | 1 << 32 | 7, 0, "tag 7 of context 3, with bits 0x1"),
            (None, 1 << 40, 0, "tag 0x10000000000"),
            (None, 1 << 40, 0xf0, "tag 0x10000000000 but for the bits 0xf0"),
            (None, 0, u64::MAX, "any tag"),
        ] {
            assert_eq!(tag_text(library, TagSelector::new(Tag(bits), ignored)), text);
        }
    }
}
