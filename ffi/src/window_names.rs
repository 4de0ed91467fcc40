//! Calls, events and work of windows, as C has them.

use crate::border::array;
use crate::error::{Fault, carrousel_error};
use crate::names::{flag, numbered};
use ::carrousel_rank::WindowWork;
use carrousel_epoch::{
    Blocks, Call, Event, Failure, Flags, Flush, GrantWord, Mode, OperationId, Order, Output, Packet, RankId,
    Report, Staging, Transfer, TransferKind, WindowSetup,
};

/// A flush of all targets.
pub const CARROUSEL_ALL_TARGETS: u32 = u32::MAX;

/// How a lock is held.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_lock_mode {
    /// By one origin alone.
    Exclusive = 1,
    /// By any number of origins.
    Shared = 2,
}
numbered!(carrousel_lock_mode: Exclusive, Shared);

impl From<Mode> for carrousel_lock_mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Exclusive => Self::Exclusive,
            Mode::Shared => Self::Shared,
        }
    }
}

pub(crate) fn mode(number: u32) -> Result<Mode, carrousel_error> {
    Ok(match carrousel_lock_mode::of(number)? {
        carrousel_lock_mode::Exclusive => Mode::Exclusive,
        carrousel_lock_mode::Shared => Mode::Shared,
    })
}

/// How this rank's part of a window is made.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct carrousel_window_setup {
    /// 1: an access may be active beside an earlier access.
    pub access_after_access: u32,
    /// 1: an access may be active beside an earlier exposure.
    pub access_after_exposure: u32,
    /// 1: an exposure may be active beside an earlier exposure.
    pub exposure_after_exposure: u32,
    /// 1: an exposure may be active beside an earlier access.
    pub exposure_after_access: u32,
    /// Bytes of the largest operand of an accumulate that travels without asking its target for a buffer.
    pub staging_threshold: u64,
    /// Such buffers of each rank.
    pub staging_buffers: u16,
    /// How many ranks share the memory of this node with this one.
    pub neighbours_len: usize,
    /// These.
    pub neighbours: *const u32,
}

impl TryFrom<&carrousel_window_setup> for WindowSetup {
    type Error = carrousel_error;

    fn try_from(setup: &carrousel_window_setup) -> Result<Self, carrousel_error> {
        let neighbours = array(setup.neighbours, setup.neighbours_len)?;
        Ok(Self {
            flags: Flags {
                access_after_access: flag(setup.access_after_access)?,
                access_after_exposure: flag(setup.access_after_exposure)?,
                exposure_after_exposure: flag(setup.exposure_after_exposure)?,
                exposure_after_access: flag(setup.exposure_after_access)?,
            },
            staging: Staging { threshold: setup.staging_threshold, buffers: setup.staging_buffers },
            neighbours: neighbours.iter().copied().map(RankId).collect(),
        })
    }
}

impl From<&WindowSetup> for carrousel_window_setup {
    /// Without the neighbours.
    fn from(WindowSetup { flags, staging, .. }: &WindowSetup) -> Self {
        Self {
            access_after_access: flags.access_after_access.into(),
            access_after_exposure: flags.access_after_exposure.into(),
            exposure_after_exposure: flags.exposure_after_exposure.into(),
            exposure_after_access: flags.exposure_after_access.into(),
            staging_threshold: staging.threshold,
            staging_buffers: staging.buffers,
            neighbours_len: 0,
            neighbours: core::ptr::null(),
        }
    }
}

/// What an operation does to the memory of its target.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_transfer_kind {
    /// Writes.
    Put = 1,
    /// Reads.
    Get = 2,
    /// Combines local data with the target's.
    Accumulate = 3,
    /// The same, and reads what was there.
    GetAccumulate = 4,
    /// The same for one element.
    FetchAndOp = 5,
    /// Writes one element if it equals another, and reads what was there.
    CompareAndSwap = 6,
}
numbered!(carrousel_transfer_kind: Put, Get, Accumulate, GetAccumulate, FetchAndOp, CompareAndSwap);

