//! Programs: the steps of each rank, and their text.

use carrousel_epoch::{Blocks, Call, Flags, Flush, Mode, RankId, Transfer, TransferKind};
use std::fmt;

/// Bytes of an operand that does not fit a packet.
const LARGE: u64 = 1 << 20;

/// The most ranks of a program.
pub(super) const RANKS_MAX: usize = 4;

/// One step of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EpochStep {
    /// A call on the window. A blocking close waits for its request, a blocking flush for the operations that it covers.
    Call(Call<'static>, Blocking),
    /// Waits for all requests so far.
    WaitAll,
    /// A message to a rank, outside the window.
    Send(usize),
    /// A message from a rank.
    Receive(usize),
}

/// Whether a call waits for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocking {
    Waits,
    Returns,
}

/// What every rank does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EpochProgram {
    pub(super) flags: Flags,
    pub(super) ranks: Vec<Vec<EpochStep>>,
    /// It can get stuck by MPI's rules, with every close blocking.
    pub(super) may_be_stuck: bool,
    /// Every close waits.
    pub(super) is_blocking: bool,
    /// The end of an operation at its origin is told before its end at the target.
    pub(super) tells_local: bool,
    /// What a rank sends to itself may arrive late, as what it sends to others.
    pub(super) is_self_late: bool,
}

impl EpochProgram {
    pub(super) fn new(flags: Flags, ranks: Vec<Vec<EpochStep>>, may_be_stuck: bool) -> Self {
        let is_left = |step: &EpochStep| {
            matches!(
                step,
                EpochStep::Call(
                    Call::Wait | Call::Complete | Call::Unlock(_) | Call::UnlockAll | Call::Fence,
                    Blocking::Returns
                )
            )
        };
        let is_local = |step: &EpochStep| match step {
            EpochStep::Call(Call::Flush(flush) | Call::FlushWithRequest(flush), _) => flush.is_local,
            EpochStep::Call(Call::Transfer { with_request, .. }, _) => *with_request,
            _ => false,
        };
        let is_blocking = !ranks.iter().flatten().any(is_left);
        let tells_local = ranks.iter().flatten().any(is_local);
        Self { flags, ranks, may_be_stuck, is_blocking, tells_local, is_self_late: false }
    }

    /// Of a line a rank, its steps separated by spaces, as [`EpochStep`] prints them.
    pub(super) fn parse(flags: Flags, lines: &[&str], may_be_stuck: bool) -> Option<Self> {
        let ranks: Option<Vec<Vec<EpochStep>>> =
            lines.iter().map(|line| line.split_whitespace().map(step).collect()).collect();
        Some(Self { is_self_late: true, ..Self::new(flags, ranks?, may_be_stuck) })
    }
}

/// Every group of ranks, by the bits of its members.
const GROUPS: [&[RankId]; 1 << RANKS_MAX] = {
    const R: [RankId; RANKS_MAX] = [RankId(0), RankId(1), RankId(2), RankId(3)];
    [
        &[],
        &[R[0]],
        &[R[1]],
        &[R[0], R[1]],
        &[R[2]],
        &[R[0], R[2]],
        &[R[1], R[2]],
        &[R[0], R[1], R[2]],
        &[R[3]],
        &[R[0], R[3]],
        &[R[1], R[3]],
        &[R[0], R[1], R[3]],
        &[R[2], R[3]],
        &[R[0], R[2], R[3]],
        &[R[1], R[2], R[3]],
        &R,
    ]
};

/// The group of these members.
pub(super) fn group(members: impl IntoIterator<Item = usize>) -> &'static [RankId] {
    GROUPS[members.into_iter().map(|member| 1 << member).sum::<usize>()]
}

pub(super) fn transfer(kind: TransferKind, target: usize, with_request: bool) -> EpochStep {
    transfer_of(8, kind, target, with_request)
}

/// The same with an operand that is staged.
pub(super) fn large(kind: TransferKind, target: usize) -> EpochStep {
    transfer_of(LARGE, kind, target, false)
}

fn transfer_of(len: u64, kind: TransferKind, target: usize, with_request: bool) -> EpochStep {
    let place = Blocks::contiguous(0, len);
    let transfer = Transfer { target: RankId(target as u32), kind, place, local: 0 };
    EpochStep::Call(Call::Transfer { transfer, with_request }, Blocking::Returns)
}

