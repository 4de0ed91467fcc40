//! The conformance suite finds every way in which a transport can break the contract, and reports no other.

mod broken;

use broken::{Fault, run};
use carrousel_transport::conformance::*;

const SIZE: Size = Size { eager: 2000, large: 60_000, burst: 64 };

/// The name of the breach that a check has found; empty without a breach.
fn kind(result: &Result<(), ContractError>) -> String {
    let Err(breach) = result else { return String::new() };
    format!("{breach:?}").split(' ').next().unwrap_or_default().to_owned()
}

fn plan(name: &str) -> Plan {
    let mut named = named_plans(&SIZE).into_iter().chain(atomic_plans(&SIZE));
    named.find(|plan| plan.name == name).expect("there is such a plan")
}

#[test]
fn a_transport_that_keeps_the_contract_passes_every_plan() {
    let generated = (0..40).map(|seed| generated_plan(seed, 2 + seed as u32 % 3, 60, &SIZE));
    let atomics = (0..40).map(|seed| generated_atomics(seed, 2 + seed as u32 % 3, 60, &SIZE));
    let named = named_plans(&SIZE).into_iter().chain(atomic_plans(&SIZE));
    for plan in named.chain(generated).chain(atomics) {
        let ranks = run(&plan, Fault::None, 0, None);
        assert_eq!(check(&plan, &ranks), Ok(()), "{}", plan.name);
        let posted: usize = plan.steps.iter().map(Vec::len).sum();
        let events: usize = ranks.iter().flatten().map(Vec::len).sum();
        assert!(events > posted, "{}: events are noted", plan.name);
    }
}

#[test]
fn every_broken_transport_is_found() {
    let cases = [
        (Fault::Overtake, "bursts of sends", "Order"),
        (Fault::NoticeFirst, "writes of every size", "DataMissing"),
        (Fault::LosePacket, "both directions", "Order"),
        (Fault::RepeatPacket, "both directions", "ReportedTwice"),
        (Fault::ChangeData, "sends of every size", "Changed"),
        (Fault::KeepNoCopy, "sends of every size", "Changed"),
        (Fault::Tear, "writes of every size", "DataMissing"),
        (Fault::LoseWrite, "writes of every size", "DataMissing"),
        (Fault::ReuseTooSoon, "writes of every size", "DataMissing"),
        (Fault::WriteTooFar, "writes of every size", "Stray"),
        (Fault::SwapWrites, "writes over writes", "Order"),
        (Fault::ReadFirst, "reads of what was written", "Order"),
        (Fault::ReadTooSoon, "reads of every size", "Changed"),
        (Fault::ReleaseTooSoon, "notices of reads", "Changed"),
        (Fault::NoticeOvertakes, "notices of reads", "Order"),
        (Fault::LoseNotice, "notices of reads", "Order"),
        (Fault::LoseCompletion, "many outstanding", "Completions"),
        (Fault::RepeatCompletion, "many outstanding", "ReportedTwice"),
        (Fault::SwapCompletions, "writes over writes", "Completions"),
        (Fault::InventPacket, "both directions", "Foreign"),
        (Fault::LoseLivingPeer, "both directions", "FalseLoss"),
        (Fault::DelayAtomic, "tickets", "Order"),
        (Fault::DelayAtomic, "words one behind the other", "Order"),
        (Fault::AtomicFirst, "atomics on what was written", "Order"),
        (Fault::IgnoreFence, "atomics behind reads", "Order"),
        (Fault::Divide, "tickets", "NotAtomic"),
        (Fault::Divide, "atomics on what was written", "Order"),
        (Fault::LoseAtomic, "tickets", "NotAtomic"),
        (Fault::RepeatAtomic, "tickets", "UnknownValue"),
        (Fault::FetchAfter, "atomics of every kind", "UnknownValue"),
        (Fault::SwapAlways, "one of many swaps", "UnknownValue"),
        (Fault::LoseCompletion, "many atomics outstanding", "Completions"),
        (Fault::RepeatCompletion, "many atomics outstanding", "ReportedTwice"),
        (Fault::SwapCompletions, "many atomics outstanding", "Completions"),
    ];
    for (fault, name, expected) in cases {
        let plan = plan(name);
        // The first opportunity may make no difference, as that of an empty write.
        let found: Vec<String> =
            (0..8).map(|pass| kind(&check(&plan, &run(&plan, fault, pass, None)))).collect();
        assert!(found.iter().any(|found| found == expected), "{fault:?}, {name}: {found:?}");
    }
}

#[test]
fn the_last_packet_is_missed_if_it_is_lost() {
    let mut plan = plan("both directions");
    plan.steps[0].truncate(1);
    plan.steps[1].clear();
    assert_eq!(kind(&check(&plan, &run(&plan, Fault::LosePacket, 0, None))), "NotReported");
}

