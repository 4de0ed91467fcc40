//! The plans.

use super::ends::now;
use super::meeting::Meeting;
use super::{PATIENCE, modes};
use carrousel_transport::conformance::{
    Event, Plan, Player, RankMemory, Record, RecordLine, Size, atomic_plans, check, generated_atomics,
    generated_plan, named_plans, never_ending_atomics, parse_record_line, short_plans,
};
use carrousel_transport::{Memory, RankId, Transport};
use carrousel_transport_verbs::{Access, Address, Device, Region, Settings, Verbs};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

fn size(settings: &Settings) -> Size {
    if settings.window == 2 {
        Size { eager: settings.eager, large: 100_003, burst: 100 }
    } else {
        Size { eager: settings.eager, large: 1 << 20 | 3, burst: 400 }
    }
}

fn plans(settings: &Settings) -> Vec<Plan> {
    let size = size(settings);
    let mut plans = named_plans(&size);
    let less = Size { large: size.large / 16, ..size };
    plans.extend((0..4).map(|seed| generated_plan(seed, 2 + seed as u32 % 3, 80, &less)));
    plans.extend(atomic_plans(&less));
    plans.extend((0..4).map(|seed| generated_atomics(seed, 2 + seed as u32 % 3, 80, &less)));
    plans
}

/// What peers have to know of a rank.
fn name(verbs: &Verbs, memory: Memory) -> String {
    format!("{} {} {}", verbs.address(), memory.address, memory.key)
}

fn parse_name(text: &str) -> (Address, Memory) {
    let mut words = text.split(' ');
    let mut word = || words.next().expect("three words");
    let address = word().parse().expect("an address");
    let (start, key) = (word().parse().expect("a number"), word().parse().expect("a number"));
    (address, Memory { address: start, key })
}

/// A rank of a plan, ready to begin.
struct Ready<'a> {
    player: Player<'a>,
    verbs: Verbs,
    // After the transport: its memory is the player's, which goes before, when nothing is posted any more.
    _region: Region,
}

fn ready<'a>(
    device: &Arc<Device>,
    plan: &'a Plan,
    me: u32,
    settings: &Settings,
    meeting: &Meeting,
) -> Ready<'a> {
    let mut verbs = Verbs::over(device, RankId(me), plan.ranks(), settings).expect("there is a device");
    let mut lent = RankMemory::new(plan, me);
    let bytes = lent.whole_mut();
    // SAFETY: the region is dropped with the player that owns the bytes, which do not move; who looks at them while
    // something is outstanding looks at others of them, or the suite has found a fault.
    #[allow(unsafe_code, reason = "the test hands its memory to the adapter")]
    let region = unsafe { Region::register(device, bytes.as_mut_ptr(), bytes.len(), Access::Write, false) };
    let region = region.expect("it can be registered");
    let lent = lent.known_as(region.keys());
    meeting.say("name", me, &name(&verbs, lent.memory()));
    let names: Vec<_> = (0..plan.ranks()).map(|rank| parse_name(&meeting.hear("name", rank))).collect();
    let memories: Vec<_> = names.iter().map(|(_, memory)| *memory).collect();
    for (rank, (address, _)) in (0..).zip(&names).filter(|(rank, _)| *rank != me) {
        verbs.out().connect(RankId(rank), address);
    }
    Ready { player: Player::new(plan, me, lent, &memories), verbs, _region: region }
}

