//! The calls of statements on windows.

use crate::operation::{Buffer, Part};
use carrousel_rank::RankId;
use carrousel_rank::epoch::{Call, Flags, Flush, Mode, TransferKind};
use carrousel_scenario::{BufferId, Op, OptionValue, Scenario, WindowId};

/// An operation of the program on a window's memory at some rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The window.
    pub window: WindowId,
    /// How the memory is accessed.
    pub kind: TransferKind,
    /// The rank whose memory it is; may be the origin itself.
    pub target: RankId,
    /// Where in the window, in bytes.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
    /// The local memory. An operation without bytes uses no named buffer, whatever the statement says.
    pub buffer: Buffer,
}

impl Access {
    /// Whether the local memory is written; otherwise it is read.
    pub fn writes_buffer(&self) -> bool {
        self.kind.reads()
    }
}

/// The program itself reads or writes its own memory of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnAccess {
    /// The window.
    pub window: WindowId,
    /// Where, in bytes.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
    /// Whether it is written.
    pub write: bool,
}

/// A call that opens, closes or flushes an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Synchronization<'a> {
    /// The window.
    pub window: WindowId,
    /// The call.
    pub call: Call<'a>,
    /// Whether the statement waits until the call is complete.
    pub blocking: bool,
}

impl Synchronization<'_> {
    /// Whether its request is complete from the beginning: it opens an epoch, and closes none.
    pub fn is_born_complete(&self) -> bool {
        self.call.only_opens()
    }
}

/// The bytes that atomic operations on one element access.
const ATOMIC: u64 = 8;

/// The access of a statement, if it is one.
pub(crate) fn access(op: &Op) -> Option<Access> {
    let (window, kind, target, offset, len, named) = match *op {
        Op::Put { window, target, size, displacement, buf } => {
            (window, TransferKind::Put, target, displacement, size, buf)
        }
        Op::Get { window, target, size, displacement, buf } => {
            (window, TransferKind::Get, target, displacement, size, buf)
        }
        Op::Accumulate { window, target, size, displacement, buf } => {
            (window, TransferKind::Accumulate, target, displacement, size, buf)
        }
        Op::FetchOp { window, target, displacement } => {
            (window, TransferKind::FetchAndOp, target, displacement, ATOMIC, None)
        }
        Op::CompareSwap { window, target, displacement } => {
            (window, TransferKind::CompareAndSwap, target, displacement, ATOMIC, None)
        }
        _ => return None,
    };
    let buffer = buffer(named, len, kind);
    Some(Access { window, kind, target: RankId(target), offset, len, buffer })
}

fn buffer(named: Option<BufferId>, len: u64, kind: TransferKind) -> Buffer {
    let part = if kind.reads() { Part::Incoming } else { Part::Outgoing };
    named.filter(|_| len > 0).map_or(Buffer::Own(part), Buffer::Named)
}

/// The program's access to its own memory, if a statement is one.
pub(crate) fn own_access(op: &Op) -> Option<OwnAccess> {
    match *op {
        Op::Load { window, displacement: offset, size: len } => {
            Some(OwnAccess { window, offset, len, write: false })
        }
        Op::Store { window, displacement: offset, size: len } => {
            Some(OwnAccess { window, offset, len, write: true })
        }
        _ => None,
    }
}

/// The call of a statement on the epochs of a window, if it has one. `group` are the ranks that it names.
pub(crate) fn synchronization<'a>(op: &Op, group: &'a [RankId]) -> Option<Synchronization<'a>> {
    let (window, call, blocking) = match *op {
        Op::Fence { window, blocking } => (window, Call::Fence, blocking),
        Op::Start { window, blocking, .. } => (window, Call::Start(group), blocking),
        Op::Complete { window, blocking } => (window, Call::Complete, blocking),
        Op::Post { window, blocking, .. } => (window, Call::Post(group), blocking),
        Op::WaitEpoch { window, blocking } => (window, Call::Wait, blocking),
        Op::Lock { window, target, exclusive, blocking } => {
            let mode = if exclusive { Mode::Exclusive } else { Mode::Shared };
            (window, Call::Lock { target: RankId(target), mode }, blocking)
        }
        Op::Unlock { window, target, blocking } => (window, Call::Unlock(RankId(target)), blocking),
        Op::LockAll { window, blocking } => (window, Call::LockAll, blocking),
        Op::UnlockAll { window, blocking } => (window, Call::UnlockAll, blocking),
        Op::Flush { window, target, local, blocking } => {
            let flush = Flush { target: target.map(RankId), is_local: local };
            (window, Call::FlushWithRequest(flush), blocking)
        }
        _ => return None,
    };
    Some(Synchronization { window, call, blocking })
}

/// The ranks that a statement names as the group of its epoch.
pub(crate) fn group(op: &Op) -> &[u32] {
    match op {
        Op::Start { group, .. } | Op::Post { group, .. } => group,
        _ => &[],
    }
}

/// A window of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowLayout {
    /// Its bytes at each rank.
    pub len: u64,
    /// Which of its epochs need not wait for each other.
    pub flags: Flags,
}

/// The windows of a scenario, by [`WindowId`].
pub fn windows(scenario: &Scenario) -> Vec<WindowLayout> {
    let layout = |(at, window): (usize, &carrousel_scenario::Window)| {
        let mut flags = Flags::default();
        for option in &scenario.options {
            if option.window == Some(WindowId(at as u32)) && option.value == OptionValue::OnOff(true) {
                match &*option.name {
                    "access_after_access" => flags.access_after_access = true,
                    "access_after_exposure" => flags.access_after_exposure = true,
                    "exposure_after_exposure" => flags.exposure_after_exposure = true,
                    "exposure_after_access" => flags.exposure_after_access = true,
                    _ => {}
                }
            }
        }
        WindowLayout { len: window.size, flags }
    };
    scenario.windows.iter().enumerate().map(layout).collect()
}
