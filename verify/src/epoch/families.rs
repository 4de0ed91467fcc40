//! Families: every program of some ranks, up to a number of items each.

use super::oracle;
use super::program::{Blocking, EpochProgram, EpochStep, group, large, transfer};
use carrousel_epoch::{Call, Flags, Flush, Mode, RankId, TransferKind};

/// What the programs of a family are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochItems {
    /// Accesses and exposures, one after the other or one inside the other.
    General,
    /// Fences, with operations or with an epoch inside.
    Fences,
    /// Locks, one after the other or one inside the other, and lock_all.
    Locks,
    /// Lock epochs with flushes.
    Flushes,
    /// Large and small accumulates of all other ranks to rank 0.
    Accumulates,
    /// Every kind of epoch.
    Mixed,
}

impl EpochItems {
    /// As in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::General => "access and exposure",
            Self::Fences => "fences",
            Self::Locks => "locks",
            Self::Flushes => "flushes",
            Self::Accumulates => "accumulates",
            Self::Mixed => "every kind",
        }
    }
}

const BOTH: [Blocking; 2] = [Blocking::Waits, Blocking::Returns];

fn call(call: Call<'static>) -> EpochStep {
    EpochStep::Call(call, Blocking::Waits)
}

fn id(rank: usize) -> RankId {
    RankId(rank as u32)
}

/// The non-empty groups of other ranks.
fn groups(me: usize, ranks: usize) -> Vec<Vec<usize>> {
    let others: Vec<usize> = (0..ranks).filter(|rank| *rank != me).collect();
    let members = |bits: usize| others.iter().enumerate().filter(move |(at, _)| bits & 1 << at != 0);
    (1..1 << others.len()).map(|bits| members(bits).map(|(_, rank)| *rank).collect()).collect()
}

/// An access epoch: its operations, up to the close.
fn access(to: &[usize], kinds: &[TransferKind]) -> Vec<EpochStep> {
    let mut steps = vec![call(Call::Start(group(to.iter().copied())))];
    for kind in kinds {
        steps.extend(to.iter().map(|target| transfer(*kind, *target, false)));
    }
    steps
}

fn general(me: usize, ranks: usize, is_small: bool) -> Vec<Vec<EpochStep>> {
    let mut items = Vec::new();
    for peers in groups(me, ranks) {
        let post = call(Call::Post(group(peers.iter().copied())));
        // With three ranks, closes that return make too many orders.
        for close in BOTH.into_iter().take(if ranks > 2 { 1 } else { BOTH.len() }) {
            let (wait, complete) =
                (EpochStep::Call(Call::Wait, close), EpochStep::Call(Call::Complete, close));
            items.push(vec![post, wait]);
            let operations: &[&[TransferKind]] = if is_small {
                &[&[TransferKind::Put]]
            } else {
                &[&[], &[TransferKind::Put], &[TransferKind::Get]]
            };
            items.extend(operations.iter().map(|kinds| [access(&peers, kinds), vec![complete]].concat()));
            let inside = access(&peers, &[TransferKind::Put]);
            if ranks > 2 {
                continue;
            }
            items.push([vec![post], inside.clone(), vec![complete, wait]].concat());
            if !is_small {
                items.push([inside, vec![post, wait, complete]].concat());
            }
        }
    }
    items
}

