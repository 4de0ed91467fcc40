//! What is known of requests beside their state: what they are, for a person, and their memory.

use carrousel_rank::{Handle, Source, TagSelector};
use std::fmt;

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A send.
    Send { to: u32, tag: u32, len: u64, synchronous: bool },
    /// A receive.
    Receive { from: Source, tag: TagSelector, len: u64 },
    /// A barrier.
    Barrier,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Send { to, tag, len, synchronous } => {
                let synchronous = if synchronous { "synchronous " } else { "" };
                write!(f, "{synchronous}send to {to}, tag {tag}, {len} bytes")
            }
            Self::Receive { from, tag, len } => {
                f.write_str("receive from ")?;
                match from {
                    Source::Rank(rank) => write!(f, "{}", rank.0)?,
                    Source::Any => f.write_str("any")?,
                }
                match tag {
                    TagSelector::Tag(tag) => write!(f, ", tag {}", tag.0)?,
                    TagSelector::Any => f.write_str(", any tag")?,
                }
                write!(f, ", {len} bytes")
            }
            Self::Barrier => f.write_str("barrier"),
        }
    }
}

/// What is known of requests, by position.
#[derive(Debug, Default)]
pub(super) struct Pending {
    list: Vec<(What, u32)>,
}

impl Pending {
    /// A request begins, with the memory under `key`.
    #[inline]
    pub(super) fn begin(&mut self, request: Handle, what: What, key: u32) {
        let index = request.index as usize;
        if index < self.list.len() {
            self.list[index] = (what, key);
        } else {
            self.list.resize(index, (What::Barrier, u32::MAX));
            self.list.push((what, key));
        }
    }

    /// A request ends. Returns the key of its memory.
    #[inline]
    pub(super) fn end(&self, request: Handle) -> u32 {
        self.list[request.index as usize].1
    }

    /// What a request is.
    pub(super) fn what(&self, request: Handle) -> What {
        self.list[request.index as usize].0
    }
}
