//! Differences between the two verdicts that are known, each with the sentence that says why.

use crate::explore::Mode;
use crate::machine::Violated;
use crate::program::{Call, Program, Statement};

/// A difference that is known.
#[derive(Clone, Copy, Debug)]
pub struct KnownDifference {
    /// In reports.
    pub name: &'static str,
    /// Why the two differ, and why that is right.
    pub why: &'static str,
    /// Whether it is this one: the program, the mode, the oracle's verdict and the checker's.
    is_it: fn(&Program, Mode, Violated, Violated) -> bool,
}

/// All of them.
pub const KNOWN: &[KnownDifference] = &[
    KnownDifference {
        name: "a fence or a post that is missing, where both are used",
        why: "A fence is collective, and each start has its post (MPI-4.1, 12.5.1 and 12.5.2), so the program is wrong. By default \
          the library counts the fences and posts of a pair together: a start may be let in by a fence. Then it returns though \
          nobody posts for it; or its rank never calls that fence, and what is behind it is never done. The oracle pairs starts \
          with posts, and fences with fences. Both say that the program is wrong.",
        is_it: |program, mode, oracle, checker| {
            mode == Mode::Default
                && (0..program.windows.len() as u8).any(|window| mixes_and_misses(program, window))
                && oracle.contains(Violated::EPOCHS)
                && checker.contains(Violated::EPOCHS)
        },
    },
    KnownDifference {
        name: "an accumulate under a lock behind one of a start without its post",
        why: "Where a target has not posted, an MPI may return from `start` and `complete`, and then wait in `unlock` or `flush` for \
          an accumulate to the same place, which is ordered behind the one that is not let in (12.7.2): a deadlock, if that post \
          waits for the unlock. The oracle follows that, and the checker does not. Such a program locks the window while it is \
          exposed if the post is called earlier, and that is wrong (12.5.3); or there is no post, and that is, too (12.5.2). \
          Both say so.",
        is_it: |program, mode, oracle, checker| {
            mode == Mode::Portable
                && (0..program.windows.len() as u8).any(|window| accumulates_unposted(program, window))
                && checker.contains(Violated::EPOCHS)
                && checker.within(oracle)
                && oracle.without(checker) == Violated::DEADLOCK
        },
    },
];

/// Whether a rank accumulates in an epoch of a `start`, and in one of a lock.
fn accumulates_unposted(program: &Program, window: u8) -> bool {
    let is_accumulate = |it: &&Statement| matches!(it, Statement::Access(of, access) if *of == window && access.kind.is_atomic());
    (0..program.ranks.len()).any(|rank| {
        let has = |is_it: &dyn Fn(Call) -> bool| calls(program, window, rank, is_it) > 0;
        program.ranks[rank].iter().filter(is_accumulate).count() > 1
            && has(&|call| matches!(call, Call::Start(_)))
            && has(&|call| matches!(call, Call::Lock { .. } | Call::LockAll))
    })
}

/// How many calls of a kind a rank has on a window.
fn calls(program: &Program, window: u8, rank: usize, is_it: &dyn Fn(Call) -> bool) -> usize {
    let of_window =
        |it: &&Statement| matches!(it, Statement::Synchronize(of, it) if *of == window && is_it(it.call));
    program.ranks[rank].iter().filter(of_window).count()
}

fn starts(call: Call, target: usize) -> bool {
    matches!(call, Call::Start(targets) if targets >> target & 1 == 1)
}

fn posts(call: Call, origin: usize) -> bool {
    matches!(call, Call::Post(origins) if origins >> origin & 1 == 1)
}

/// Whether a window has fences, and posts or starts, and some of one kind have no counterpart: a rank calls fewer fences than
/// another, or a start has no post, or a post no start.
fn mixes_and_misses(program: &Program, window: u8) -> bool {
    let count = |rank: usize, is_it: &dyn Fn(Call) -> bool| calls(program, window, rank, is_it);
    let ranks = 0..program.ranks.len();
    let fences: Vec<usize> =
        ranks.clone().map(|rank| count(rank, &|call| matches!(call, Call::Fence { .. }))).collect();
    let mixes = fences.iter().any(|fences| *fences > 0)
        && ranks.clone().any(|rank| count(rank, &|call| matches!(call, Call::Post(_) | Call::Start(_))) > 0);
    let unpaired = |(origin, target): (usize, usize)| {
        count(origin, &|call| starts(call, target)) != count(target, &|call| posts(call, origin))
    };
    let mut pairs = ranks.clone().flat_map(|origin| ranks.clone().map(move |target| (origin, target)));
    mixes && (fences.iter().any(|other| *other != fences[0]) || pairs.any(unpaired))
}

/// The known difference between two verdicts, if it is one.
pub(crate) fn difference(
    program: &Program,
    mode: Mode,
    oracle: Violated,
    checker: Violated,
) -> Option<&'static KnownDifference> {
    KNOWN.iter().find(|known| (known.is_it)(program, mode, oracle, checker))
}
