//! Programs: the steps of each rank.

use super::id;
use carrousel_epoch::*;
use carrousel_wire::RankId;

/// One step of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A call; a blocking one waits for its request.
    Call(Call<'static>, bool),
    /// Waits for all requests so far.
    WaitAll,
    /// A message of the program, outside the window.
    Send(usize),
    Receive(usize),
}

pub(crate) type Steps = Vec<Step>;

/// What every rank does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) flags: Flags,
    pub(crate) ranks: Vec<Steps>,
    /// Whether local completion is told before remote completion.
    pub(crate) has_local: bool,
}

impl Program {
    /// Of text: a line a rank, its steps separated by spaces.
    ///
    /// `post:01 wait iwait start:1 complete icomplete lock:1 xlock:1 unlock:1 iunlock:1 lockall unlockall iunlockall
    /// fence ifence put:1 get:1 flush:1 iflush:1 iflushall iflushlocal:1 waitall send:1 recv:1`
    pub(crate) fn new(flags: Flags, lines: &[&str]) -> Self {
        let ranks: Vec<Steps> =
            lines.iter().map(|line| line.split_whitespace().map(step).collect()).collect();
        let has_local = lines.iter().any(|line| line.contains("local") || line.contains("rput"));
        Self { flags, ranks, has_local }
    }

    /// Whether every close waits.
    pub(crate) fn is_blocking(&self) -> bool {
        self.ranks.iter().flatten().all(|step| match step {
            Step::Call(
                Call::Wait | Call::Complete | Call::Unlock(_) | Call::UnlockAll | Call::Fence,
                waits,
            ) => *waits,
            _ => true,
        })
    }
}

fn group(ranks: &str) -> &'static [RankId] {
    const ALL: [&[RankId]; 8] = [
        &[],
        &[RankId(0)],
        &[RankId(1)],
        &[RankId(0), RankId(1)],
        &[RankId(2)],
        &[RankId(0), RankId(2)],
        &[RankId(1), RankId(2)],
        &[RankId(0), RankId(1), RankId(2)],
    ];
    ALL[ranks.bytes().map(|digit| 1 << (digit - b'0')).sum::<usize>()]
}

fn step(word: &str) -> Step {
    let (verb, argument) = word.split_once(':').unwrap_or((word, ""));
    let rank = || argument.parse::<usize>().unwrap_or_else(|_| panic!("{word} names no rank"));
    let target = || id(rank());
    let lock = |mode| Call::Lock { target: target(), mode };
    let transfer = |kind, with_request| {
        let transfer = Transfer { target: target(), kind, place: Blocks::contiguous(0, 8), local: 0 };
        Step::Call(Call::Transfer { transfer, with_request }, false)
    };
    let flush = |with_target: bool, is_local| Flush { target: with_target.then(target), is_local };
    match verb {
        "post" => Step::Call(Call::Post(group(argument)), false),
        "start" => Step::Call(Call::Start(group(argument)), false),
        "wait" => Step::Call(Call::Wait, true),
        "iwait" => Step::Call(Call::Wait, false),
        "complete" => Step::Call(Call::Complete, true),
        "icomplete" => Step::Call(Call::Complete, false),
        "lock" => Step::Call(lock(Mode::Shared), false),
        "xlock" => Step::Call(lock(Mode::Exclusive), false),
        "unlock" => Step::Call(Call::Unlock(target()), true),
        "iunlock" => Step::Call(Call::Unlock(target()), false),
        "lockall" => Step::Call(Call::LockAll, false),
        "unlockall" => Step::Call(Call::UnlockAll, true),
        "iunlockall" => Step::Call(Call::UnlockAll, false),
        "fence" => Step::Call(Call::Fence, true),
        "ifence" => Step::Call(Call::Fence, false),
        "put" => transfer(TransferKind::Put, false),
        "rput" => transfer(TransferKind::Put, true),
        "get" => transfer(TransferKind::Get, false),
        "flush" => Step::Call(Call::Flush(flush(true, false)), true),
        "flushlocal" => Step::Call(Call::Flush(flush(true, true)), true),
        "flushall" => Step::Call(Call::Flush(flush(false, false)), true),
        "iflush" => Step::Call(Call::FlushWithRequest(flush(true, false)), false),
        "iflushall" => Step::Call(Call::FlushWithRequest(flush(false, false)), false),
        "iflushlocal" => Step::Call(Call::FlushWithRequest(flush(true, true)), false),
        "waitall" => Step::WaitAll,
        "send" => Step::Send(rank()),
        "recv" => Step::Receive(rank()),
        _ => panic!("{word} is no step"),
    }
}
