//! Locks, flushes, and requests of accesses.

use crate::expect;

const RACE: &[&str] = &["rma-race"];

/// Rank 0 writes under a lock, does something, and sends; rank 1 receives, and loads.
fn put_then_message(between: &str) -> String {
    format!(
        "ranks 2\nwindow w 16\nrank 0\n  lock_all w\n  p = put w to 1 size 8\n  {between}\n  send to 1 tag 0 size 8\n  \
         unlock_all w\n  wait p\nrank 1\n  recv from 0 tag 0 size 8\n  load w at 0 size 8\n"
    )
}

/// 12.5.4: a flush completes at the target, a local one at the origin; 12.3.5: so does the request of a put.
#[test]
fn a_flush_completes_at_the_target_and_a_local_one_does_not() {
    expect(&put_then_message("flush w at 1"), &[], &[]);
    expect(&put_then_message("flush_all w"), &[], &[]);
    expect(&put_then_message("f = iflush w at 1\n  wait f"), &[], &[]);
    expect(&put_then_message("flush w at 0"), RACE, RACE);
    expect(&put_then_message("flush_local w at 1"), RACE, RACE);
    expect(&put_then_message("flush_local_all w"), RACE, RACE);
    expect(&put_then_message("wait p"), RACE, RACE);
}

/// 12.3.5: the request of a get says that its data is there. Then a store of the target changes nothing of it.
#[test]
fn the_request_of_a_get_is_its_end() {
    let program = |own: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  lock w at 1 shared\n  g = get w from 1 size 8\n  wait g\n  \
             send to 1 tag 0 size 8\n  unlock w at 1\nrank 1\n  {own}\n"
        )
    };
    expect(&program("recv from 0 tag 0 size 8\n  store w at 0 size 8"), &[], &[]);
    expect(&program("store w at 0 size 8\n  recv from 0 tag 0 size 8"), RACE, RACE);
    expect(&program("load w at 0 size 8\n  recv from 0 tag 0 size 8"), &[], &[]);
}

#[test]
fn requests_of_accesses_are_waited_for_and_need_a_lock() {
    let under_lock = |statements: &str| {
        format!("ranks 2\nwindow w 8\nrank 0\n  lock w at 1 shared\n  {statements}\n  unlock w at 1\n")
    };
    expect(&under_lock("p = put w to 1 size 8"), &["request-leak"], &["request-leak"]);
    let early = "g = get w from 1 size 8 buf b\n  read buf b\n  wait g";
    expect(&under_lock(early), &["buffer-safety"], &["buffer-safety"]);
    expect(&under_lock("g = get w from 1 size 8 buf b\n  wait g\n  read buf b"), &[], &[]);
    let in_a_group = "ranks 2\nwindow w 8\nrank 0\n  start w to [1]\n  p = put w to 1 size 8\n  wait p\n  \
                      complete w\nrank 1\n  post w from [0]\n  wait_epoch w\n";
    expect(in_a_group, &["epoch-usage"], &["epoch-usage"]);
}

/// 12.7: two accesses of one origin to one place are in no order, unless both are accumulates, or a flush is between them.
#[test]
fn accesses_of_one_origin_are_in_no_order() {
    let program = |first: &str, then: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  lock w at 1 exclusive\n  {first}\n  {then}\n  unlock w at 1\n"
        )
    };
    expect(&program("put w to 1 size 8", "put w to 1 size 8"), RACE, RACE);
    expect(&program("get w from 1 size 8", "put w to 1 size 8"), RACE, RACE);
    expect(&program("acc w to 1 size 8", "get w from 1 size 8"), RACE, RACE);
    expect(&program("get w from 1 size 8", "get w from 1 size 8"), &[], &[]);
    expect(&program("put w to 1 size 8\n  flush w at 1", "put w to 1 size 8"), &[], &[]);
    expect(&program("get w from 1 size 8\n  flush_local w at 1", "put w to 1 size 8"), &[], &[]);
    expect(&program("put w to 1 size 8\n  flush_local w at 1", "get w from 1 size 8"), RACE, RACE);
}

