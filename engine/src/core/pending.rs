//! What is known of requests beside their state: what they are, for a person, and their memory.

use carrousel_rank::{Handle, Kind, Source, TagSelector};

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A send.
    Send { to: u32, tag: u32, len: u64, synchronous: bool },
    /// A receive.
    Receive { from: Source, tag: TagSelector, len: u64 },
    /// A collective.
    Collective(Kind),
}

impl What {
    /// Its name, for a person.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Send { synchronous: false, .. } => "send",
            Self::Send { synchronous: true, .. } => "synchronous send",
            Self::Receive { .. } => "receive",
            Self::Collective(kind) => kind.name(),
        }
    }

    /// The peer and the tag, unless any will do, and bytes.
    pub(super) fn parts(&self) -> (Option<u32>, Option<u32>, u64) {
        match *self {
            Self::Send { to, tag, len, .. } => (Some(to), Some(tag), len),
            Self::Receive { from, tag, len } => {
                let from = if let Source::Rank(rank) = from { Some(rank.0) } else { None };
                let tag = if let TagSelector::Tag(tag) = tag { Some(tag.0) } else { None };
                (from, tag, len)
            }
            Self::Collective(_) => (None, None, 0),
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
            self.list.resize(index, (What::Collective(Kind::Barrier), u32::MAX));
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
