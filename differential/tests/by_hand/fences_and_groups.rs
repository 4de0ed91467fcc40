//! Epochs of fences and of groups, beside locks, messages, and the target's own loads and stores.

use crate::expect;

const RACE: &[&str] = &["rma-race"];
const DEADLOCK: &[&str] = &["deadlock-freedom"];

/// 12.7: a put is complete at its target when the target's fence returns. The fence of its origin says less, even to it.
#[test]
fn the_fence_of_an_origin_completes_nothing_at_the_target() {
    let program = |then: &str| {
        format!(
            "ranks 2\nwindow w 16\nrank 0\n  fence w\n  put w to 1 size 8\n  fence w\n  {then}\nrank 1\n  fence w\n  \
             fence w\n"
        )
    };
    let under_lock = |access: &str| program(&format!("lock w at 1 shared\n  {access}\n  unlock w at 1"));
    expect(&under_lock("get w from 1 size 8"), &[], RACE);
    expect(&under_lock("get w from 1 size 8 at 8"), &[], &[]);
    expect(&program("store w at 0 size 8"), &[], &[]);
}

/// 12.5.1: a fence that ends no epoch is no barrier.
#[test]
fn a_fence_that_ends_no_epoch_orders_nothing() {
    let program = |before: &str, behind: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank *\n  fence w{before}\nrank 0\n  lock w at 1 shared\n  put w to 1 size 8\n  \
             unlock w at 1\nrank *\n  fence w{behind}\nrank 1\n  load w at 0 size 8\n"
        )
    };
    expect(&program(" assert nosucceed", " assert noprecede"), &[], RACE);
    // By the letter of 12.5.1, two access epochs overlap here; but the second fence waits for all.
    expect(&program("", ""), &[], &["epoch-usage"]);
}

/// Exposures of a target follow each other, and so do the accesses in them; within one they do not.
#[test]
fn accesses_in_one_exposure_are_in_no_order() {
    let program = |posts: &str, second: u8| {
        format!(
            "ranks 3\nwindow w 16\nrank 0\n  start w to [2]\n  put w to 2 size 8\n  complete w\nrank 1\n  \
             start w to [2]\n  put w to 2 size 8 at {second}\n  complete w\nrank 2\n  {posts}\n"
        )
    };
    let together = "post w from [0 1]\n  wait_epoch w";
    expect(&program(together, 8), &[], &[]);
    expect(&program(together, 0), RACE, RACE);
    expect(&program("post w from [0]\n  wait_epoch w\n  post w from [1]\n  wait_epoch w", 0), &[], &[]);
}

/// Ranks that are origins and targets at once, in groups that overlap.
#[test]
fn groups_may_overlap() {
    let ring = "ranks 3\nwindow w 8\nrank *\n  post w from [(me+2)%3 (me+1)%3]\n  start w to [(me+1)%3 (me+2)%3]\n  \
                put w to (me+1)%3 size 8\n  complete w\n  wait_epoch w\n  load w at 0 size 8\n";
    expect(ring, &[], &[]);
    let early = ring.replace("wait_epoch w\n  load w at 0 size 8", "load w at 0 size 8\n  wait_epoch w");
    expect(&early, RACE, RACE);
    let in_turn = "ranks 3\nwindow w 8\nrank 0\n  start w to [1 2]\n  put w to 2 size 8\n  complete w\nrank 1\n  \
                   post w from [0]\n  wait_epoch w\n  start w to [2]\n  put w to 2 size 8\n  complete w\nrank 2\n  \
                   post w from [0 1]\n  wait_epoch w\n";
    // The exposure of rank 1 is over when rank 0 has completed its access to it: of rank 2, that says nothing.
    expect(in_turn, RACE, RACE);
}

#[test]
fn a_target_that_does_not_post_is_waited_for() {
    let program = "ranks 3\nwindow w 8\nrank 0\n  start w to [1 2]\n  put w to 1 size 8\n  complete w\nrank 1\n  \
                   post w from [0]\n  wait_epoch w\n";
    let both = ["deadlock-freedom", "epoch-usage"];
    expect(program, &both, &both);
}