/// Rank 0 and then rank 1 write to rank 2: a message orders them once the first is complete there.
#[test]
fn a_token_orders_what_is_complete() {
    let program = |mode: &str, hand_over: &str| {
        format!(
            "ranks 3\nwindow w 8\nrank 0\n  lock w at 2 {mode}\n  put w to 2 size 8\n  {hand_over}\nrank 1\n  \
             recv from 0 tag 0 size 8\n  lock w at 2 {mode}\n  put w to 2 size 8\n  unlock w at 2\n"
        )
    };
    expect(&program("shared", "unlock w at 2\n  send to 1 tag 0 size 8"), &[], &[]);
    expect(&program("shared", "flush w at 2\n  send to 1 tag 0 size 8\n  unlock w at 2"), &[], &[]);
    expect(&program("shared", "send to 1 tag 0 size 8\n  unlock w at 2"), RACE, RACE);
    expect(&program("exclusive", "send to 1 tag 0 size 8\n  unlock w at 2"), &[], &[]);
}

#[test]
fn a_barrier_orders_what_is_complete() {
    let program = |end: &str| {
        format!(
            "ranks 3\nwindow w 8\nrank 0\n  lock w at 1 shared\n  put w to 1 size 8\n  {end}\nrank 1\n  barrier\n  \
             load w at 0 size 8\nrank 2\n  barrier\n  lock w at 1 shared\n  get w from 1 size 8\n  unlock w at 1\n"
        )
    };
    expect(&program("unlock w at 1\n  barrier"), &[], &[]);
    expect(&program("flush w at 1\n  barrier\n  unlock w at 1"), &[], &[]);
    expect(&program("flush_local w at 1\n  barrier\n  unlock w at 1"), RACE, RACE);
}

/// 12.5.3: locks exclude, also `lock_all` and the lock of the own memory; a rank without a lock is not excluded, and a lock
/// under which nothing happens orders nothing.
#[test]
fn locks_exclude_those_who_hold_one() {
    let program =
        |one: &str, other: &str| format!("ranks 3\nwindow w 8\nrank 0\n  {one}\nrank 2\n  {other}\n");
    let put = "lock w at 2 exclusive\n  put w to 2 size 8\n  unlock w at 2";
    expect(&program("lock_all w\n  put w to 2 size 8\n  unlock_all w", put), &[], &[]);
    expect(&program(put, "lock w at 2 exclusive\n  load w at 0 size 8\n  unlock w at 2"), &[], &[]);
    expect(&program(put, "lock w at 2 shared\n  store w at 0 size 8\n  unlock w at 2"), &[], &[]);
    expect(&program(put, "lock_all w\n  load w at 0 size 8\n  unlock_all w"), &[], &[]);
    expect(&program(put, "load w at 0 size 8"), RACE, RACE);
    expect(&program(put, "lock w at 2 exclusive\n  unlock w at 2\n  load w at 0 size 8"), RACE, RACE);
    let shared = "lock w at 2 shared\n  put w to 2 size 8\n  unlock w at 2";
    expect(&program(shared, "lock w at 2 shared\n  load w at 0 size 8\n  unlock w at 2"), RACE, RACE);
    expect(&program(shared, put), &[], &[]);
    // Another memory's lock excludes nobody from this one.
    expect(&program(put, "lock w at 0 exclusive\n  load w at 0 size 8\n  unlock w at 0"), RACE, RACE);
}

/// A `flush_all` under an inner lock waits for the accesses under the outer lock, too. So the inner lock is not brief, and
/// the order matters in which ranks get it.
#[test]
fn a_flush_of_all_under_an_inner_lock_waits_for_the_outer_one() {
    let program = |flush: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  lock w at 1 exclusive\n  acc w to 1 size 8\n  lock w at 0 exclusive\n  {flush}\n  \
             unlock w at 0\nrank 1\n  lock w at 0 exclusive\n  unlock w at 0\n  load w at 0 size 8\n"
        )
    };
    for flush in ["flush_all w", "flush w at 1", "flush w at 0"] {
        expect(&program(flush), &["rma-race", "epoch-usage"], &["rma-race", "epoch-usage"]);
    }
}

#[test]
fn who_holds_a_lock_and_waits_for_another_holder_waits_for_ever() {
    let program = |first: &str| {
        format!(
            "ranks 3\nwindow w 8\nrank 0\n  lock w at 2 {first}\n  get w from 2 size 8\n  flush w at 2\n  \
             recv from 1 tag 0 size 8\n  unlock w at 2\nrank 1\n  lock w at 2 exclusive\n  get w from 2 size 8\n  \
             unlock w at 2\n  send to 0 tag 0 size 8\n"
        )
    };
    expect(&program("exclusive"), &["deadlock-freedom"], &["deadlock-freedom"]);
    expect(&program("shared"), &["deadlock-freedom"], &["deadlock-freedom"]);
}