/// One operation on the memory of a target: `count` blocks of `len` bytes, `stride` bytes from one to the
/// next.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_transfer {
    /// The rank whose memory is accessed.
    pub target: u32,
    /// A `carrousel_transfer_kind`.
    pub kind: u32,
    /// Where the first block begins in the target's part of the window.
    pub offset: u64,
    /// Bytes of each block.
    pub len: u64,
    /// How many there are.
    pub count: u64,
    /// Bytes from the begin of one to the begin of the next; not less than `len`.
    pub stride: u64,
    /// The host's name for the local buffers and operands.
    pub local: u64,
}

impl TryFrom<&carrousel_transfer> for Transfer {
    type Error = carrousel_error;

    fn try_from(it: &carrousel_transfer) -> Result<Self, carrousel_error> {
        use carrousel_transfer_kind as K;
        let kind = match K::of(it.kind)? {
            K::Put => TransferKind::Put,
            K::Get => TransferKind::Get,
            K::Accumulate => TransferKind::Accumulate,
            K::GetAccumulate => TransferKind::GetAccumulate,
            K::FetchAndOp => TransferKind::FetchAndOp,
            K::CompareAndSwap => TransferKind::CompareAndSwap,
        };
        let place = Blocks { offset: it.offset, len: it.len, count: it.count, stride: it.stride };
        if (it.count > 1 && it.stride < it.len) || place.end().is_none() {
            return Err(carrousel_error::WrongLength);
        }
        Ok(Self { target: RankId(it.target), kind, place, local: it.local })
    }
}

impl From<Transfer> for carrousel_transfer {
    fn from(Transfer { target, kind, place, local }: Transfer) -> Self {
        use carrousel_transfer_kind as K;
        let kind = match kind {
            TransferKind::Put => K::Put,
            TransferKind::Get => K::Get,
            TransferKind::Accumulate => K::Accumulate,
            TransferKind::GetAccumulate => K::GetAccumulate,
            TransferKind::FetchAndOp => K::FetchAndOp,
            TransferKind::CompareAndSwap => K::CompareAndSwap,
        };
        let Blocks { offset, len, count, stride } = place;
        Self { target: target.0, kind: kind as u32, offset, len, count, stride, local }
    }
}

/// A call of the program on a window. None of them waits.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_window_call_kind {
    /// Opens an exposure epoch for the ranks of `group`.
    Post = 1,
    /// Closes it.
    Wait = 2,
    /// Closes it if all of its origins are done.
    Test = 3,
    /// Opens an access epoch to the ranks of `group`.
    Start = 4,
    /// Closes it.
    Complete = 5,
    /// Opens a lock epoch of `target`, as `mode` says.
    Lock = 6,
    /// Closes it.
    Unlock = 7,
    /// Opens a lock_all epoch.
    LockAll = 8,
    /// Closes it.
    UnlockAll = 9,
    /// Closes the fence epoch that is open, and opens the next.
    Fence = 10,
    /// Accesses memory: `transfer`.
    Transfer = 11,
    /// Completes the operations so far: those to `target`, or to `CARROUSEL_ALL_TARGETS`.
    Flush = 12,
}
numbered!(
    carrousel_window_call_kind: Post, Wait, Test, Start, Complete, Lock, Unlock, LockAll, UnlockAll, Fence, Transfer,
    Flush
);

/// A call on a window. Only the fields that `carrousel_window_call_kind` names for `kind` are looked at.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct carrousel_window_call {
    /// A `carrousel_window_call_kind`.
    pub kind: u32,
    /// The target.
    pub target: u32,
    /// A `carrousel_lock_mode`.
    pub mode: u32,
    /// 1 if a transfer or a flush has a request of its own.
    pub with_request: u32,
    /// 1 for a flush that is complete when the local buffers can be used again.
    pub is_local: u32,
    /// How many ranks `group` has.
    pub group_len: usize,
    /// Ranks, none of them twice.
    pub group: *const u32,
    /// The operation.
    pub transfer: carrousel_transfer,
}

