//! How the number of states grows with the number of ranks: searches of many ranks end only where orders that make no
//! difference are left out.

use carrousel_rank::{Mirror, Protocol, Published};
use carrousel_scenario::{Check, load};
use carrousel_verify::explore::{Limits, explore};
use carrousel_verify::model::Settings;
use carrousel_verify::scenario::job;

/// The states of a scenario in the reduced search, which violates these checks.
fn states<P: Protocol>(text: &str, expected: &[Check]) -> u64 {
    states_under::<P>(text, expected, false)
}

/// The same, by default or under the weakest MPI.
fn states_under<P: Protocol>(text: &str, expected: &[Check], portable: bool) -> u64 {
    let scenario =
        load("growth.scn", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let job = job(&scenario, portable).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let limits = Limits { threads: 1, max_states: Some(20_000), ..Limits::default() };
    let outcome = explore::<P>([job].into(), Settings { portable, ..Settings::default() }, &limits);
    assert!(outcome.exhaustive, "more than {} states:\n{text}", outcome.states);
    let violated: Vec<Check> = outcome.violations.iter().map(|(check, _)| *check).collect();
    assert_eq!(violated, expected, "{text}");
    outcome.states
}

/// Twice the ranks take at most four times as many steps, and no more states than steps.
fn does_not_branch(of: impl Fn(u64) -> String) {
    does_not_branch_under(of, false);
}

fn does_not_branch_under(of: impl Fn(u64) -> String, portable: bool) {
    let [few, many] = [4, 8].map(|ranks| states_under::<Mirror>(&of(ranks), &[], portable));
    assert!(many <= 4 * few, "{few} and {many} states:\n{}", of(4));
}

/// Neither by default nor under the weakest MPI.
fn branches_nowhere(of: impl Fn(u64) -> String) {
    [false, true].into_iter().for_each(|portable| does_not_branch_under(&of, portable));
}

/// A put, a flush and a message to the target, and what the target does then.
#[test]
fn messages_order_accesses() {
    branches_nowhere(|ranks| {
        format!(
            "ranks {ranks}\nwindow w 16\nrank *\n  lock_all w\n  repeat 2\n    put w to (me+1)%size size 8\n    \
             put w to (me+size-1)%size size 8 at 8\n    flush_all w\n    isend to (me+1)%size tag 0 size 0\n    \
             isend to (me+size-1)%size tag 1 size 0\n    recv from (me+size-1)%size tag 0 size 0\n    \
             recv from (me+1)%size tag 1 size 0\n    wait all\n    load w at 0 size 16\n    barrier\n  end\n  \
             unlock_all w\n"
        )
    });
}

/// The set of a message has nothing of a window, as long as its ranks have not come to that.
#[test]
fn windows_behind_messages_do_not_meet_them() {
    for fence in ["fence w", "fence w assert noprecede nosucceed"] {
        branches_nowhere(|ranks| {
            format!(
                "ranks {ranks}\nwindow w 64\nrank *\n  repeat 2\n    a = irecv from (me+size-1)%size tag 0 size 32KiB\n    \
                 b = isend to (me+1)%size tag 0 size 32KiB\n    wait a b\n    allreduce size 8\n  end\n  {fence}\n  \
                 fence w\n  put w to 0 size 8 at 8*me\n  fence w\nrank 0\n  load w at 0 size 64\n"
            )
        });
    }
}

/// Whether a receive was announced that a small message met leaves nothing behind: each flow adds its states to those of the
/// others, and does not multiply them.
#[test]
fn announcements_that_come_too_late_leave_nothing_behind() {
    for program in ["", "  wait a\n"] {
        does_not_branch(|ranks| {
            let last = ranks - 1;
            format!(
                "ranks {ranks}\nrank 1..{last}\n  a = irecv from me-1 tag 0 size 64KiB\n{program}  compute 1us\nrank 0..{}\n  \
                 send to me+1 tag 0 size 8\nrank 1..{last}\n{}",
                last - 1,
                if program.is_empty() { "  wait a\n" } else { "" }
            )
        });
    }
}

/// `nocheck` is not followed where no lock excludes another, and where a barrier says that each post comes first.
#[test]
fn assertions_that_always_hold_cost_nothing() {
    branches_nowhere(|ranks| {
        format!(
            "ranks {ranks}\nwindow w 8\nrank *\n  lock_all w assert nocheck\n  put w to (me+1)%size size 8\n  flush_all w\n  \
             barrier\n  load w at 0 size 8\n  unlock_all w\n"
        )
    });
    branches_nowhere(|ranks| {
        format!(
            "ranks {ranks}\nwindow w 8\nrank *\n  post w from [(me+1)%size] assert nocheck\n  barrier\n  \
             start w to [(me+size-1)%size] assert nocheck\n  put w to (me+size-1)%size size 8\n  complete w\n  \
             wait_epoch w\n"
        )
    });
}

/// Epochs that are closed and not waited for hold back later ones, which makes no difference where nothing conflicts.
#[test]
fn epochs_that_are_closed_early_do_not_meet() {
    branches_nowhere(|ranks| {
        format!(
            "ranks {ranks}\nwindow w 16\nrank *\n  lock w at (me+1)%size shared\n  put w to (me+1)%size size 8\n  \
             x = iunlock w at (me+1)%size\n  lock w at (me+2)%size shared\n  put w to (me+2)%size size 8 at 8\n  \
             y = iunlock w at (me+2)%size\n  wait x y\n"
        )
    });
    branches_nowhere(|ranks| {
        format!(
            "ranks {ranks}\nwindow a 8\nwindow b 8\nrank *\n  fence a\n  fence b\n  put a to (me+1)%size size 8\n  \
             put b to (me+1)%size size 8\n  x = ifence a\n  y = ifence b\n  wait x y\n"
        )
    });
}

/// Once it is known that accesses race, their orders are not told apart.
#[test]
fn a_race_is_searched_for_once() {
    for portable in [false, true] {
        let text = "ranks 12\nwindow w 96\nrank *\n  fence w\n  put w to 0 size 8 at 8*me\n  barrier\nrank 0\n  \
                    load w at 0 size 96\nrank *\n  fence w\n";
        let states = states_under::<Mirror>(text, &[Check::RmaRace], portable);
        assert!(states <= 2_000, "{states} states");
    }
}

/// What a target does between its exposures, and with a lock of its own memory, meets no access.
#[test]
fn exposures_and_locks_keep_apart_what_they_say() {
    branches_nowhere(|ranks| {
        format!(
            "ranks {ranks}\nwindow w 24\nrank *\n  repeat 3\n    store w at 16 size 8\n    fence w\n    \
             get w from (me+1)%size size 8 at 16\n    get w from (me+size-1)%size size 8 at 16\n    fence w\n  end\n"
        )
    });
    branches_nowhere(|ranks| {
        format!(
            "ranks {ranks}\nwindow w 8\nrank *\n  lock w at me exclusive\n  store w at 0 size 8\n  unlock w at me\n  \
             barrier\n  lock w at (me+1)%size shared\n  get w from (me+1)%size size 8\n  unlock w at (me+1)%size\n"
        )
    });
    branches_nowhere(|ranks| {
        format!(
            "ranks {ranks}\nwindow w 8\nrank *\n  repeat 2\n    lock w at 0 exclusive\n    get w from 0 size 8\n    \
             flush w at 0\n    put w to 0 size 8\n    unlock w at 0\n  end\n"
        )
    });
}

#[test]
fn accesses_of_different_exposures_do_not_meet() {
    for place in ["0", "me*8"] {
        does_not_branch(|ranks| {
            format!(
                "ranks {ranks}\nwindow w 64\nrank *\n  repeat 3\n    post w from [(me+size-1)%size]\n    \
                 start w to [(me+1)%size]\n    put w to (me+1)%size size 8 at {place}\n    complete w\n    \
                 wait_epoch w\n    load w at 0 size 64\n  end\n"
            )
        });
    }
    for between in ["", "barrier"] {
        does_not_branch(|ranks| {
            format!(
                "ranks {ranks}\nwindow w 16\nrank *\n  fence w\n  repeat 4\n    put w to (me+1)%size size 8\n    \
                 put w to (me+size-1)%size size 8 at 8\n    fence w\n    {between}\n  end\n"
            )
        });
    }
}

#[test]
fn accesses_that_flushes_and_barriers_order_do_not_meet() {
    for (lock, unlock) in [("lock w at 0 shared", "unlock w at 0"), ("lock_all w", "unlock_all w")] {
        does_not_branch(|ranks| {
            format!(
                "ranks {ranks}\nwindow w 64\nrank 1..{}\n  {lock}\n  repeat 3\n    put w to 0 size 8 at me*8\n    \
                 flush w at 0\n  end\n  {unlock}\n",
                ranks - 1
            )
        });
    }
    // To the same bytes in turns.
    does_not_branch(|ranks| {
        let turn = |rank| {
            let put = "  lock_all w\n  put w to 0 size 8\n  unlock_all w\n";
            format!("rank {rank}\n{put}rank *\n  barrier\n")
        };
        format!("ranks {ranks}\nwindow w 8\n{}", (0..4).map(turn).collect::<String>())
    });
}

#[test]
fn the_order_of_brief_locks_is_not_explored() {
    for access in ["fetch_op w at 0", "put w to 0 size 8\n  flush w at 0\n  get w from 0 size 8"] {
        does_not_branch(|ranks| {
            format!(
                "ranks {ranks}\nwindow w 8\nrank *\n  lock w at 0 exclusive\n  {access}\n  unlock w at 0\n  \
                 lock w at 0 shared\n  get w from 0 size 8\n  unlock w at 0\n"
            )
        });
    }
}

/// What a deadlock keeps from happening has no order that could matter.
#[test]
fn a_deadlock_is_found_whatever_would_come_behind_it() {
    let of = |ranks: u64| {
        format!(
            "ranks {ranks}\nwindow w 16\nrank *\n  lock_all w\n  repeat 2\n    put w to (me+1)%size size 8\n    \
             put w to (me+size-1)%size size 8 at 8\n    flush_all w\n    isend to (me+1)%size tag 3 size 8\n    \
             isend to (me+size-1)%size tag 4 size 8\n    recv from (me+size-1)%size tag 3 size 8\n    \
             recv from (me+1)%size tag 5 size 8\n    wait all\n    load w at 0 size 16\n    allreduce size 8\n  \
             end\n  unlock_all w\n"
        )
    };
    for portable in [false, true] {
        let expected = [Check::DeadlockFreedom];
        let [few, many] = [4, 12].map(|ranks| states_under::<Mirror>(&of(ranks), &expected, portable));
        assert!(many <= 9 * few, "{few} and {many} states");
    }
}

/// What a master has answered in which order is no part of a state, whatever the rules.
#[test]
fn answers_leave_the_same_behind_under_both_rule_sets() {
    let text = "ranks 5\nrank 0\n  repeat 8\n    r = recv from any tag 0 size 8\n    \
                send to source(r) tag 1 size 8\n  end\nrank 1..4\n  repeat 2\n    send to 0 tag 0 size 8\n    \
                recv from 0 tag 1 size 8\n  end\n";
    let expected = [Check::MatchDeterminism];
    let (mirror, published) = (states::<Mirror>(text, &expected), states::<Published>(text, &expected));
    assert!(mirror <= 2 * published, "{mirror} and {published} states");
}

/// A rank that receives from any source has got some of the messages, and is somewhere in its next receive: in which order
/// they came is no part of a state.
#[test]
fn which_messages_have_come_doubles_with_each_sender() {
    for (size, most_each) in [("8", 4), ("64KiB", 24)] {
        let text = format!(
            "ranks 8\nrank 0\n  repeat 7\n    recv from any tag 0 size {size}\n  end\nrank 1..7\n  \
             send to 0 tag 0 size {size}\n"
        );
        let states = states::<Mirror>(&text, &[Check::MatchDeterminism]);
        assert!(states <= most_each << 7, "{states} states of {size}");
    }
}
