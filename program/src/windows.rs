//! The calls of statements on windows.

use crate::operation::{Buffer, Part};
use carrousel_rank::RankId;
use carrousel_rank::epoch::{AccumulateOp, Blocks, Call, Flags, Flush, Mode, Staging, TransferKind};
use carrousel_scenario::{Assertions, BufferId, Combine, Op, OptionSetting, OptionValue, Scenario, WindowId};

/// An operation of the program on a window's memory at some rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The window.
    pub window: WindowId,
    /// How the memory is accessed.
    pub kind: TransferKind,
    /// The rank whose memory it is; may be the origin itself.
    pub target: RankId,
    /// Where in the window.
    pub place: Blocks,
    /// How an atomic operation combines; the sum for others, which do not.
    pub combine: AccumulateOp,
    /// The local memory, contiguous. An operation without bytes uses no named buffer, whatever the statement says.
    pub buffer: Buffer,
    /// It has a request of its own, which is complete when the local memory is free, or has what was fetched (MPI-4.1,
    /// 12.3.5). Otherwise it is complete when its epoch is, or a flush that covers it.
    pub with_request: bool,
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
    /// What the program promises. The library does not need it: only the checker asks whether it is true.
    pub assertions: Assertions,
}

impl Synchronization<'_> {
    /// Whether its request is complete from the beginning: it opens an epoch, and closes none.
    pub fn is_born_complete(&self) -> bool {
        self.call.only_opens()
    }
}

/// The bytes that atomic operations on one element access.
const ATOMIC: u64 = 8;

/// The access of a statement, if it is one. It has a request if a name is bound to it.
pub(crate) fn access(op: &Op, with_request: bool) -> Option<Access> {
    let blocks = |offset, len, count: u32, stride| Blocks { offset, len, count: count.into(), stride };
    let (window, kind, target, place, named) = match *op {
        Op::Put { window, target, size, displacement, count, stride, buf } => {
            (window, TransferKind::Put, target, blocks(displacement, size, count, stride), buf)
        }
        Op::Get { window, target, size, displacement, count, stride, buf } => {
            (window, TransferKind::Get, target, blocks(displacement, size, count, stride), buf)
        }
        Op::Accumulate { window, target, size, displacement, count, stride, fetches, buf, .. } => {
            let kind = if fetches { TransferKind::GetAccumulate } else { TransferKind::Accumulate };
            (window, kind, target, blocks(displacement, size, count, stride), buf)
        }
        Op::FetchOp { window, target, displacement, .. } => {
            (window, TransferKind::FetchAndOp, target, Blocks::contiguous(displacement, ATOMIC), None)
        }
        Op::CompareSwap { window, target, displacement } => {
            (window, TransferKind::CompareAndSwap, target, Blocks::contiguous(displacement, ATOMIC), None)
        }
        _ => return None,
    };
    let (buffer, combine) = (buffer(named, place.bytes(), kind), accumulate_op(op.combine()));
    Some(Access { window, kind, target: RankId(target), place, combine, buffer, with_request })
}

