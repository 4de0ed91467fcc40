//! Collectives: the n-th collectives of all ranks agree, in kind, root and size.
//!
//! A rank that calls fewer collectives than others breaks no rule of the language: the others wait.

use crate::ast::{Arg, Ast, Item, Statement};
use crate::error::Faults;
use crate::ids::CommunicatorId;
use crate::limits::FAULTS_MAX;
use crate::op::Op;
use crate::problem::{Problem, clip};
use crate::span::Span;
use crate::units;
use crate::verb::Holds;
use std::collections::HashMap;

/// One call of a collective.
#[derive(Clone, Copy)]
pub(super) struct Call {
    /// Its line in the tree.
    line: u32,
    root: Option<u32>,
    size: Option<u64>,
    on: CommunicatorId,
}

impl Call {
    /// The collective that the statement in `line` of the tree calls, if it is one.
    pub(super) fn of(line: u32, on: CommunicatorId, op: &Op) -> Option<Call> {
        let (root, size) = match *op {
            Op::Barrier { .. } => (None, None),
            Op::Bcast { root, size } | Op::Reduce { root, size } | Op::Gather { root, size } => {
                (Some(root), Some(size))
            }
            Op::AllReduce { size } | Op::AllGather { size } | Op::AllToAll { size } => (None, Some(size)),
            _ => return None,
        };
        Some(Call { line, root, size, on })
    }

    fn statement(self, ast: &Ast) -> Option<&Statement> {
        match &ast.lines[self.line as usize].item {
            Item::Statement(statement) => Some(statement),
            _ => None,
        }
    }

    fn name(self, ast: &Ast) -> &'static str {
        self.statement(ast).map_or("", |statement| statement.verb.name())
    }

    /// Its communicator: ` on rows`.
    fn on(self, ast: &Ast) -> String {
        let statement = self.statement(ast).into_iter();
        let mut slots = statement.flat_map(|it| it.verb.slots().iter().zip(&it.args));
        let name = slots.find_map(|(slot, arg)| match (slot.holds, arg) {
            (Holds::Communicator, Arg::Name(name)) => Some(format!(" on `{}`", clip(&name.text))),
            _ => None,
        });
        name.unwrap_or_default()
    }

    /// The call with its values: `bcast root 0 size 1KiB`.
    fn written(self, ast: &Ast) -> String {
        let root = self.root.map_or(String::new(), |root| format!(" root {root}"));
        let size = self.size.map_or(String::new(), |size| format!(" size {}", units::size(size)));
        format!("{}{root}{size}", self.name(ast))
    }
}

/// The collectives that the ranks of each communicator have to call, as far as they have called them, and the
/// contradictions.
#[derive(Default)]
pub(super) struct Collectives {
    /// The calls, in order, each with the first rank that makes it.
    calls: HashMap<CommunicatorId, Vec<(Call, u32)>>,
    /// The first contradiction of each rank and communicator.
    contradictions: Vec<(Span, Problem)>,
}

impl Collectives {
    /// Adds the calls of `rank`, which is above all earlier ranks. `numbers` has, by line of the tree, the line of
    /// the text.
    pub(super) fn add(&mut self, ast: &Ast, numbers: &[u32], rank: u32, calls: &[Call]) {
        let same = |own: &Call, other: &Call| {
            own.name(ast) == other.name(ast) && own.root == other.root && own.size == other.size
        };
        // By communicator: how many calls of this rank there were, or that they contradict.
        let mut done: HashMap<CommunicatorId, Option<usize>> = HashMap::new();
        for own in calls {
            let before = done.entry(own.on).or_insert(Some(0));
            let Some(number) = *before else { continue };
            let expected = self.calls.entry(own.on).or_default();
            match expected.get(number) {
                None => expected.push((*own, rank)),
                Some((other, _)) if same(own, other) => {}
                Some((other, other_rank)) => {
                    *before = None;
                    if self.contradictions.len() < FAULTS_MAX {
                        // The second one in the file is reported, compared with the first.
                        let mut pair = [(*other, *other_rank), (*own, rank)];
                        pair.sort_by_key(|(call, _)| call.line);
                        self.contradictions.push(contradiction(ast, numbers, number + 1, pair));
                    }
                    continue;
                }
            }
            *before = Some(number + 1);
        }
    }