/// Plays one rank until its part is done, then until all are. Returns what it has noticed, and whether it ever
/// had to wait for room.
fn play(ready: Ready<'_>, me: u32, ranks: u32, meeting: &Meeting, but: Option<u32>) -> (Vec<Event>, bool) {
    let Ready { mut player, mut verbs, _region } = ready;
    let (began, mut idle, mut was_full, mut told) = (Instant::now(), 0_u32, false, false);
    let mut ended = 0;
    loop {
        if player.drive(now(), &mut verbs) > 0 {
            idle = 0;
        } else {
            idle += 1;
            thread::yield_now();
        }
        was_full |= verbs.out().is_waiting();
        if player.is_done() && !told {
            told = true;
            meeting.say("done", me, "");
        }
        let patience = if told { 2 * PATIENCE } else { PATIENCE };
        assert!(began.elapsed() < patience, "rank {me} waits: {}", state(&mut verbs));
        if told && idle > 32 {
            thread::sleep(Duration::from_millis(1));
            while ended < ranks && (but == Some(ended) || meeting.heard("done", ended).is_some()) {
                ended += 1;
            }
            if ended == ranks {
                break;
            }
        }
    }
    // What comes twice comes late.
    for _ in 0..100 {
        player.drive(now(), &mut verbs);
        thread::yield_now();
    }
    let began = Instant::now();
    while !verbs.unacknowledged().is_empty() {
        player.drive(now(), &mut verbs);
        assert!(began.elapsed() < PATIENCE, "rank {me} is busy: {}", state(&mut verbs));
    }
    meeting.say("over", me, "");
    for rank in (0..ranks).filter(|rank| but != Some(*rank)) {
        meeting.hear("over", rank);
    }
    (player.finish(), was_full)
}

/// What is known of a rank that hangs, and of its device.
fn state(verbs: &mut Verbs) -> String {
    let mut text = format!("{:#?}", verbs.out());
    let counters = format!("/sys/class/infiniband/{}/ports/1/hw_counters", verbs.device().name());
    for file in std::fs::read_dir(counters).into_iter().flatten().flatten() {
        let value = std::fs::read_to_string(file.path()).unwrap_or_default();
        text += &format!("\n{}: {}", file.file_name().display(), value.trim());
    }
    text
}

/// What came of a plan.
struct Played {
    /// What all ranks have noticed; on the first node only.
    ranks: Vec<Option<Vec<Event>>>,
    /// Whether a rank of this node ever had to wait for room.
    was_full: bool,
}

/// A thread for each rank. What came of them, in order.
fn each<T: Send>(ranks: &[u32], one: impl Fn(u32) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = ranks.iter().map(|me| scope.spawn(move || one(*me))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    })
}

/// Plays a plan, and checks it on the first node.
fn run(name: &str, plan: &Plan, settings: &Settings) -> Played {
    let meeting = Meeting::new(&format!("{name}-{}", plan.name));
    let device = Device::open(&settings.choice).expect("there is a device");
    let here: Vec<u32> = (0..plan.ranks()).filter(|rank| meeting.is_here(*rank)).collect();
    let one = |me: u32| {
        let ready = ready(&device, plan, me, settings, &meeting);
        play(ready, me, plan.ranks(), &meeting, None)
    };
    let ends = each(&here, one);
    let mut played = Played { ranks: Vec::new(), was_full: false };
    for (rank, (events, full)) in here.iter().zip(ends) {
        meeting.say("record", *rank, &RecordLine(Some(&events)).to_string());
        played.was_full |= full;
    }
    if meeting.node == 0 {
        let record = |rank| parse_record_line(&meeting.hear("record", rank)).expect("it is a record");
        played.ranks = (0..plan.ranks()).map(record).collect();
        judge(name, plan, &played.ranks);
        meeting.say("judged", 0, "");
    }
    meeting.hear("judged", 0);
    played
}

/// Fails the test if the record breaks the contract.
fn judge(name: &str, plan: &Plan, ranks: &[Option<Vec<Event>>]) {
    if let Err(breach) = check(plan, ranks) {
        let record = Record { transport: name.to_owned(), plan: plan.name.clone(), ranks: ranks.to_vec() };
        let text = record.to_string();
        panic!("{name}, {}: {breach}; the record begins:\n{}", plan.name, &text[..text.len().min(4000)]);
    }
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn every_plan() {
    for (name, settings) in modes() {
        let mut was_full = false;
        for plan in plans(&settings) {
            let began = Instant::now();
            was_full |= run(name, &plan, &settings).was_full;
            println!("{name}, {}: {:.1} s", plan.name, began.elapsed().as_secs_f64());
        }
        assert!(was_full, "{name}: ranks had to wait for room");
    }
}

/// Writes records of short plans to the file that this variable names: what another crate checks against the
/// network of its model. Between two nodes, with the directory that both see as `-o`:
///
/// ```sh
/// cargo xtask guest run -t 300 -n 2 -o out -e CARROUSEL_MEETING=/shared -e CARROUSEL_RECORDS=/out/verbs.txt -b CONFORMANCE \
///     -- sh -c '$(basename CONFORMANCE) --ignored --exact plans::records_for_the_model'
/// cp out/n0/verbs.txt verify/tests/exploration/orders/
/// ```
#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn records_for_the_model() {
    let mut text = String::new();
    for (name, settings) in modes() {
        for plan in short_plans() {
            let played = run(&format!("short, {name}"), &plan, &settings);
            let record = Record { transport: name.to_owned(), plan: plan.name, ranks: played.ranks };
            text += &record.to_string();
        }
    }
    if let Ok(file) = std::env::var("CARROUSEL_RECORDS") {
        std::fs::write(file, text).expect("it can be written");
    }
}