fn accumulate_op(combine: Combine) -> AccumulateOp {
    match combine {
        Combine::Sum => AccumulateOp::Sum,
        Combine::Product => AccumulateOp::Product,
        Combine::Min => AccumulateOp::Min,
        Combine::Max => AccumulateOp::Max,
        Combine::And => AccumulateOp::And,
        Combine::Or => AccumulateOp::Or,
        Combine::Xor => AccumulateOp::Xor,
        Combine::Replace => AccumulateOp::Replace,
        Combine::NoOp => AccumulateOp::NoOp,
    }
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
        Op::Fence { window, blocking, .. } => (window, Call::Fence, blocking),
        Op::Start { window, blocking, .. } => (window, Call::Start(group), blocking),
        Op::Complete { window, blocking } => (window, Call::Complete, blocking),
        Op::Post { window, blocking, .. } => (window, Call::Post(group), blocking),
        Op::WaitEpoch { window, blocking } => (window, Call::Wait, blocking),
        Op::Lock { window, target, exclusive, blocking, .. } => {
            let mode = if exclusive { Mode::Exclusive } else { Mode::Shared };
            (window, Call::Lock { target: RankId(target), mode }, blocking)
        }
        Op::Unlock { window, target, blocking } => (window, Call::Unlock(RankId(target)), blocking),
        Op::LockAll { window, blocking, .. } => (window, Call::LockAll, blocking),
        Op::UnlockAll { window, blocking } => (window, Call::UnlockAll, blocking),
        Op::Flush { window, target, local, blocking } => {
            let flush = Flush { target: target.map(RankId), is_local: local };
            (window, Call::FlushWithRequest(flush), blocking)
        }
        _ => return None,
    };
    Some(Synchronization { window, call, blocking, assertions: op.assertions() })
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
    /// How large accumulates reach their target.
    pub staging: Staging,
    /// What an MPI may assume of its accumulates.
    pub accumulates: AccumulateKeys,
}

/// The info keys of a window that speak of accumulates (MPI-4.1, 12.2.1). This library keeps their order and is atomic for
/// all of them, whatever the keys say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccumulateKeys {
    /// `accumulate_ops` is `same_op`: accumulates of the same bytes use one operation, and none is `no_op`.
    pub same_op: bool,
    /// `accumulate_ordering` is `none`: those of one origin may take effect in any order.
    pub unordered: bool,
}

/// The windows of a scenario, by [`WindowId`].
pub fn windows(scenario: &Scenario) -> Vec<WindowLayout> {
    let staging = staging(&scenario.options);
    let layout = |(at, window): (usize, &carrousel_scenario::Window)| {
        let (mut flags, mut accumulates) = (Flags::default(), AccumulateKeys::default());
        for option in scenario.options.iter().filter(|option| option.window == Some(WindowId(at as u32))) {
            if let OptionValue::Word(word) = &option.value {
                match &*option.name {
                    "accumulate_ops" => accumulates.same_op = word == "same_op",
                    "accumulate_ordering" => accumulates.unordered = word == "none",
                    _ => {}
                }
            }
            if option.value == OptionValue::OnOff(true) {
                match &*option.name {
                    "access_after_access" => flags.access_after_access = true,
                    "access_after_exposure" => flags.access_after_exposure = true,
                    "exposure_after_exposure" => flags.exposure_after_exposure = true,
                    "exposure_after_access" => flags.exposure_after_access = true,
                    _ => {}
                }
            }
        }
        WindowLayout { len: window.size, flags, staging, accumulates }
    };
    scenario.windows.iter().enumerate().map(layout).collect()
}

/// How the windows of a job stage large accumulates, as its options say. A number beyond its range becomes the largest
/// allowed: the registry of options reports it.
pub fn staging(options: &[OptionSetting]) -> Staging {
    let of_engine = options.iter().filter(|option| option.window.is_none());
    of_engine.fold(Staging::default(), |staging, option| match (&*option.name, &option.value) {
        ("accumulate_eager", OptionValue::Size(bytes)) => Staging { threshold: *bytes, ..staging },
        ("accumulate_buffers", OptionValue::Integer(number)) => {
            Staging { buffers: u16::try_from(*number).unwrap_or(u16::MAX), ..staging }
        }
        _ => staging,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staging_is_as_the_options_say() {
        let of = |text: &str| {
            let scenario = carrousel_scenario::load("x.scn", text.as_bytes()).expect("it is a scenario");
            windows(&scenario)[0].staging
        };
        assert_eq!(of("ranks 1\nwindow w 8\n"), Staging::default());
        let options = "option accumulate_buffers 70000\noption accumulate_eager 8\n";
        assert_eq!(
            of(&format!("ranks 1\nwindow w 8\n{options}")),
            Staging { threshold: 8, buffers: u16::MAX }
        );
    }
}
