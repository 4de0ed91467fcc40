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
    name: "a fence that some ranks never call",
    why: "A fence is collective (MPI-4.1, 12.5.1), so the program is wrong, and by default its first fence returns nevertheless. \
          The library counts the fences and posts of a pair together: a start may be let in by the fence that its own rank never \
          calls, and waits, so that what is behind it is never done. The oracle pairs starts with posts, and fences with fences. \
          Both say that the program is wrong.",
    is_it: |program, mode, oracle, checker| {
        mode == Mode::Default
            && (0..program.windows.len() as u8).any(|window| misses_fence(program, window))
            && oracle.contains(Violated::EPOCHS)
            && checker.contains(Violated::EPOCHS)
    },
}];

/// Whether some rank calls fewer fences of a window than another, and some rank posts.
fn misses_fence(program: &Program, window: u8) -> bool {
    let calls = |statements: &[Statement], is_it: fn(Call) -> bool| {
        let of_window =
            |it: &&Statement| matches!(it, Statement::Synchronize(of, it) if *of == window && is_it(it.call));
        statements.iter().filter(of_window).count()
    };
    let fences = |statements: &Vec<Statement>| calls(statements, |call| matches!(call, Call::Fence { .. }));
    let posts = |statements: &Vec<Statement>| calls(statements, |call| matches!(call, Call::Post(_)));
    let most = program.ranks.iter().map(fences).max();
    program.ranks.iter().any(|it| Some(fences(it)) != most) && program.ranks.iter().any(|it| posts(it) > 0)
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
