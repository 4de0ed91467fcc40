//! The endpoint's records of its requests: a description for hang reports, their memory, and their call sites.

use carrousel_rank::{Handle, Kind, RankId, Source, Tag, TagSelector};
use std::panic::Location;

/// The kind of a request, with its data for a hang report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A send.
    Send { to: RankId, tag: Tag, len: u64, synchronous: bool },
    /// A receive.
    Receive { from: Source, tag: TagSelector, len: u64 },
    /// A message that was claimed, and is neither received nor discarded.
    Claim { from: RankId, tag: Tag, len: u64 },
    /// A collective.
    Collective(Kind),
    /// A probe: not a request, but it waits like one.
    Probe { from: Source, tag: TagSelector },
}

impl What {
    /// Its name, for a person.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Send { synchronous: false, .. } => "send",
            Self::Send { synchronous: true, .. } => "synchronous send",
            Self::Receive { .. } => "receive",
            Self::Claim { .. } => "claim",
            Self::Collective(kind) => kind.name(),
            Self::Probe { .. } => "probe",
        }
    }

    /// The peer, unless any will do, the tags, if it has any, and bytes.
    pub(super) fn parts(&self) -> (Option<u32>, Option<TagSelector>, u64) {
        let (peer, tag, len) = match *self {
            Self::Send { to: peer, tag, len, .. } | Self::Claim { from: peer, tag, len } => {
                (Source::Rank(peer), TagSelector::exact(tag), len)
            }
            Self::Collective(_) => return (None, None, 0),
            Self::Receive { from, tag, len } => (from, tag, len),
            Self::Probe { from, tag } => (from, tag, 0),
        };
        let peer = if let Source::Rank(RankId(rank)) = peer { Some(rank) } else { None };
        (peer, Some(tag), len)
    }
}

/// The target of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// One of several requests, or something else than a request.
    Any,
    /// This request.
    Request(Handle),
    /// A message, which it looks for.
    Message(Source, TagSelector),
}

/// The endpoint's record of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) what: What,
    /// The key of its memory.
    pub(super) key: u32,
    /// Whether it may be a rendezvous.
    pub(super) rendezvous: bool,
    /// The line that called the library to start it.
    pub(super) location: &'static Location<'static>,
}

/// The endpoint's records of its requests, by position.
#[derive(Debug, Default)]
pub(super) struct Pending {
    list: Vec<Known>,
    /// The number of requests that may be a rendezvous and have not been ended.
    rendezvous: u32,
}

impl Pending {
    /// A request begins.
    #[inline]
    pub(super) fn begin(&mut self, request: Handle, known: Known) {
        let index = request.index as usize;
        self.rendezvous += u32::from(known.rendezvous);
        if index < self.list.len() {
            self.list[index] = known;
        } else {
            let none = Known { key: u32::MAX, rendezvous: false, ..known };
            self.list.resize(index, none);
            self.list.push(known);
        }
    }

    /// A request ends. Returns the key of its memory.
    #[inline]
    pub(super) fn end(&mut self, request: Handle) -> u32 {
        let known = &mut self.list[request.index as usize];
        self.rendezvous -= u32::from(known.rendezvous);
        known.rendezvous = false;
        known.key
    }

    /// The key of a request's memory.
    #[inline]
    pub(super) fn key(&self, request: Handle) -> u32 {
        self.list[request.index as usize].key
    }

    /// Whether a request that may be a rendezvous has not been ended.
    #[inline]
    pub(super) fn has_rendezvous(&self) -> bool {
        self.rendezvous > 0
    }

    /// The record of a request.
    pub(super) fn known(&self, request: Handle) -> &Known {
        &self.list[request.index as usize]
    }
}