    /// Reports, for each rank and communicator, its first collective that differs from that of the ranks before it.
    pub(super) fn complain(self, faults: &mut Faults) {
        for (at, problem) in self.contradictions {
            faults.add(at, problem, None);
        }
    }
}

/// The error that the collective with this number, from 1, is not the same at two ranks.
fn contradiction(
    ast: &Ast,
    numbers: &[u32],
    number: usize,
    [(expected, rank), (found, other)]: [(Call, u32); 2],
) -> (Span, Problem) {
    let (line, at) = (numbers[expected.line as usize], ast.lines[found.line as usize].at);
    let on = found.on(ast);
    let (found_name, expected_name) = (found.name(ast), expected.name(ast));
    let (found, expected, help) = if found_name == expected_name {
        let help = "all ranks call a collective with the same root and size (MPI-4.1, chapter 6)".to_owned();
        (found.written(ast), expected.written(ast), help)
    } else {
        (found_name.to_owned(), expected_name.to_owned(), help(found_name, expected_name, line))
    };
    let found = format!("`{found}` as collective {number} of rank {other}{on}");
    let expected = format!("`{expected}`, as rank {rank} calls in line {line}");
    (at, Problem::Unexpected { found, expected, help: Some(help) })
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
        is_right(
            "ranks 3\nrank 0..1\nbcast root 2 size 1KiB\nrank 2\nrepeat 1\nbcast root me size 1024\nend\nbarrier\n",
        );
    }

    /// A file whose second collective is `first` at ranks 0 and 2 and `second` at rank 1.
    fn two(first: &str, second: &str) -> String {
        format!("ranks 3\nrank *\nbarrier\nrank 0\n{first}\nrank 1\n{second}\nrank 2\n{first}\n")
    }

    #[test]
    fn the_ranks_agree_on_root_and_size() {
        let help = "   = help: all ranks call a collective with the same root and size (MPI-4.1, chapter 6)";
        for (first, second) in [
            ("bcast root 0 size 1KiB", "bcast root 0 size 2KiB"),
            ("bcast root 0 size 1KiB", "bcast root 1 size 1KiB"),
            ("reduce root 0 size 8", "reduce root 2 size 8"),
            ("gather root 0 size 8", "gather root 0 size 0"),
            ("allreduce size 8", "allreduce size 16"),
            ("allgather size 8", "allgather size 16"),
            ("alltoall size 8", "alltoall size 16"),
        ] {
            let marker = "^".repeat(second.len());
            check(
                &two(first, second),
                &format!(
                    "f:7:1: found `{second}` as collective 2 of rank 1, expected `{first}`, as rank 0 calls in line \
                     5\n 7 | {second}\n   | {marker}\n{help}\n"
                ),
            );
        }
    }

    #[test]
    fn one_line_may_contradict_itself() {
        let help = " = help: all ranks call a collective with the same root and size (MPI-4.1, chapter 6)";
        check(
            "ranks 3\nrank *\nallreduce size me\n",
            &format!(
                "f:3:1: found `allreduce size 1` as collective 1 of rank 1, expected `allreduce size 0`, as rank 0 \
                 calls in line 3\n 3 | allreduce size me\n   | ^^^^^^^^^^^^^^^^^\n  {help}\n"
            ),
        );
    }

    #[test]
    fn a_rank_without_a_collective_does_not_hide_that_others_differ() {
        check(
            "ranks 3\nrank 1\nbcast root 0 size 8\nrank 2\nbcast root 1 size 8\n",
            "f:5:1: found `bcast root 1 size 8` as collective 1 of rank 2, expected `bcast root 0 size 8`, as rank 1 \
             calls in line 3\n 5 | bcast root 1 size 8\n   | ^^^^^^^^^^^^^^^^^^^\n   = help: all ranks call a \
             collective with the same root and size (MPI-4.1, chapter 6)\n",
        );
    }
}
