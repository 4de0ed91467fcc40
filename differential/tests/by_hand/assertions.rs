//! Assertions (MPI-4.1, 12.5.5): one that is false is a violation of `epoch-usage`, in whatever library.

use crate::expect;

const WRONG: &[&str] = &["epoch-usage"];

#[test]
fn no_store_is_about_the_time_since_the_last_synchronization() {
    let program = |before: &str, behind: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  {before}\n  fence w assert nostore\n  {behind}\n  fence w\nrank 1\n  \
             fence w\n  fence w\n"
        )
    };
    let store = "store w at 0 size 8";
    expect(&program(store, "load w at 0 size 8"), WRONG, WRONG);
    expect(&program("load w at 0 size 8", store), &[], &[]);
    let post = |before: &str| {
        format!(
            "ranks 2\nwindow w 16\nrank 0\n  {before}\n  post w from [1] assert nostore\n  wait_epoch w\nrank 1\n  \
             start w to [0]\n  get w from 0 size 8\n  complete w\n"
        )
    };
    expect(&post(store), WRONG, WRONG);
    expect(&post("compute 1us"), &[], &[]);
}

#[test]
fn no_put_is_about_all_that_writes() {
    let fences = |access: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  fence w\n  {access}\n  fence w\nrank 1\n  fence w assert noput\n  fence w\n"
        )
    };
    let group = |access: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  start w to [1]\n  {access}\n  complete w\nrank 1\n  \
             post w from [0] assert noput\n  wait_epoch w\n"
        )
    };
    for program in [fences as fn(&str) -> String, group] {
        expect(&program("put w to 1 size 8"), WRONG, WRONG);
        expect(&program("acc w to 1 size 8"), WRONG, WRONG);
        expect(&program("fetch_op w at 1"), WRONG, WRONG);
        expect(&program("cas w at 1"), WRONG, WRONG);
        expect(&program("get w from 1 size 8"), &[], &[]);
        expect(&program("get_acc w to 1 size 8 op no_op"), &[], &[]);
    }
    // To another rank's memory.
    expect(&fences("put w to 0 size 8"), &[], &[]);
}

#[test]
fn no_check_of_a_group_needs_an_order() {
    let program = |post: &str, start: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  {start}\n  put w to 1 size 8\n  complete w\nrank 1\n  {post}\n  \
             wait_epoch w\n"
        )
    };
    let (post, start) = ("post w from [0] assert nocheck", "start w to [1] assert nocheck");
    expect(&program(post, start), WRONG, WRONG);
    expect(&program(&format!("{post}\n  barrier"), &format!("barrier\n  {start}")), &[], &[]);
    let message = ("send to 0 tag 0 size 8", "recv from 1 tag 0 size 8");
    let (posted, told) = (format!("{post}\n  {}", message.0), format!("{}\n  {start}", message.1));
    expect(&program(&posted, &told), &[], &[]);
    // Both say it, or none does.
    expect(&program(&posted, &format!("{}\n  start w to [1]", message.1)), WRONG, WRONG);
    expect(&program(&format!("post w from [0]\n  {}", message.0), &told), WRONG, WRONG);
}

#[test]
fn no_check_of_a_lock_needs_that_nobody_else_wants_it() {
    let program = |mode: &str, behind: &str, before: &str| {
        format!(
            "ranks 3\nwindow w 16\nrank 0\n  lock w at 2 {mode} assert nocheck\n  put w to 2 size 8\n  unlock w at 2\n  \
             {behind}\nrank 1\n  {before}\n  lock w at 2 {mode}\n  put w to 2 size 8 at 8\n  unlock w at 2\n"
        )
    };
    let (send, receive) = ("send to 1 tag 0 size 8", "recv from 0 tag 0 size 8");
    expect(&program("exclusive", send, receive), &[], &[]);
    expect(&program("exclusive", "compute 1us", "compute 1us"), WRONG, WRONG);
    // Shared ones do not exclude each other.
    expect(&program("shared", "compute 1us", "compute 1us"), &[], &[]);
    let all = "ranks 3\nwindow w 8\nrank 0\n  lock_all w assert nocheck\n  unlock_all w\nrank 1\n  \
               lock w at 2 exclusive\n  unlock w at 2\n";
    expect(all, WRONG, WRONG);
}

#[test]
fn what_all_say_of_a_fence_is_said_by_all() {
    let program = |first: &str, second: &str| {
        format!(
            "ranks 2\nwindow w 8\nrank 0\n  fence w\n  {first}\n  fence w{second}\nrank 1\n  fence w\n  \
             fence w assert noprecede\n"
        )
    };
    expect(&program("compute 1us", " assert noprecede"), &[], &[]);
    expect(&program("compute 1us", ""), WRONG, WRONG);
    // What is put is complete nowhere: no fence ends the epoch. Nothing meets it here.
    expect(&program("put w to 1 size 8", " assert noprecede"), WRONG, WRONG);
}