fn locks(me: usize, ranks: usize, is_small: bool) -> Vec<Vec<EpochStep>> {
    let mut items = Vec::new();
    for close in BOTH {
        let unlock = |target| EpochStep::Call(Call::Unlock(id(target)), close);
        let lock = |target, mode| call(Call::Lock { target: id(target), mode });
        for target in (0..ranks).filter(|target| !is_small || *target != me) {
            for mode in [Mode::Shared, Mode::Exclusive] {
                let kind = if mode == Mode::Shared { TransferKind::Get } else { TransferKind::Put };
                items.push(vec![lock(target, mode), transfer(kind, target, false), unlock(target)]);
            }
        }
        if !is_small {
            for (one, other) in [(me, (me + 1) % ranks), ((me + 1) % ranks, me)] {
                let put = transfer(TransferKind::Put, other, false);
                items.push(vec![
                    lock(one, Mode::Shared),
                    lock(other, Mode::Exclusive),
                    put,
                    unlock(other),
                    unlock(one),
                ]);
            }
        }
        let put = transfer(TransferKind::Put, (me + 1) % ranks, false);
        items.push(vec![call(Call::LockAll), put, EpochStep::Call(Call::UnlockAll, close)]);
    }
    items
}

fn flushes(me: usize, ranks: usize) -> Vec<Vec<EpochStep>> {
    let target = (me + 1) % ranks;
    let flush = |target: Option<usize>, is_local, close| {
        let flush = Flush { target: target.map(id), is_local };
        match close {
            Blocking::Waits => EpochStep::Call(Call::Flush(flush), close),
            Blocking::Returns => EpochStep::Call(Call::FlushWithRequest(flush), close),
        }
    };
    let put = transfer(TransferKind::Put, target, false);
    let get = transfer(TransferKind::Get, target, false);
    let mut items = Vec::new();
    for close in BOTH {
        for of in [Some(target), None] {
            for is_local in [false, true] {
                let flush = flush(of, is_local, close);
                let lock = call(Call::Lock { target: id(target), mode: Mode::Exclusive });
                let unlock = EpochStep::Call(Call::Unlock(id(target)), close);
                items.push(vec![lock, put, flush, get, unlock]);
                items.push(vec![lock, put, get, flush, put, unlock]);
                let unlock_all = EpochStep::Call(Call::UnlockAll, close);
                let other = transfer(TransferKind::Put, me, false);
                items.push(vec![call(Call::LockAll), put, other, flush, put, unlock_all]);
            }
        }
    }
    items
}

fn fences(me: usize, ranks: usize) -> Vec<Vec<EpochStep>> {
    let mut items = Vec::new();
    let peer = (me + 1) % ranks;
    for close in BOTH {
        let fence = EpochStep::Call(Call::Fence, close);
        items.push(vec![fence]);
        items.push(vec![fence, transfer(TransferKind::Put, peer, false)]);
        let lock = call(Call::Lock { target: id(peer), mode: Mode::Exclusive });
        let put = transfer(TransferKind::Put, peer, false);
        items.push(vec![fence, lock, put, EpochStep::Call(Call::Unlock(id(peer)), close)]);
        let (start, complete) =
            (access(&[peer], &[TransferKind::Put]), EpochStep::Call(Call::Complete, close));
        items.push([vec![fence], start, vec![complete]].concat());
        items.push(vec![fence, call(Call::Post(group([peer]))), EpochStep::Call(Call::Wait, close)]);
    }
    items
}

fn accumulates(me: usize, ranks: usize) -> Vec<Vec<EpochStep>> {
    if me == 0 {
        return vec![vec![call(Call::Post(group(1..ranks))), call(Call::Wait)]];
    }
    let small = transfer(TransferKind::Accumulate, 0, false);
    let fetching = vec![large(TransferKind::GetAccumulate, 0), transfer(TransferKind::FetchAndOp, 0, false)];
    let staged = large(TransferKind::Accumulate, 0);
    let mut items = Vec::new();
    for operations in [vec![staged, small], vec![small, staged], fetching] {
        let lock = |mode| call(Call::Lock { target: id(0), mode });
        let unlock = call(Call::Unlock(id(0)));
        for mode in [Mode::Shared, Mode::Exclusive] {
            items.push([vec![lock(mode)], operations.clone(), vec![unlock]].concat());
        }
        let start = call(Call::Start(group([0])));
        items.push([vec![start], operations, vec![call(Call::Complete)]].concat());
    }
    items
}

