//! Collectives: the n-th one of every rank is the same.
//!
//! Who calls fewer of them than others is no matter of the language: the others wait.

use super::programs::File;
use crate::ast::Item;
use crate::error::Faults;
use crate::problem::Problem;
use crate::verb::Verb;

/// Which collectives the ranks call: as lines of the tree, in order. Ranks that share a program are there
/// once.
#[derive(Default)]
pub(super) struct Collectives {
    /// Those of all ranks, one rank after the other.
    lines: Vec<u32>,
    /// The ranks, ascending, each with where its lines end and those of the next begin.
    ranks: Vec<(u32, u32)>,
}

impl Collectives {
    /// Adds `rank`, which is above all before.
    pub(super) fn add(&mut self, rank: u32, lines: &[u32]) {
        if !lines.is_empty() {
            self.lines.extend_from_slice(lines);
            self.ranks.push((rank, self.lines.len() as u32));
        }
    }

    /// The ranks that call any, ascending, with the lines of these calls.
    fn by_rank(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let starts = std::iter::once(0).chain(self.ranks.iter().map(|(_, end)| *end));
        let list =
            |((rank, end), start): (&(u32, u32), u32)| (*rank, &self.lines[start as usize..*end as usize]);
        self.ranks.iter().zip(starts).map(list)
    }
}

/// Complains of each rank about its first collective that is another one than what other ranks call
/// there.
pub(super) fn compare(file: &File<'_>, collectives: &Collectives, faults: &mut Faults) {
    let name = |line: u32| match &file.ast.lines[line as usize].item {
        Item::Statement(statement) => statement.verb.name(),
        _ => "",
    };
    // Whoever agrees with the longest list agrees with all that agree with it.
    let longest = collectives.by_rank().max_by_key(|(rank, lines)| (lines.len(), u32::MAX - rank));
    let Some((longest_rank, longest)) = longest else { return };
    for (rank, lines) in collectives.by_rank() {
        let differs = |(_, (own, their)): &(usize, (&u32, &u32))| name(**own) != name(**their);
        if let Some((number, (own, their))) = (1..).zip(lines.iter().zip(longest)).find(differs) {
            let mut pair = [(*own, rank), (*their, longest_rank)];
            pair.sort_unstable();
            let [(expected, rank), (found, other)] = pair;
            let (line, at) = (file.numbers[expected as usize], file.ast.lines[found as usize].at);
            let (found, expected) = (name(found), name(expected));
            let problem = Problem::Unexpected {
                found: format!("`{found}` as collective {number} of rank {other}"),
                expected: format!("`{expected}`, as rank {rank} calls in line {line}"),
                help: Some(help(found, expected, line)),
            };
            faults.add(at, problem, None);
        }
        if faults.full() {
            break;
        }
    }
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

/// Whether `verb` is a collective.
pub(super) fn is_one(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Barrier
            | Verb::IBarrier
            | Verb::Bcast
            | Verb::Reduce
            | Verb::AllReduce
            | Verb::Gather
            | Verb::AllGather
            | Verb::AllToAll
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
