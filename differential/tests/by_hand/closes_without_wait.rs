//! Closes and i-forms, and what shows that they are complete.

use crate::expect;

/// An origin has what it has fetched, so its target has exposed its memory; and the lock that the target has given back
/// before, though it never waits for that, is complete.
#[test]
fn an_exposure_that_has_let_somebody_in_has_begun() {
    let program = |fetch: &str| {
        format!(
            "ranks 2\nwindow w 16\nrank 0\n  lock w at 1 exclusive\n  put w to 1 size 8 at 8\n  a = iunlock w at 1\n  \
             post w from [1]\n  wait_epoch w\nrank 1\n  start w to [0]\n  {fetch}\n  complete w\n  \
             store w at 8 size 8\n"
        )
    };
    expect(&program("fetch_op w at 0"), &["request-leak"], &["request-leak"]);
    expect(&program("get w from 0 size 8"), &["request-leak"], &["request-leak"]);
    // What is only written may leave its origin before anybody is let in.
    expect(&program("put w to 0 size 8"), &["request-leak"], &["rma-race", "request-leak"]);
}

/// An answer under a lock: the lock was granted, and what the rank has closed before is complete. It is not told that the
/// write of its own fetch is over.
#[test]
fn an_epoch_that_has_fetched_has_begun() {
    let program = |first: u8| {
        format!(
            "ranks 2\nwindow w 16\nrank 0\n  lock w at 1 shared\n  put w to 1 size 8 at {first}\n  a = iunlock w at 1\n  \
             lock w at 1 shared\n  f = fetch_op w at 1 at 8\n  wait f\n  send to 1 tag 0 size 8\n  \
             unlock w at 1\nrank 1\n  recv from 0 tag 0 size 8\n  load w at 0 size 8\n"
        )
    };
    expect(&program(0), &["request-leak"], &["request-leak"]);
}

/// Two accumulates of one origin to one place, each in an exposure of its own: when the second is over, the first is
/// (MPI-4.1, 12.7.2), though no call of the target ends the first.
#[test]
fn an_accumulate_that_is_over_has_those_before_it_over() {
    let program = |second: &str| {
        format!(
            "ranks 2\nwindow w 16\nrank 0\n  fence w assert noprecede\n  acc w to 1 size 8\n  fence w\n  {second}\n  \
             fence w assert nosucceed\nrank 1\n  fence w assert noprecede\n  fence w assert noprecede\n  \
             fence w assert nosucceed\n  store w at 0 size 8\n"
        )
    };
    // The second fences do not say the same.
    expect(&program("acc w to 1 size 8"), &["epoch-usage"], &["epoch-usage"]);
    expect(&program("acc w to 1 size 16"), &["epoch-usage"], &["epoch-usage"]);
    expect(&program("acc w to 1 size 8 at 8"), &["epoch-usage"], &["rma-race", "epoch-usage"]);
}

/// The lock that rank 1 gives back goes to rank 0, which waits for it, and not to the exposure that was called for meanwhile:
/// by default lock and exposure take turns, and nothing races. Under every MPI they may meet.
#[test]
fn a_lock_that_is_waited_for_comes_before_an_exposure() {
    expect(
        "ranks 3\nwindow w 16\nrank 0\n  lock_all w\n  acc w to 2 size 8 at 8 op no_op\n  unlock_all w\n\
         rank 1\n  lock w at 2 exclusive\n  unlock w at 2\n  send to 2 tag 0 size 8\n  start w to [2]\n  \
         put w to 2 size 8 at 8\n  complete w\nrank 2\n  recv from 1 tag 0 size 8\n  post w from [1]\n  wait_epoch w\n",
        &["epoch-usage"],
        &["rma-race", "epoch-usage"],
    );
}

/// The request of an i-close is its end: a message before that orders nothing.
#[test]
fn a_close_is_complete_when_its_request_is() {
    let unlock = |close: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  ilock w at 1 shared\n  put w to 1 size 8\n  {close}\nrank 1\n  \
             recv from 0 tag 0 size 8\n  load w at 0 size 8\n"
        )
    };
    let race = ["rma-race"];
    expect(&unlock("r = iunlock w at 1\n  wait r\n  send to 1 tag 0 size 8"), &[], &[]);
    expect(&unlock("r = iunlock w at 1\n  send to 1 tag 0 size 8\n  wait r"), &race, &race);
    let lost = ["rma-race", "request-leak"];
    expect(&unlock("r = iunlock w at 1\n  send to 1 tag 0 size 8"), &lost, &lost);
    expect(&unlock("unlock w at 1\n  send to 1 tag 0 size 8"), &[], &[]);
}

/// `complete` brings what was fetched (12.5.2). What was written is there when the target's `wait_epoch` returns.
#[test]
fn an_icomplete_ends_what_was_fetched() {
    let program = |access: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  istart w to [1]\n  {access}\n  r = icomplete w\n  wait r\n  \
             send to 1 tag 0 size 8\nrank 1\n  ipost w from [0]\n  e = iwait_epoch w\n  recv from 0 tag 0 size 8\n  \
             store w at 0 size 8\n  wait e\n"
        )
    };
    expect(&program("get w from 1 size 8"), &[], &[]);
    expect(&program("put w to 1 size 8"), &[], &["rma-race"]);
    expect(&program("fetch_op w at 1"), &[], &["rma-race"]);
    expect(&program("fetch_op w at 1 op no_op"), &[], &[]);
}

#[test]
fn an_ifence_is_complete_when_its_request_is() {
    let program = |end: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  ifence w\n  put w to 1 size 8\n  r = ifence w\n  wait r\nrank 1\n  \
             ifence w\n  r = ifence w\n  {end}\n"
        )
    };
    expect(&program("wait r\n  load w at 0 size 8"), &[], &[]);
    expect(&program("load w at 0 size 8\n  wait r"), &["rma-race"], &["rma-race"]);
}

/// It completes accesses at the origin (MPI-4.1, 12.5.2), and where nothing is fetched it may return before its epoch begins:
/// here behind an epoch that nobody waits for, and that never ends.
#[test]
fn a_complete_that_fetches_nothing_returns_behind_an_epoch_that_never_ends() {
    let program = |between: &str| {
        format!(
            "ranks 2\nwindow v 16\nrank 0\n  post v from [1]\n  r = iwait_epoch v\n  start v to [1]\n{between}  complete v\n\
             rank 1\n  start v to [0]\n  post v from [0]\n  wait_epoch v\n"
        )
    };
    expect(&program(""), &["deadlock-freedom"], &["deadlock-freedom", "request-leak"]);
    expect(&program("  get v from 1 size 8\n"), &["deadlock-freedom"], &["deadlock-freedom"]);
}