/// Packets that a node has sent since it knew all ranks when it is in the middle of the plan that never ends.
const ENOUGH: u64 = 300;

/// Packets that a Soft-RoCE device has sent.
fn sent(device: &str) -> u64 {
    let counter = format!("/sys/class/infiniband/{device}/ports/1/hw_counters/sent_pkts");
    std::fs::read_to_string(counter).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Switches this machine off when it has sent so many packets more.
fn switch_off_after(packets: u64, device: &str) {
    let (device, before) = (device.to_owned(), sent(device));
    thread::spawn(move || {
        while sent(&device) < before + packets {
            thread::sleep(Duration::from_millis(1));
        }
        // At once, as if its power were cut: what an orderly end sends to nobody keeps its kernel busy.
        let _ = std::fs::write("/proc/sysrq-trigger", "b");
    });
}

/// Fewer plans, and shorter ones: each packet that is lost takes a while. Without atomics: Soft-RoCE (`rxe`, as of Linux 6.1)
/// keeps them whole only where no packet is lost. A plain acknowledgement of a request that was sent again has the number
/// of the last request served, and completes an atomic of that number although its answer was lost (`duplicate_request`,
/// `check_ack`); one whose answer was lost before a request is refused as out of sequence is sent again under a new
/// number, and done twice (`check_ack`, `req_retry`).
#[test]
#[ignore = "needs two nodes whose network loses packets"]
fn between_nodes_of_a_bad_network() {
    let [roomy, _, by_two, _] = modes();
    for (name, settings) in [roomy, by_two] {
        let size = Size { eager: settings.eager, large: 60_000, burst: 60 };
        let mut plans = named_plans(&size);
        plans.push(generated_plan(7, 2, 60, &size));
        for plan in plans {
            let began = Instant::now();
            run(name, &plan, &settings);
            println!("{name}, {}: {:.1} s", plan.name, began.elapsed().as_secs_f64());
        }
    }
}

/// Needs two nodes, of which the second one is switched off in the middle.
#[test]
#[ignore = "needs two nodes, and switches one of them off"]
fn between_nodes_one_is_switched_off() {
    let (name, settings) = &modes()[0];
    let size = Size { large: 10_000, ..size(settings) };
    let plan = never_ending_atomics(3, 1, &size);
    let meeting = Meeting::new("switched off");
    assert_eq!(meeting.nodes, 2, "one node cannot outlive itself");
    let device = Device::open(&settings.choice).expect("there is a device");
    let here: Vec<u32> = (0..plan.ranks()).filter(|rank| meeting.is_here(*rank)).collect();
    let one = |me: u32| {
        let ready = ready(&device, &plan, me, settings, &meeting);
        if meeting.node == 1 {
            switch_off_after(ENOUGH, device.name());
        }
        play(ready, me, plan.ranks(), &meeting, Some(1)).0
    };
    let ends = each(&here, one);
    let survivors: Vec<_> = (0..plan.ranks()).map(|rank| here.iter().position(|one| *one == rank)).collect();
    let records: Vec<_> = survivors.into_iter().map(|at| at.map(|at| ends[at].clone())).collect();
    judge(name, &plan, &records);
    for record in records.iter().flatten() {
        assert!(record.contains(&Event::Lost(1)), "it was reported");
        let packets = record.iter().filter(|event| matches!(event, Event::Packet { from: 1, .. })).count();
        assert!(packets > 0, "it was switched off in the middle");
    }
}
