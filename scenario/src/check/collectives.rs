//! Collectives: the n-th one of every rank is the same.
//!
//! Who calls fewer of them than others is no matter of the language: the others wait.

use std::sync::Arc;

use super::values::Values;
use crate::ast::Ast;
use crate::error::Faults;
use crate::model::{Program, Step};
use crate::op::Op;
use crate::problem::Problem;
use crate::span::Span;

/// Complains of each program about its first collective that is another one than what other ranks call
/// there.
pub(super) fn compare(
    ast: &Ast,
    numbers: &[u32],
    programs: &[Arc<Program>],
    values: &Values,
    faults: &mut Faults,
) {
    let place = |line: u32| numbers.binary_search(&line).map_or(Span::default(), |at| ast.lines[at].at);
    let count = |program: &Program| collectives(program).count();
    // Whoever agrees with the longest list agrees with all that agree with it.
    let longest = distinct(programs).max_by_key(|(rank, program)| (count(program), usize::MAX - rank));
    let Some((longest_rank, longest)) = longest else { return };
    let length = count(longest);
    if length == 0 {
        return;
    }
    if let Err(problem) = values.take_list::<u32>(length) {
        faults.add(ast.lines.first().map_or(Span::default(), |line| line.at), problem, None);
        return;
    }
    let mut order = Vec::with_capacity(length);
    order.extend((0..).zip(&longest.steps).filter(|(_, step)| is_collective(&step.op)).map(|(at, _)| at));
    for (rank, program) in distinct(programs) {
        let theirs = order.iter().map(|at: &u32| &longest.steps[*at as usize]);
        let differs = |(_, (own, their)): &(usize, (&Step, &Step))| own.op.name() != their.op.name();
        if let Some((number, (own, their))) = (1..).zip(collectives(program).zip(theirs)).find(differs) {
            let mut pair = [(own.line, rank, &own.op), (their.line, longest_rank, &their.op)];
            pair.sort_by_key(|(line, rank, _)| (*line, *rank));
            let [(line, rank, expected), (at, other, found)] = pair;
            let (found, expected) = (found.name(), expected.name());
            let problem = Problem::Unexpected {
                found: format!("`{found}` as collective {number} of rank {other}"),
                expected: format!("`{expected}`, as rank {rank} calls in line {line}"),
                help: Some(help(found, expected, line)),
            };
            faults.add(place(at), problem, None);
        }
        if faults.full() {
            break;
        }
    }
}

/// The programs, without those that are the one of the rank before.
fn distinct(programs: &[Arc<Program>]) -> impl Iterator<Item = (usize, &Program)> {
    let is_new = |rank: usize| {
        rank.checked_sub(1).is_none_or(|before| !Arc::ptr_eq(&programs[before], &programs[rank]))
    };
    programs.iter().map(|program| &**program).enumerate().filter(move |(rank, _)| is_new(*rank))
}

fn help(found: &str, expected: &str, line: u32) -> String {
    if found.strip_prefix('i') == Some(expected) {
        format!(
            "blocking and non-blocking collectives do not match (MPI-4.1, 6.12): write `{expected}` here, or \
             `{found}` and a `wait` in line {line}"
        )
    } else if expected.strip_prefix('i') == Some(found) {
        format!(
            "blocking and non-blocking collectives do not match (MPI-4.1, 6.12): write `{expected}` and a `wait` \
             here, or `{found}` in line {line}"
        )
    } else {
        "all ranks call the same collectives in the same order (MPI-4.1, 6.14)".to_owned()
    }
}

fn collectives(program: &Program) -> impl Iterator<Item = &Step> {
    program.steps.iter().filter(|step| is_collective(&step.op))
}

fn is_collective(op: &Op) -> bool {
    matches!(
        op,
        Op::Barrier { .. }
            | Op::Bcast { .. }
            | Op::Reduce { .. }
            | Op::AllReduce { .. }
            | Op::Gather { .. }
            | Op::AllGather { .. }
            | Op::AllToAll { .. }
    )
}

#[cfg(test)]
mod tests {
    use crate::load;

    fn check(text: &str, expected: &str) {
        let error = load("f", text.as_bytes()).map(|_| ()).map_err(|error| error.render(false));
        assert_eq!(error, Err(expected.to_owned()), "{text}");
    }

    fn is_right(text: &str) {
        let loaded = load("f", text.as_bytes());
        assert!(loaded.is_ok(), "{text}{}", loaded.err().map_or(String::new(), |error| error.to_string()));
    }

    #[test]
    fn blocking_and_nonblocking_collectives_do_not_match() {
        check(
            "ranks 2\nrank 0\nbarrier\nrank 1\nb = ibarrier\nwait b\n",
            "f:5:1: found `ibarrier` as collective 1 of rank 1, expected `barrier`, as rank 0 calls in line 3\n \
             5 | b = ibarrier\n   | ^^^^^^^^^^^^\n   = help: blocking and non-blocking collectives do not match \
             (MPI-4.1, 6.12): write `barrier` here, or `ibarrier` and a `wait` in line 3\n",
        );
        check(
            "ranks 3\nrank *\nbarrier\nrank 0..1\nibarrier\nrank 2\nbarrier\nrank *\nwait all\n",
            "f:7:1: found `barrier` as collective 2 of rank 2, expected `ibarrier`, as rank 0 calls in line 5\n \
             7 | barrier\n   | ^^^^^^^\n   = help: blocking and non-blocking collectives do not match \
             (MPI-4.1, 6.12): write `ibarrier` and a `wait` here, or `barrier` in line 5\n",
        );
    }

    #[test]
    fn the_ranks_call_the_same_collectives_in_the_same_order() {
        let order = " = help: all ranks call the same collectives in the same order (MPI-4.1, 6.14)\n";
        check(
            "ranks 2\nrank *\nallreduce size 8\nrank 1\nbcast root 0 size 8\nrank 0\nbarrier\n",
            &format!(
                "f:7:1: found `barrier` as collective 2 of rank 0, expected `bcast`, as rank 1 calls in line 5\n \
                 7 | barrier\n   | ^^^^^^^\n   {}",
                order.trim_start()
            ),
        );
        // The same line, in different rounds of a loop.
        check(
            "ranks 2\nrank *\nrepeat 1+me\nibarrier\nend\nbarrier\nwait all\n",
            &format!(
                "f:6:1: found `barrier` as collective 2 of rank 0, expected `ibarrier`, as rank 1 calls in line 4\n \
                 6 | barrier\n   | ^^^^^^^\n   {}",
                "= help: blocking and non-blocking collectives do not match (MPI-4.1, 6.12): write `ibarrier` and a \
                 `wait` here, or `barrier` in line 4\n"
            ),
        );
    }

    #[test]
    fn a_rank_may_call_fewer_collectives() {
        is_right("ranks 3\nrank *\nbarrier\nrank 1..2\nibarrier\nrank 2\nbarrier\n");
        is_right("ranks 3\nrank 1\nbarrier\n");
        is_right("ranks 3\nrank *\nallreduce size me\n");
    }
}
