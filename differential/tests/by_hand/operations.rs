//! Atomic operations (MPI-4.1, 12.7.1, 12.7.2; the keys of 12.2.1): by default all are atomic towards each other.

use crate::expect;

const RACE: &[&str] = &["rma-race"];

/// Ranks 0 and 1 access the memory of rank 2 under shared locks.
fn of_two(options: &str, one: &str, other: &str) -> String {
    format!(
        "ranks 3\nwindow w 16\n{options}rank 0\n  lock_all w\n  {one}\n  unlock_all w\nrank 1\n  lock w at 2 shared\n  \
         {other}\n  unlock w at 2\n"
    )
}

#[test]
fn one_operation_of_two_origins_is_atomic() {
    expect(&of_two("", "acc w to 2 size 8", "acc w to 2 size 8"), &[], &[]);
    expect(&of_two("", "acc w to 2 size 16", "fetch_op w at 2 at 8"), &[], &[]);
    expect(&of_two("", "acc w to 2 size 8 op replace", "get_acc w to 2 size 8 op replace"), &[], &[]);
    expect(&of_two("", "acc w to 2 size 8 op replace", "acc w to 2 size 8"), &[], RACE);
    expect(&of_two("", "put w to 2 size 8", "acc w to 2 size 8"), RACE, RACE);
    expect(&of_two("", "get w from 2 size 8", "fetch_op w at 2"), RACE, RACE);
    expect(&of_two("", "get w from 2 size 8", "fetch_op w at 2 op no_op"), &[], &[]);
    expect(&of_two("", "put w to 2 size 8", "get_acc w to 2 size 8 op no_op"), RACE, RACE);
}

#[test]
fn a_cas_is_an_operation_of_its_own() {
    expect(&of_two("", "cas w at 2", "cas w at 2"), &[], &[]);
    expect(&of_two("", "cas w at 2", "fetch_op w at 2"), &[], RACE);
    expect(&of_two("", "cas w at 2", "fetch_op w at 2 op no_op"), &[], &[]);
    expect(&of_two("", "cas w at 2", "acc w to 2 size 8 at 8"), &[], &[]);
}

#[test]
fn no_op_is_an_exception_unless_the_key_says_otherwise() {
    let same_op = "option w.accumulate_ops same_op\n";
    expect(&of_two("", "acc w to 2 size 8", "get_acc w to 2 size 8 op no_op"), &[], &[]);
    expect(&of_two(same_op, "acc w to 2 size 8", "get_acc w to 2 size 8 op no_op"), &[], RACE);
    expect(&of_two(same_op, "acc w to 2 size 8", "acc w to 2 size 8"), &[], &[]);
    // Both only read.
    expect(&of_two(same_op, "fetch_op w at 2 op no_op", "get_acc w to 2 size 8 op no_op"), &[], &[]);
}

/// 12.7.2: accumulates of one origin to one place are ordered, unless `accumulate_ordering none` is set.
#[test]
fn accumulates_of_one_origin_are_ordered_unless_the_key_says_otherwise() {
    let of_one = |options: &str, first: &str, then: &str| {
        format!("ranks 2\nwindow w 16\n{options}rank 0\n  lock_all w\n  {first}\n  {then}\n  unlock_all w\n")
    };
    let none = "option w.accumulate_ordering none\n";
    for (first, then) in [
        ("acc w to 1 size 8 op replace", "acc w to 1 size 8"),
        ("acc w to 1 size 8", "cas w at 1"),
        ("fetch_op w at 1", "acc w to 1 size 16 op replace"),
    ] {
        expect(&of_one("", first, then), &[], &[]);
        expect(&of_one(none, first, then), &[], RACE);
    }
    expect(&of_one(none, "acc w to 1 size 8", "get_acc w to 1 size 8 op no_op"), &[], &[]);
    expect(&of_one(none, "acc w to 1 size 8", "acc w to 1 size 8"), &[], &[]);
    expect(&of_one(none, "acc w to 1 size 8 op replace", "acc w to 1 size 8 at 8"), &[], &[]);
}

/// The answer of a later accumulate at the same place tells that the earlier one is over; that of a plain get does not, and
/// by default neither: reads and atomics of a pair are in no order.
#[test]
fn the_answer_of_an_accumulate_tells_of_those_before_it() {
    let program = |options: &str, answer: &str| {
        format!(
            "ranks 2\nwindow w 16\n{options}rank 0\n  lock_all w\n  fetch_op w at 1\n  {answer}\n  wait f\n  \
             send to 1 tag 0 size 8\n  unlock_all w\nrank 1\n  recv from 0 tag 0 size 8\n  load w at 0 size 8\n"
        )
    };
    expect(&program("", "f = fetch_op w at 1 op no_op"), &[], &[]);
    expect(&program("", "f = get_acc w to 1 size 16 op no_op"), &[], &[]);
    expect(&program("", "f = fetch_op w at 1 at 8 op no_op"), &[], RACE);
    expect(&program("", "f = get w from 1 size 8 at 8"), RACE, RACE);
    let none = "option w.accumulate_ordering none\n";
    expect(&program(none, "f = fetch_op w at 1 op no_op"), &[], RACE);
}
