//! Whether a check applies to a scenario. Where nothing could be violated, no violation is no proof.

use carrousel_program::Aspects;
use carrousel_scenario::Check;

/// Whether a scenario with these statements has something that a check is about.
pub(crate) fn is_applicable(check: Check, statements: &Aspects) -> bool {
    match check {
        // A rank cannot go on at a value that leaves its range, which only an execution shows.
        Check::DeadlockFreedom => statements.waits || statements.asks_for_messages,
        // A message that a receive could get.
        Check::MatchingOrder => statements.sends && statements.receives,
        Check::BufferSafety => statements.uses_buffer,
        Check::MatchDeterminism => statements.receives_any,
        Check::RmaRace => statements.accesses_window,
        Check::EpochUsage => statements.is_of_epoch || statements.accesses_window,
        Check::LockExclusion => statements.locks,
        Check::RequestLeak => statements.leaves_request,
        Check::UnmatchedMessage => statements.may_leave_message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_program::aspects;
    use carrousel_scenario::load;

    /// The checks that apply to a program of three ranks.
    fn applicable(program: &str) -> Vec<&'static str> {
        let text = format!("ranks 3\nwindow w 64\nrank 0\n{program}\n");
        let scenario = load("f", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let checks = Check::ALL.into_iter().filter(|check| is_applicable(*check, &aspects(&scenario)));
        checks.map(Check::name).collect()
    }

    #[test]
    fn a_check_applies_where_a_file_has_what_it_speaks_of() {
        let (deadlock, order, buffer) = ("deadlock-freedom", "matching-order", "buffer-safety");
        let (matches, race, epoch) = ("match-determinism", "rma-race", "epoch-usage");
        let (lock, leak, unmatched) = ("lock-exclusion", "request-leak", "unmatched-message");
        let table: [(&str, &[&str]); 20] = [
            ("", &[]),
            ("  compute 1us", &[]),
            ("  barrier", &[deadlock]),
            ("  ibarrier\n  wait all", &[deadlock, leak, unmatched]),
            ("  allreduce size 0", &[deadlock]),
            ("  allreduce size 8", &[deadlock, buffer]),
            ("  bcast root 0 size 8", &[deadlock, buffer, unmatched]),
            ("  send to 1 tag 0 size 8", &[deadlock, buffer, unmatched]),
            ("  isend to 1 tag 0 size 0", &[buffer, leak, unmatched]),
            ("  recv from 1 tag 0 size 8", &[deadlock, buffer]),
            ("  recv from 1 tag any size 8", &[deadlock, buffer, matches]),
            ("  irecv from any tag 0 size 8", &[buffer, matches, leak]),
            ("  sendrecv to 1 tag 0 size 8 from 1 tag 0 size 8", &[deadlock, order, buffer, unmatched]),
            ("  probe from any tag any", &[deadlock]),
            (
                "  r = probe from any tag any\n  isend to source(r) tag 0 size 8",
                &[deadlock, buffer, leak, unmatched],
            ),
            (
                "  r = recv from 1 tag 0 size 8\n  recv from source(r) tag any size 8",
                &[deadlock, buffer, matches],
            ),
            ("  write buf b", &[buffer]),
            ("  fence w\n  put w to 1 size 8\n  fence w", &[deadlock, buffer, race, epoch]),
            ("  lock w at 1 shared\n  unlock w at 1", &[deadlock, epoch, lock]),
            ("  ipost w from [1]\n  wait_epoch w", &[deadlock, epoch]),
        ];
        for (program, expected) in table {
            assert_eq!(applicable(program), expected, "{program}");
        }
    }
}
