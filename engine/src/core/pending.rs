//! What is known of requests beside their state: what they are, for a person, and their memory.

use carrousel_rank::{Handle, Kind, RankId, Source, Tag, TagSelector};

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A send.
    Send { to: u32, tag: u32, len: u64, synchronous: bool },
    /// A receive.
    Receive { from: Source, tag: TagSelector, len: u64 },
    /// A collective.
    Collective(Kind),
    /// A probe, which is no request, but waits like one.
    Probe { from: Source, tag: TagSelector },
}

impl What {
    /// Its name, for a person.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Send { synchronous: false, .. } => "send",
            Self::Send { synchronous: true, .. } => "synchronous send",
            Self::Receive { .. } => "receive",
            Self::Collective(kind) => kind.name(),
            Self::Probe { .. } => "probe",
        }
    }

    /// The peer and the tag, unless any will do, and bytes.
    pub(super) fn parts(&self) -> (Option<u32>, Option<u32>, u64) {
        let (from, tag, len) = match *self {
            Self::Send { to, tag, len, .. } => return (Some(to), Some(tag), len),
            Self::Collective(_) => return (None, None, 0),
            Self::Receive { from, tag, len } => (from, tag, len),
            Self::Probe { from, tag } => (from, tag, 0),
        };
        let from = if let Source::Rank(RankId(rank)) = from { Some(rank) } else { None };
        let tag = if let TagSelector::Tag(Tag(tag)) = tag { Some(tag) } else { None };
        (from, tag, len)
    }
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// One of several requests, or something else than a request.
    Any,
    /// This request.
    Request(Handle),
    /// A message, which it looks for.
    Message(Source, TagSelector),
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
