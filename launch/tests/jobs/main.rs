//! Jobs of real processes: programs and ranks, on this host and on others, under our launcher and those of others.

mod hosts;
mod others;
mod programs;
mod ranks;
mod support;
mod terminal;

/// Not a test of its own: what the others start this program again for.
#[test]
fn child() {
    support::play(|task| match task {
        "exchange" => ranks::exchange(),
        "survive" => ranks::survive(),
        "barrier" => ranks::lose_in_barrier(),
        "abort" => ranks::abort(),
        "vanish" => ranks::vanish(),
        "sleep" => ranks::sleep(),
        "hostile" => ranks::hostile(),
        "flood" => ranks::flood(),
        "deaf" => ranks::deaf(),
        "late" => ranks::late(),
        "wander" => ranks::wander(),
        "endless" => ranks::endless(),
        "again" => ranks::again(),
        "leave" => ranks::leave(),
        "nodes" => hosts::nodes(),
        "others" => others::exchange(),
        other => panic!("unknown task {other}"),
    });
}