impl carrousel_window_call {
    /// Does something with the call.
    pub(crate) fn with<T>(&self, act: impl FnOnce(Call<'_>) -> Result<T, Fault>) -> Result<T, Fault> {
        use carrousel_window_call_kind as K;
        let group = || -> Result<Vec<RankId>, carrousel_error> {
            Ok(array(self.group, self.group_len)?.iter().copied().map(RankId).collect())
        };
        let target = RankId(self.target);
        match K::of(self.kind)? {
            K::Post => act(Call::Post(&group()?)),
            K::Start => act(Call::Start(&group()?)),
            K::Wait => act(Call::Wait),
            K::Test => act(Call::Test),
            K::Complete => act(Call::Complete),
            K::Lock => act(Call::Lock { target, mode: mode(self.mode)? }),
            K::Unlock => act(Call::Unlock(target)),
            K::LockAll => act(Call::LockAll),
            K::UnlockAll => act(Call::UnlockAll),
            K::Fence => act(Call::Fence),
            K::Transfer => {
                let transfer = (&self.transfer).try_into()?;
                act(Call::Transfer { transfer, with_request: flag(self.with_request)? })
            }
            K::Flush => {
                let flush = flush(self.target, self.is_local)?;
                act(if flag(self.with_request)? { Call::FlushWithRequest(flush) } else { Call::Flush(flush) })
            }
        }
    }

    /// Whether it is about a group.
    pub(crate) fn has_group(&self) -> bool {
        use carrousel_window_call_kind as K;
        matches!(K::of(self.kind), Ok(K::Post | K::Start))
    }
}

pub(crate) fn flush(target: u32, is_local: u32) -> Result<Flush, carrousel_error> {
    let target = (target != CARROUSEL_ALL_TARGETS).then_some(RankId(target));
    Ok(Flush { target, is_local: flag(is_local)? })
}

/// The name of an operation that is under way.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_operation {
    /// How many operations of the window were called up to this one.
    pub age: u64,
    /// Where the window finds it.
    pub place: u32,
}

impl From<OperationId> for carrousel_operation {
    fn from(operation: OperationId) -> Self {
        let (age, place) = operation.parts();
        Self { age, place }
    }
}

impl From<carrousel_operation> for OperationId {
    fn from(carrousel_operation { age, place }: carrousel_operation) -> Self {
        Self::of_parts(age, place)
    }
}

/// Which packet of a window it is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_window_packet_kind {
    /// The access `access` is over.
    Done = 1,
    /// The lock `access` is requested, as `mode` says.
    LockRequest = 2,
    /// The lock `access` is released.
    LockRelease = 3,
    /// A staging buffer is asked for.
    StagingRequest = 4,
    /// A staging buffer is there.
    StagingGrant = 5,
}
numbered!(carrousel_window_packet_kind: Done, LockRequest, LockRelease, StagingRequest, StagingGrant);

/// A packet from one rank of a window to another.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_window_packet {
    /// A `carrousel_window_packet_kind`.
    pub kind: u32,
    /// A `carrousel_lock_mode`.
    pub mode: u32,
    /// The number of the access, from 1.
    pub access: u64,
}

impl From<Packet> for carrousel_window_packet {
    fn from(packet: Packet) -> Self {
        use carrousel_window_packet_kind as K;
        let of = |kind: carrousel_window_packet_kind, access| Self { kind: kind as u32, mode: 0, access };
        match packet {
            Packet::Done { access } => of(K::Done, access),
            Packet::LockRequest { mode, access } => {
                Self { mode: carrousel_lock_mode::from(mode) as u32, ..of(K::LockRequest, access) }
            }
            Packet::LockRelease { access } => of(K::LockRelease, access),
            Packet::StagingRequest => of(K::StagingRequest, 0),
            Packet::StagingGrant => of(K::StagingGrant, 0),
        }
    }
}

