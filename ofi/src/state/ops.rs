//! What an endpoint knows of the requests of its engine that have not ended, by their position: none is searched.

use super::rma_target::TargetWrite;
use carrousel_rank::Handle;

/// What a request is for.
#[derive(Debug, Default)]
pub(super) enum Role {
    /// For nothing: there is none.
    #[default]
    Free,
    /// A send of the host's.
    Send,
    /// A receive of the host's.
    Receive,
    /// The part of a buffer for many messages that the next one gets, by the buffer's number.
    Chunk(u64),
    /// A packet of one-sided operations.
    Packet(Box<[u8]>),
    /// The data of a write on its way to its target, by the operation's number.
    WriteData(u64),
    /// The data of a read on its way here, by the operation's number.
    ReadData(u64),
    /// The data of a peer's write.
    Written(Box<TargetWrite>),
    /// Bytes that somebody waits for elsewhere; they may be a copy that is kept until then.
    Internal,
}

/// A request.
#[derive(Debug, Default)]
pub(super) struct Op {
    pub(super) role: Role,
    pub(super) generation: u32,
    /// Whether its completion is reported; its failure always is.
    pub(super) reports: bool,
    /// Of the completion.
    pub(super) flags: u64,
    pub(super) context: usize,
    pub(super) buffer: usize,
    /// A copy of what is sent, where the host keeps none.
    pub(super) _copy: Option<Box<[u8]>>,
}

impl Op {
    /// One of the endpoint's own.
    pub(super) fn internal(role: Role, copy: Option<Box<[u8]>>) -> Self {
        Self { role, _copy: copy, ..Self::default() }
    }
}

/// The requests that have not ended.
#[derive(Debug, Default)]
pub(super) struct Ops {
    list: Vec<Op>,
    open: usize,
}

impl Ops {
    /// A request begins.
    #[inline]
    pub(super) fn begin(&mut self, request: Handle, op: Op) {
        let at = request.index as usize;
        if self.list.len() <= at {
            self.list.resize_with(at + 1, Op::default);
        }
        self.open += 1;
        self.list[at] = Op { generation: request.generation, ..op };
    }

    /// Whether this request has begun and not ended.
    #[inline]
    pub(super) fn has(&self, request: Handle) -> bool {
        self.list
            .get(request.index as usize)
            .is_some_and(|op| op.generation == request.generation && !matches!(op.role, Role::Free))
    }

    /// A request ends.
    #[inline]
    pub(super) fn end(&mut self, request: Handle) -> Op {
        self.open = self.open.saturating_sub(1);
        self.list.get_mut(request.index as usize).map(std::mem::take).unwrap_or_default()
    }

    /// The oldest position of a request of the host's with this context, of those for which `is_wanted` holds.
    pub(super) fn find(&self, is_wanted: impl Fn(&Op) -> bool) -> Option<Handle> {
        let at = self.list.iter().position(is_wanted)?;
        Some(Handle { index: at as u32, generation: self.list[at].generation })
    }

    /// How many have not ended.
    #[inline]
    pub(super) fn open(&self) -> usize {
        self.open
    }
}