#[test]
fn the_end_of_a_rank_is_noticed_as_it_has_to_be() {
    let atomics = never_ending_atomics(3, 1, &SIZE);
    assert_eq!(check(&atomics, &run(&atomics, Fault::None, 0, Some(1))), Ok(()));
    let plan = never_ending_plan(3, 1, &SIZE);
    let good = run(&plan, Fault::None, 0, Some(1));
    assert_eq!(check(&plan, &good), Ok(()));
    for (fault, expected) in [
        (Fault::ReportLossTwice, "LossReportedTwice"),
        // Without the report, a read that has failed seems to have succeeded.
        (Fault::ReportNoLoss, "Changed"),
        (Fault::DeliverAfterLoss, "AfterLoss"),
        (Fault::CompleteNothingOnLoss, "Completions"),
    ] {
        let found: Vec<String> =
            (0..3).map(|pass| kind(&check(&plan, &run(&plan, fault, pass, Some(1))))).collect();
        assert!(found.iter().any(|found| found == expected), "{fault:?}: {found:?}");
    }
    let mut silent = good.clone();
    silent[0].as_mut().expect("it lives").retain(|event| *event != Event::Lost(1));
    assert_ne!(check(&plan, &silent), Ok(()));
}

/// Seven steps of rank 0, and a record of them that keeps the contract.
fn by_hand() -> (Plan, Vec<Option<Vec<Event>>>) {
    use carrousel_transport::Direction::{ToReceiver, ToSender};
    let step = |post| Step { to: 1, post, fenced: false, after: 0 };
    let steps = vec![
        step(Post::Send { direction: ToReceiver, len: 8 }),
        step(Post::Send { direction: ToSender, len: 0 }),
        step(Post::Write { len: 13, slot_of: 2, notice: true }),
        step(Post::Write { len: 1, slot_of: 3, notice: false }),
        step(Post::Send { direction: ToReceiver, len: 0 }),
        step(Post::Read { len: 5, slot_of: 5, notice: false }),
        step(Post::Read { len: 0, slot_of: 6, notice: false }),
    ];
    let plan = Plan { name: "by hand".to_owned(), steps: vec![steps, Vec::new()] };
    let data = |at| sum_of(&plan.planned_step(0, at).expect("it is a step"));
    let (from, none) = (0, sum(&[]));
    let mut zero: Vec<Event> = (0..7).map(Event::Posted).collect();
    zero.extend([Event::Written(2), Event::Written(3)]);
    zero.extend([5, 6].map(|at| Event::Read { at, sum: data(at) }));
    let one = vec![
        Event::Packet { from, at: 0, sum: data(0) },
        Event::Packet { from, at: 1, sum: none },
        Event::Packet { from, at: 2, sum: none },
        Event::Memory { from, at: 2, sum: data(2) },
        Event::Packet { from, at: 4, sum: none },
        Event::Memory { from, at: 3, sum: data(3) },
        Event::FinalMemory { from, at: 2, sum: data(2) },
        Event::FinalMemory { from, at: 3, sum: data(3) },
    ];
    (plan, vec![Some(zero), Some(one)])
}

/// The result of checking that record after a change; empty without a breach.
fn changed(rank: usize, change: impl FnOnce(&mut Vec<Event>)) -> String {
    let (plan, mut ranks) = by_hand();
    change(ranks[rank].as_mut().expect("it lives"));
    check(&plan, &ranks).err().map_or_else(String::new, |breach| breach.to_string())
}

#[test]
fn orders_that_the_contract_leaves_open_are_allowed() {
    assert_eq!(changed(1, |_| {}), "");
    // Between the lanes nothing is ordered.
    assert_eq!(changed(1, |events| events.swap(0, 1)), "");
    assert_eq!(changed(1, |events| events[1..6].rotate_left(1)), "");
    // Nor between completions of different kinds.
    assert_eq!(changed(0, |events| events[7..].rotate_left(2)), "");
}

#[test]
fn a_breach_names_both_operations_and_the_row() {
    assert_eq!(
        changed(1, |events| events.swap(0, 2)),
        "rank 1 saw step 2 of rank 0 (write with a notice, 13 bytes, to rank 1) before \
         step 0 of rank 0 (send forward, 8 bytes, to rank 1): \
         row `send, forward`, column `send, forward` of the table of order forbids it"
    );
    assert_eq!(
        changed(1, |events| events[3] = Event::Memory { from: 0, at: 2, sum: 0 }),
        "rank 1 saw step 2 of rank 0 (write with a notice, 13 bytes, to rank 1), and other bytes than those of \
         step 2 of rank 0 (write with a notice, 13 bytes, to rank 1) in its memory: \
         row `write`, column `send, forward` of the table of order forbids it"
    );
    assert_eq!(
        changed(0, |events| events.swap(7, 8)),
        "rank 0 was told that step 3 of rank 0 (write, 1 bytes, to rank 1) is complete before \
         step 2 of rank 0 (write with a notice, 13 bytes, to rank 1): those of one kind keep their order"
    );
}

