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
pub const KNOWN: &[KnownDifference] = &[KnownDifference {
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
}];

/// Whether a window has fences, and posts or starts, and some of one kind have no counterpart: a rank calls fewer fences than
/// another, or a start has no post, or a post no start.
fn mixes_and_misses(program: &Program, window: u8) -> bool {
    let count = |rank: usize, is_it: &dyn Fn(Call) -> bool| {
        let of_window =
            |it: &&Statement| matches!(it, Statement::Synchronize(of, it) if *of == window && is_it(it.call));
        program.ranks[rank].iter().filter(of_window).count()
    };
    let ranks = 0..program.ranks.len();
    let fences: Vec<usize> =
        ranks.clone().map(|rank| count(rank, &|call| matches!(call, Call::Fence { .. }))).collect();
    let mixes = fences.iter().any(|fences| *fences > 0)
        && ranks.clone().any(|rank| count(rank, &|call| matches!(call, Call::Post(_) | Call::Start(_))) > 0);
    let unpaired = |(origin, target): (usize, usize)| {
        let starts =
            count(origin, &|call| matches!(call, Call::Start(targets) if targets >> target & 1 == 1));
        let posts = count(target, &|call| matches!(call, Call::Post(origins) if origins >> origin & 1 == 1));
        starts != posts
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