fn step(word: &str) -> Option<EpochStep> {
    let (verb, argument) = word.split_once(':').unwrap_or((word, ""));
    let digits: Option<Vec<usize>> = argument
        .chars()
        .map(|digit| Some(digit.to_digit(10)? as usize).filter(|rank| *rank < RANKS_MAX))
        .collect();
    let digits = digits?;
    let rank = || digits.first().copied();
    let target = || rank().map(|rank| RankId(rank as u32));
    let lock = |mode| Some(Call::Lock { target: target()?, mode });
    let flush = |is_local| Flush { target: target(), is_local };
    let (verb, blocking) = match verb.strip_prefix('i') {
        Some(verb) => (verb, Blocking::Returns),
        None => (verb, Blocking::Waits),
    };
    let flushes = |flush| match blocking {
        Blocking::Waits => Call::Flush(flush),
        Blocking::Returns => Call::FlushWithRequest(flush),
    };
    let call = match verb {
        "waitall" => return Some(EpochStep::WaitAll),
        "send" => return rank().map(EpochStep::Send),
        "recv" => return rank().map(EpochStep::Receive),
        "put" => return Some(transfer(TransferKind::Put, rank()?, false)),
        "rput" => return Some(transfer(TransferKind::Put, rank()?, true)),
        "get" => return Some(transfer(TransferKind::Get, rank()?, false)),
        "acc" => return Some(transfer(TransferKind::Accumulate, rank()?, false)),
        "fetch_op" => return Some(transfer(TransferKind::FetchAndOp, rank()?, false)),
        "large_acc" => return Some(large(TransferKind::Accumulate, rank()?)),
        "large_get_acc" => return Some(large(TransferKind::GetAccumulate, rank()?)),
        "post" => Call::Post(group(digits)),
        "start" => Call::Start(group(digits)),
        "wait" => Call::Wait,
        "complete" => Call::Complete,
        "lock" => lock(Mode::Shared)?,
        "xlock" => lock(Mode::Exclusive)?,
        "unlock" => Call::Unlock(target()?),
        "lock_all" => Call::LockAll,
        "unlock_all" => Call::UnlockAll,
        "fence" => Call::Fence,
        "flush" => flushes(flush(false)),
        "flush_local" => flushes(flush(true)),
        _ => return None,
    };
    Some(EpochStep::Call(call, blocking))
}

impl fmt::Display for EpochStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (call, blocking) = match self {
            Self::WaitAll => return f.write_str("waitall"),
            Self::Send(to) => return write!(f, "send:{to}"),
            Self::Receive(from) => return write!(f, "recv:{from}"),
            Self::Call(call, blocking) => (call, blocking),
        };
        let ranks = |verb: &str, ranks: &[RankId]| -> String {
            let digits: String = ranks.iter().map(|rank| rank.0.to_string()).collect();
            if digits.is_empty() { verb.to_owned() } else { format!("{verb}:{digits}") }
        };
        let flush = |flush: &Flush| {
            let target: Vec<RankId> = flush.target.into_iter().collect();
            ranks(if flush.is_local { "flush_local" } else { "flush" }, &target)
        };
        let text = match call {
            Call::Post(group) => ranks("post", group),
            Call::Start(group) => ranks("start", group),
            Call::Wait => "wait".to_owned(),
            Call::Test => "test".to_owned(),
            Call::Complete => "complete".to_owned(),
            Call::Lock { target, mode: Mode::Shared } => ranks("lock", &[*target]),
            Call::Lock { target, mode: Mode::Exclusive } => ranks("xlock", &[*target]),
            Call::Unlock(target) => ranks("unlock", &[*target]),
            Call::LockAll => "lock_all".to_owned(),
            Call::UnlockAll => "unlock_all".to_owned(),
            Call::Fence => "fence".to_owned(),
            Call::Transfer { transfer, with_request } => {
                let size = if transfer.place.bytes() == LARGE { "large_" } else { "" };
                let request = if *with_request { "r" } else { "" };
                ranks(&format!("{size}{request}{}", transfer.kind.name()), &[transfer.target])
            }
            Call::Flush(of) | Call::FlushWithRequest(of) => flush(of),
        };
        let is_left = match call {
            Call::Wait | Call::Complete | Call::Unlock(_) | Call::UnlockAll | Call::Fence => {
                *blocking == Blocking::Returns
            }
            Call::FlushWithRequest(_) => true,
            _ => false,
        };
        write!(f, "{}{text}", if is_left { "i" } else { "" })
    }
}

impl fmt::Display for EpochProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Flags {
            access_after_access,
            access_after_exposure,
            exposure_after_exposure,
            exposure_after_access,
        } = self.flags;
        let flags = [
            (access_after_access, "A_A_A_R"),
            (access_after_exposure, "A_A_E_R"),
            (exposure_after_exposure, "E_A_E_R"),
            (exposure_after_access, "E_A_A_R"),
        ];
        for (rank, steps) in self.ranks.iter().enumerate() {
            let steps: Vec<String> = steps.iter().map(EpochStep::to_string).collect();
            writeln!(f, "  rank {rank}: {}", steps.join(" "))?;
        }
        let on: Vec<&str> = flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
        if !on.is_empty() {
            writeln!(f, "  flags: {}", on.join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_what_their_text_says() {
        let line = "fence ifence post:12 start:0 put:0 rput:1 get:2 icomplete complete iwait wait lock:1 xlock:2 \
                    unlock:1 iunlock:2 lock_all iflush flush:1 flush_local:2 iflush_local unlock_all iunlock_all \
                    acc:1 fetch_op:2 large_acc:0 large_get_acc:1 waitall send:3 recv:1";
        let program = EpochProgram::parse(Flags::ALL, &[line], false).expect("every word is a step");
        let text = program.to_string();
        assert_eq!(text.lines().next().map(str::trim), Some(format!("rank 0: {line}").as_str()));
        for word in ["lock:4", "iput", "flush:x", "lock"] {
            assert_eq!(step(word), None, "{word}");
        }
    }
}