#[test]
fn every_wrong_record_is_refused() {
    type Change = fn(&mut Vec<Event>);
    let cases: [(usize, Change, &str); 15] = [
        (1, |events| events.insert(1, events[0]), "told twice of step 0"),
        (
            1,
            |events| {
                events.remove(4);
            },
            "not one of this plan",
        ),
        (
            1,
            |events| {
                events.drain(4..6);
            },
            "never told of step 4",
        ),
        (
            1,
            |events| {
                events.remove(1);
            },
            "never told of step 1",
        ),
        (
            1,
            |events| {
                events.remove(3);
            },
            "never told of step 2",
        ),
        (
            1,
            |events| events[0] = Event::Packet { from: 0, at: 0, sum: 1 },
            "other bytes than those of step 0",
        ),
        (
            1,
            |events| events[6] = Event::FinalMemory { from: 0, at: 2, sum: 1 },
            "other bytes than those of step 2",
        ),
        (1, |events| events.push(Event::Lost(0)), "is lost, which lives"),
        (1, |events| events.push(Event::Foreign(0)), "nobody has posted"),
        (1, |events| events.push(Event::Stray), "that no operation writes"),
        (0, |events| events.push(Event::Written(2)), "told twice of step 2"),
        (0, |events| events.rotate_right(1), "which it had not posted"),
        (
            0,
            |events| {
                events.pop();
            },
            "never told of step 6",
        ),
        (0, |events| events.swap(9, 10), "keep their order"),
        (0, |events| events[9] = Event::Read { at: 5, sum: 1 }, "other bytes than those of step 5"),
    ];
    for (at, (rank, change, expected)) in cases.into_iter().enumerate() {
        let found = changed(rank, change);
        assert!(found.contains(expected), "{at}: {found}");
    }
}

#[test]
fn the_notice_of_a_read_is_behind_packets_before_the_read_and_before_packets_that_wait_for_it() {
    use carrousel_transport::Direction::{ToReceiver, ToSender};
    let step = |post, fenced| Step { to: 1, post, fenced, after: 0 };
    let (back, forward) =
        (Post::Send { direction: ToSender, len: 0 }, Post::Send { direction: ToReceiver, len: 0 });
    let read = |slot_of| Post::Read { len: 0, slot_of, notice: true };
    let steps = vec![
        step(back, false),
        step(forward, false),
        step(read(2), false),
        step(back, false),
        step(read(4), false),
        step(back, true),
        step(forward, true),
    ];
    let plan = Plan { name: "notices".to_owned(), steps: vec![steps, Vec::new()] };
    let sum = sum(&[]);
    let mut zero: Vec<Event> = (0..5).map(Event::Posted).collect();
    zero.extend([2, 4].map(|at| Event::Read { at, sum }));
    zero.extend([5, 6].map(Event::Posted));
    let found = |order: [usize; 7]| {
        let one = order.map(|at| Event::Packet { from: 0, at, sum }).to_vec();
        check(&plan, &[Some(zero.clone()), Some(one)])
            .err()
            .map_or_else(String::new, |breach| breach.to_string())
    };
    assert_eq!(found([0, 1, 2, 3, 4, 5, 6]), "");
    assert_eq!(
        found([0, 3, 2, 4, 5, 1, 6]),
        "",
        "packets that are posted behind a read do not wait for its notice"
    );
    assert_eq!(found([1, 6, 0, 2, 3, 4, 5]), "", "in the other lane, a fence says nothing of the notice");
    for (order, row) in [
        ([2, 0, 1, 3, 4, 5, 6], "row `send, back`, column `send, back`"),
        ([0, 1, 2, 4, 3, 5, 6], "row `send, back`, column `send, back`"),
        ([0, 1, 3, 4, 2, 5, 6], "row `read`, column `read`"),
        ([0, 1, 2, 3, 5, 4, 6], "row `read`, column `send, back`"),
    ] {
        let found = found(order);
        assert!(found.contains(row), "{order:?}: {found}");
    }
}

#[test]
fn a_record_survives_being_written() {
    let (plan, mut ranks) = by_hand();
    ranks[0].as_mut().expect("it lives").extend([
        Event::Fetched { at: 7, value: u64::MAX },
        Event::FinalWord { word: 3, value: 0x1f },
        Event::Lost(1),
        Event::Foreign(1),
        Event::Stray,
    ]);
    ranks.push(None);
    let record = Record { transport: "a wire".to_owned(), plan: plan.name, ranks };
    let text = format!("{record}{record}");
    assert_eq!(parse(&text), Ok(vec![record.clone(), record]));
    for word in ["x1", "k1", "k1.2", "r1", "v1", "u1", "w", "s1", "p1.2.3", "l-1"] {
        assert!(word.parse::<Event>().is_err(), "{word}");
    }
    assert!(parse("p1").is_err(), "events without a record");
}