impl TryFrom<&carrousel_window_packet> for Packet {
    type Error = carrousel_error;

    fn try_from(packet: &carrousel_window_packet) -> Result<Self, carrousel_error> {
        use carrousel_window_packet_kind as K;
        let access = packet.access;
        Ok(match K::of(packet.kind)? {
            K::Done => Self::Done { access },
            K::LockRequest => Self::LockRequest { mode: mode(packet.mode)?, access },
            K::LockRelease => Self::LockRelease { access },
            K::StagingRequest => Self::StagingRequest,
            K::StagingGrant => Self::StagingGrant,
        })
    }
}

/// A word in the memory of an origin, one for each target and window, that its target writes.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_grant_word {
    /// How many exposures the target has activated for the origin.
    Exposures = 1,
    /// How many locks the target has granted to the origin.
    Locks = 2,
}
numbered!(carrousel_grant_word: Exposures, Locks);

/// What a packet stands behind.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_order {
    /// Nothing.
    Free = 1,
    /// All data and packets that were posted to this peer before.
    Lane = 2,
    /// The same, and what reads and atomics bring back has arrived before the packet leaves.
    Fenced = 3,
}

/// What has happened to a window.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_window_event_kind {
    /// A packet of `peer`: `packet`. Those of one peer come in the order in which they were posted.
    Packet = 1,
    /// `peer` has written `value` into the grant word `word`. Only the newest value counts.
    Granted = 2,
    /// The local buffers of `operation` can be used again.
    LocallyComplete = 3,
    /// `operation` is complete.
    Complete = 4,
    /// An operand of `peer` was applied from its staging buffer.
    Applied = 5,
    /// `peer` has died. A rank tells its windows by itself: this is for a window alone.
    Died = 6,
}
numbered!(carrousel_window_event_kind: Packet, Granted, LocallyComplete, Complete, Applied, Died);

/// Something that has happened to a window. Only the fields that `carrousel_window_event_kind` names are
/// looked at.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_window_event {
    /// A `carrousel_window_event_kind`.
    pub kind: u32,
    /// The peer.
    pub peer: u32,
    /// The packet.
    pub packet: carrousel_window_packet,
    /// A `carrousel_grant_word`.
    pub word: u32,
    /// Its value.
    pub value: u64,
    /// The operation.
    pub operation: carrousel_operation,
}

impl TryFrom<&carrousel_window_event> for Event {
    type Error = carrousel_error;

    fn try_from(event: &carrousel_window_event) -> Result<Self, carrousel_error> {
        use carrousel_window_event_kind as K;
        let peer = RankId(event.peer);
        Ok(match K::of(event.kind)? {
            K::Packet => Self::Packet { from: peer, packet: (&event.packet).try_into()? },
            K::Granted => {
                let word = match carrousel_grant_word::of(event.word)? {
                    carrousel_grant_word::Exposures => GrantWord::Exposures,
                    carrousel_grant_word::Locks => GrantWord::Locks,
                };
                Self::Granted { from: peer, word, value: event.value }
            }
            K::LocallyComplete => Self::LocallyComplete(event.operation.into()),
            K::Complete => Self::Complete(event.operation.into()),
            K::Applied => Self::Applied { origin: peer },
            K::Died => Self::Died(peer),
        })
    }
}

