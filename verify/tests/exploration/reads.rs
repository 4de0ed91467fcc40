//! Reads and the packet behind them: a sender may have its buffer back before its receiver knows that it has the data.

use carrousel_rank::{Mirror, Packet};
use carrousel_verify::model::{Model, Settings};
use carrousel_verify::network::{ChannelKind, InFlight};
use carrousel_verify::scenario;
use carrousel_verify::state::State;
use stateright::Model as _;
use std::collections::HashSet;

const LATE_RECEIVER: &str = "\
ranks 2
option speculation off
rank 0
  s = isend to 1 tag 0 size 64KiB buf a
  wait s
  write buf a
rank 1
  r = irecv from 0 tag 0 size 64KiB
  wait r
";

/// All states of the scenario, in every order of events.
fn states() -> HashSet<State<Mirror>> {
    let source = carrousel_scenario::load("test.scn", LATE_RECEIVER.as_bytes()).expect("a right scenario");
    let job = scenario::job(&source, false).expect("a scenario that can be explored");
    let model = Model::<Mirror>::new([job].into(), Settings { reduce: false, ..Settings::default() });
    let mut found = HashSet::new();
    let mut next = model.init_states();
    while let Some(state) = next.pop() {
        let mut actions = Vec::new();
        model.actions(&state, &mut actions);
        let after = actions.into_iter().filter_map(|action| model.next_state(&state, action));
        next.extend(after.filter(|after| !found.contains(after)));
        found.insert(state);
    }
    found
}

fn is_in_flight(state: &State<Mirror>, is_it: impl Fn(ChannelKind, &InFlight) -> bool) -> bool {
    state.network.iter().any(|(channel, item)| is_it(channel.kind, item))
}

#[test]
fn a_notice_arrives_before_the_completion_or_after_it() {
    let all = states();
    assert!(all.iter().all(|state| state.violations.is_empty()), "nothing goes wrong");
    let unreported = |state: &&State<Mirror>| {
        is_in_flight(state, |kind, item| {
            matches!((kind, item), (ChannelKind::Read(_), InFlight::Completion(_)))
        })
    };
    let done = |state: &&State<Mirror>| {
        is_in_flight(state, |_, item| matches!(item, InFlight::Packet(Packet::Ats { .. }, _)))
    };
    // The sender has written over its buffer and come to its end.
    let reused = |state: &&State<Mirror>| state.procs[0].pc == 3;
    assert!(all.iter().filter(unreported).any(|state| reused(&state)), "before it");
    let received = |state: &&State<Mirror>| state.procs[1].pc == 2;
    assert!(all.iter().filter(done).any(|state| received(&state)), "after it");
    let reading = |state: &&State<Mirror>| is_in_flight(state, |_, item| matches!(item, InFlight::Read(..)));
    assert!(!all.iter().filter(reading).any(|state| reused(&state) || done(&state)), "not before the data");
}