/// 12.5.2: `complete` "does not guarantee" completion at the target, whatever a message says behind it.
#[test]
fn a_message_behind_complete_orders_nothing_at_the_target() {
    let program = |first: &str| {
        format!(
            "ranks 3\nwindow w 8\nrank 0\n  start w to [2]\n  {first}\n  complete w\n  send to 1 tag 0 size 8\nrank 1\n  \
             recv from 0 tag 0 size 8\n  start w to [2]\n  put w to 2 size 8\n  complete w\nrank 2\n  \
             post w from [0 1]\n  wait_epoch w\n"
        )
    };
    expect(&program("put w to 2 size 8"), &[], RACE);
    expect(&program("get w from 2 size 8"), &[], &[]);
    expect(&program("fetch_op w at 2"), &[], RACE);
}

#[test]
fn an_exposure_ends_when_its_origins_have_completed() {
    let program = |origin: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  start w to [1]\n  {origin}\nrank 1\n  post w from [0]\n  wait_epoch w\n  \
             send to 0 tag 0 size 8\n"
        )
    };
    expect(&program("recv from 1 tag 0 size 8\n  complete w"), DEADLOCK, DEADLOCK);
    expect(&program("complete w\n  recv from 1 tag 0 size 8"), &[], &[]);
}

/// The unified model: what a rank does to its own memory meets only accesses to the same bytes.
#[test]
fn a_rank_may_use_what_nobody_else_does_while_it_is_exposed() {
    let fences = |origin: &str, own: &str| {
        format!(
            "ranks 2\nwindow w 16\nrank 0\n  fence w\n  {origin}\n  fence w\nrank 1\n  fence w\n  {own}\n  fence w\n"
        )
    };
    let group = |origin: &str, own: &str| {
        format!(
            "ranks 2\nwindow w 16\nrank 0\n  start w to [1]\n  {origin}\n  complete w\nrank 1\n  post w from [0]\n  \
             {own}\n  wait_epoch w\n"
        )
    };
    for program in [fences as fn(&str, &str) -> String, group] {
        expect(&program("put w to 1 size 8", "store w at 8 size 8"), &[], &[]);
        expect(&program("put w to 1 size 8", "store w at 0 size 8"), RACE, RACE);
        expect(&program("put w to 1 size 8", "load w at 0 size 8"), RACE, RACE);
        expect(&program("get w from 1 size 8", "load w at 0 size 8"), &[], &[]);
        expect(&program("get w from 1 size 8", "store w at 0 size 8"), RACE, RACE);
        expect(&program("acc w to 1 size 8", "load w at 0 size 8"), RACE, RACE);
        expect(&program("get_acc w to 1 size 8 op no_op", "load w at 0 size 8"), &[], &[]);
    }
}

#[test]
fn a_window_is_not_another() {
    let program = "ranks 2\nwindow w 8\nwindow v 8\nrank 0\n  fence w\n  put w to 1 size 8\n  fence w\nrank 1\n  \
                   fence w\n  store v at 0 size 8\n  load v at 0 size 8\n  fence w\n";
    expect(program, &[], &[]);
}

/// 12.5.3: a window must not be locked and exposed at once. A message orders the two, a lock under which nothing happens
/// does not.
#[test]
fn what_is_exposed_is_not_locked() {
    let program = |origin: &str, target: &str| {
        format!(
            "ranks 3\nwindow w 16\nrank 0\n  start w to [2]\n  put w to 2 size 8\n  complete w\nrank 1\n  {origin}\n\
             rank 2\n  {target}\n"
        )
    };
    let put = "lock w at 2 shared\n  put w to 2 size 8 at 8\n  unlock w at 2";
    let exposes = "post w from [0]\n  wait_epoch w";
    let before = format!("{put}\n  send to 2 tag 0 size 8");
    let behind = format!("recv from 2 tag 0 size 8\n  {put}");
    expect(&program(&before, &format!("recv from 1 tag 0 size 8\n  {exposes}")), &[], &[]);
    expect(&program(&behind, &format!("{exposes}\n  send to 1 tag 0 size 8")), &[], &[]);
    expect(&program(put, exposes), &["epoch-usage"], &["epoch-usage"]);
}