fn items(of: EpochItems, me: usize, ranks: usize) -> Vec<Vec<EpochStep>> {
    match of {
        EpochItems::General => general(me, ranks, ranks > 2),
        EpochItems::Fences => fences(me, ranks),
        EpochItems::Locks => locks(me, ranks, ranks > 2),
        EpochItems::Flushes => flushes(me, ranks),
        EpochItems::Accumulates => accumulates(me, ranks),
        EpochItems::Mixed => {
            let fence = BOTH.map(|close| vec![EpochStep::Call(Call::Fence, close)]);
            [general(me, ranks, true), locks(me, ranks, true), fence.to_vec()].concat()
        }
    }
}

/// All lists of up to so many items.
fn lists(items: &[Vec<EpochStep>], most: usize) -> Vec<(usize, Vec<EpochStep>)> {
    let mut all = vec![(0, Vec::new())];
    let mut from = 0;
    for len in 1..=most {
        let to = all.len();
        for at in from..to {
            let begun = all[at].1.clone();
            all.extend(items.iter().map(|item| (len, [begun.clone(), item.clone()].concat())));
        }
        from = to;
    }
    all
}

/// A fence epoch with operations is closed by another fence: without one, the program is wrong.
fn ends_well(steps: &[EpochStep]) -> bool {
    let last = steps.iter().rposition(|step| matches!(step, EpochStep::Call(Call::Fence, _)));
    let is_access = |step: &EpochStep| matches!(step, EpochStep::Call(Call::Transfer { .. }, _));
    let opens = |step: &EpochStep| {
        matches!(step, EpochStep::Call(Call::Start(_) | Call::Lock { .. } | Call::LockAll, _))
    };
    last.is_none_or(|last| !steps.get(last + 1).is_some_and(is_access) || steps[last + 1..].iter().any(opens))
}

/// A rank waits for all of its requests at the end.
fn with_wait(mut steps: Vec<EpochStep>) -> Vec<EpochStep> {
    let is_left = |step: &EpochStep| match step {
        EpochStep::Call(Call::Transfer { .. }, _) => false,
        EpochStep::Call(_, blocking) => *blocking == Blocking::Returns,
        _ => false,
    };
    if steps.iter().any(is_left) {
        steps.push(EpochStep::WaitAll);
    }
    steps
}

/// Every program of a family, one of each that are equal up to swapping two ranks.
pub(super) fn programs(
    of: EpochItems,
    ranks: usize,
    each: usize,
    all: usize,
    flags: &[Flags],
) -> Vec<EpochProgram> {
    let lists: Vec<Vec<(usize, Vec<EpochStep>)>> =
        (0..ranks).map(|me| lists(&items(of, me, ranks), each)).collect();
    let mut programs = Vec::new();
    let mut at = vec![0; ranks];
    loop {
        let chosen: Vec<&(usize, Vec<EpochStep>)> =
            at.iter().zip(&lists).map(|(at, lists)| &lists[*at]).collect();
        let count: usize = chosen.iter().map(|(count, _)| count).sum();
        // Items of two ranks are named alike: what one rank has less than the other is the same the other way round.
        let is_first = ranks != 2 || at[0] >= at[1];
        if (1..=all).contains(&count) && is_first {
            let steps: Vec<Vec<EpochStep>> =
                chosen.iter().map(|(_, steps)| with_wait(steps.clone())).collect();
            if oracle::is_matched(&steps) && steps.iter().all(|steps| ends_well(steps)) {
                let mut program = EpochProgram::new(Flags::default(), steps, false);
                program.may_be_stuck = oracle::may_be_stuck(&program);
                programs.extend(flags.iter().map(|flags| EpochProgram { flags: *flags, ..program.clone() }));
            }
        }
        let Some(next) = (0..ranks).find(|rank| at[*rank] + 1 < lists[*rank].len()) else { return programs };
        at[next] += 1;
        at[..next].fill(0);
    }
}
