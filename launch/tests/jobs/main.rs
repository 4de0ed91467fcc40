//! Jobs of real processes: programs and ranks, on this host and on others, under our launcher and other launchers.

mod hosts;
mod others;
mod programs;
mod ranks;
mod support;
mod terminal;

/// Not a test of its own: the other tests start this program again for the tasks of launchers, agents and ranks.
#[test]
fn child() {
    support::run_task(|task| match task {
        "exchange" => ranks::exchange(),
        "survive" => ranks::survive(),
        "barrier" => ranks::lose_in_barrier(),
        "abort" => ranks::abort(),
        "exit_unfinalised" => ranks::exit_unfinalised(),
        "sleep" => ranks::sleep(),
        "hostile" => ranks::hostile(),
        "flood" => ranks::flood(),
        "never_read" => ranks::never_read(),
        "initialise_late" => ranks::initialise_late(),
        "change_group" => ranks::change_group(),
        "endless" => ranks::endless(),
        "initialise_again" => ranks::initialise_again(),
        "finalize_in_turn" => ranks::finalize_in_turn(),
        "nodes" => hosts::nodes(),
        "others" => others::exchange(),
        other => panic!("unknown task {other}"),
    });
}