/// What a window asks for.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_window_work_kind {
    /// Begin `transfer`, named `operation`, of the epoch `epoch`; if `is_staged`, into the buffer that its
    /// target has given. The events `LOCALLY_COMPLETE` (perhaps) and `COMPLETE` follow.
    Transfer = 1,
    /// Post `packet` to `peer`, which may be this rank, behind what `order` says.
    Post = 2,
    /// Store `value` in the grant word `word` of this rank in the memory of `peer`, which may be this rank.
    Store = 3,
    /// `request` is complete; because `peer` has died, if `has_failed`. Of a window alone: a rank has requests of its own.
    Complete = 4,
    /// Tell the program: `peer` requests the lock, as `mode` says, of memory that an open epoch exposes.
    LockedWhileExposed = 5,
    /// Tell the program: `peer` has died while it held the lock of this memory, as `mode` says.
    HolderDied = 6,
}

/// One thing to do for a window. Fields that its kind does not name are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_window_work {
    /// A `carrousel_window_work_kind`.
    pub kind: u32,
    /// The peer.
    pub peer: u32,
    /// The name of the operation.
    pub operation: carrousel_operation,
    /// How many epochs of the window were opened before that of the operation.
    pub epoch: u64,
    /// The operation.
    pub transfer: carrousel_transfer,
    /// 1 if its operand goes into a staging buffer.
    pub is_staged: u32,
    /// A `carrousel_order`.
    pub order: u32,
    /// The packet.
    pub packet: carrousel_window_packet,
    /// A `carrousel_grant_word`.
    pub word: u32,
    /// A `carrousel_lock_mode`.
    pub mode: u32,
    /// The value of the word.
    pub value: u64,
    /// The request.
    pub request: u64,
    /// 1 if it has failed.
    pub has_failed: u32,
}

impl From<WindowWork> for carrousel_window_work {
    fn from(work: WindowWork) -> Self {
        use carrousel_window_work_kind as K;
        let of = |kind: carrousel_window_work_kind| Self { kind: kind as u32, ..Self::default() };
        let report = |kind, peer: RankId, mode: Mode| Self {
            peer: peer.0,
            mode: carrousel_lock_mode::from(mode) as u32,
            ..of(kind)
        };
        match work {
            WindowWork::Transfer { operation, epoch, transfer, is_staged } => Self {
                operation: operation.into(),
                epoch,
                transfer: transfer.into(),
                is_staged: is_staged.into(),
                ..of(K::Transfer)
            },
            WindowWork::Post { to, packet, order } => {
                let order = match order {
                    Order::Free => carrousel_order::Free,
                    Order::Lane => carrousel_order::Lane,
                    Order::Fenced => carrousel_order::Fenced,
                };
                Self { peer: to.0, packet: packet.into(), order: order as u32, ..of(K::Post) }
            }
            WindowWork::Store { to, word, value } => {
                let word = match word {
                    GrantWord::Exposures => carrousel_grant_word::Exposures,
                    GrantWord::Locks => carrousel_grant_word::Locks,
                };
                Self { peer: to.0, word: word as u32, value, ..of(K::Store) }
            }
            WindowWork::Report(Report::LockedWhileExposed { origin, mode, .. }) => {
                report(K::LockedWhileExposed, origin, mode)
            }
            WindowWork::Report(Report::HolderDied { origin, mode }) => report(K::HolderDied, origin, mode),
        }
    }
}

impl From<Output> for carrousel_window_work {
    fn from(output: Output) -> Self {
        match output {
            Output::Issue { operation, epoch, transfer, is_staged } => {
                WindowWork::Transfer { operation, epoch, transfer, is_staged }.into()
            }
            Output::Post { to, packet, order } => WindowWork::Post { to, packet, order }.into(),
            Output::Store { to, word, value } => WindowWork::Store { to, word, value }.into(),
            Output::Report(report) => WindowWork::Report(report).into(),
            Output::Complete { request, result } => Self {
                kind: carrousel_window_work_kind::Complete as u32,
                request: request.0,
                has_failed: result.is_err().into(),
                peer: result.err().map_or(0, |Failure::PeerDied(peer)| peer.0),
                ..Self::default()
            },
        }
    }
}
