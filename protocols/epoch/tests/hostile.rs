//! Events that no correct peer or driver causes, in any state: an error, which changes nothing, and never a panic.

use carrousel_epoch::*;
use carrousel_wire::RankId;

type Tried = (Window<AllEpochRules>, Vec<OperationId>);

fn put(target: u32, kind: TransferKind) -> Call<'static> {
    let transfer = Transfer { target: RankId(target), kind, place: Blocks::contiguous(0, 8), local: 0 };
    Call::Transfer { transfer, with_request: true }
}

fn event(window: &mut Window<AllEpochRules>, event: Event) -> Result<(), String> {
    window.event(event, &mut Vec::new()).map_err(|error| error.to_string())
}

fn packet(from: u32, packet: Packet) -> Event {
    Event::Packet { from: RankId(from), packet }
}

#[track_caller]
fn is_refused(window: &Window<AllEpochRules>, refused: Event, words: &str) {
    let (mut after, mut work) = (window.clone(), Vec::new());
    let error = after.event(refused, &mut work).expect_err("no correct peer causes it").to_string();
    assert!(error.contains(words), "{error:?} does not say {words:?}");
    assert_eq!((&after, work), (window, Vec::new()), "an error changes nothing");
}

fn fresh() -> Window<AllEpochRules> {
    Window::new(RankId(0), 3, Flags::default())
}

#[test]
fn done_for_what_is_not_exposed() {
    let mut window = fresh();
    is_refused(
        &window,
        packet(1, Packet::Done { access: 1 }),
        "rank 1 is done with exposure 1, which does not wait for it; 0",
    );
    window.call(Call::Post(&[RankId(1)]), &mut Vec::new()).expect("right");
    is_refused(&window, packet(2, Packet::Done { access: 1 }), "does not wait for it");
    is_refused(&window, packet(1, Packet::Done { access: 2 }), "does not wait for it; 1 were activated");
    is_refused(&window, packet(3, Packet::Done { access: 1 }), "rank 3 does not exist");
    event(&mut window, packet(1, Packet::Done { access: 1 })).expect("it is exposed");
    is_refused(&window, packet(1, Packet::Done { access: 1 }), "does not wait for it");
}

#[test]
fn locks_out_of_turn() {
    let mut window = fresh();
    let request = |access| packet(1, Packet::LockRequest { mode: Mode::Exclusive, access });
    let release = |access| packet(1, Packet::LockRelease { access });
    is_refused(&window, request(2), "rank 1 names lock 2, and lock 1 is due");
    is_refused(&window, release(0), "rank 1 releases the lock, which it does not hold");
    event(&mut window, request(1)).expect("it is due");
    is_refused(&window, request(2), "rank 1 requests the lock that it holds");
    is_refused(&window, release(2), "rank 1 names lock 2, and lock 1 is due");
    event(&mut window, release(1)).expect("it holds the lock");
    is_refused(&window, release(1), "which it does not hold");
    window.call(Call::Post(&[RankId(2)]), &mut Vec::new()).expect("right");
    event(&mut window, request(2)).expect("it waits for the exposure");
    is_refused(&window, request(2), "a second time, while its request");
    is_refused(&window, release(1), "which it does not hold");
}

#[test]
fn grants_that_are_taken_back_or_not_asked_for() {
    let mut window = fresh();
    let granted = |word, value| Event::Granted { from: RankId(1), word, value };
    event(&mut window, granted(GrantWord::Exposures, 5)).expect("it is early");
    is_refused(
        &window,
        granted(GrantWord::Exposures, 4),
        "has written 4 into a grant word (Exposures) that was 5",
    );
    is_refused(&window, granted(GrantWord::Locks, 1), "has granted lock 1, and 0 were requested");
    event(&mut window, granted(GrantWord::Exposures, 5)).expect("it was read again");
}

#[test]
fn completions_of_what_is_not_under_way() {
    let mut window = fresh();
    let mut work = Vec::new();
    window.call(Call::Start(&[RankId(1)]), &mut work).expect("right");
    window.call(put(1, TransferKind::Put), &mut work).expect("right");
    event(&mut window, Event::Granted { from: RankId(1), word: GrantWord::Exposures, value: 1 })
        .expect("right");
    let mut twin = fresh();
    twin.event(Event::Granted { from: RankId(1), word: GrantWord::Exposures, value: 1 }, &mut work)
        .expect("right");
    twin.call(Call::Start(&[RankId(1)]), &mut work).expect("right");
    for _ in 0..2 {
        twin.call(put(1, TransferKind::Put), &mut work).expect("right");
    }
    let names: Vec<OperationId> = work
        .iter()
        .filter_map(|output| match output {
            Output::Issue { operation, .. } => Some(*operation),
            _ => None,
        })
        .collect();
    let [first, second] = names[..] else { panic!("{work:?}") };
    is_refused(&window, Event::Complete(second), "operation 2 is not under way");
    event(&mut window, Event::LocallyComplete(first)).expect("it is under way");
    is_refused(&window, Event::LocallyComplete(first), "operation 1 is not under way");
    event(&mut window, Event::Complete(first)).expect("it is under way");
    is_refused(&window, Event::Complete(first), "operation 1 is not under way");
}

#[test]
fn staging_buffers_that_were_not_asked_for_or_not_given() {
    let mut window = fresh();
    is_refused(
        &window,
        packet(1, Packet::StagingGrant),
        "rank 1 gives a staging buffer that was not asked for",
    );
    is_refused(&window, Event::Applied { origin: RankId(1) }, "of rank 1 was applied, which has no staging");
    is_refused(&window, Event::Applied { origin: RankId(7) }, "rank 7 does not exist");
    event(&mut window, packet(1, Packet::StagingRequest)).expect("it may ask");
    is_refused(&window, packet(1, Packet::StagingRequest), "rank 1 asks for a staging buffer, and has one");
}

/// Calls and events that a seed decides, right or wrong: whatever comes, errors change nothing.
#[test]
fn any_calls_and_events_in_any_order() {
    let mut errors = 0;
    let settings: Vec<Flags> = Flags::every().collect();
    for seed in 0..400 {
        let (mut window, mut under_way): Tried =
            (Window::new(RankId(0), 3, setup(settings[seed as usize % settings.len()])), Vec::new());
        let mut random = Random(seed);
        for _ in 0..200 {
            let before = window.clone();
            let mut work = Vec::new();
            let failed = if random.below(2) == 0 {
                window.call(any_call(&mut random), &mut work).is_err()
            } else {
                window.event(any_event(&mut random, &under_way), &mut work).is_err()
            };
            if failed {
                errors += 1;
                assert_eq!((&window, work.len()), (&before, 0), "seed {seed}");
            }
            under_way.extend(work.iter().filter_map(|output| match output {
                Output::Issue { operation, .. } => Some(*operation),
                _ => None,
            }));
        }
    }
    assert!(errors > 1000, "{errors}");
}

/// With one staging buffer, and accumulates of all sizes staged.
fn setup(flags: Flags) -> WindowSetup {
    WindowSetup { staging: Staging { threshold: 0, buffers: 1 }, ..WindowSetup::from(flags) }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % end
    }

    fn rank(&mut self) -> RankId {
        RankId(self.below(4) as u32)
    }

    fn mode(&mut self) -> Mode {
        if self.below(2) == 0 { Mode::Shared } else { Mode::Exclusive }
    }
}

fn any_call(random: &mut Random) -> Call<'static> {
    const GROUPS: [&[RankId]; 4] = [&[RankId(1)], &[RankId(0), RankId(2)], &[], &[RankId(2), RankId(1)]];
    let group = GROUPS[random.below(4) as usize];
    let flush =
        Flush { target: Some(random.rank()).filter(|rank| rank.0 > 0), is_local: random.below(2) == 0 };
    match random.below(14) {
        0 => Call::Post(group),
        1 => Call::Wait,
        2 => Call::Test,
        3 => Call::Start(group),
        4 => Call::Complete,
        5 => Call::Lock { target: random.rank(), mode: random.mode() },
        6 => Call::Unlock(random.rank()),
        7 => Call::LockAll,
        8 => Call::UnlockAll,
        9 => Call::Fence,
        10 => Call::Flush(flush),
        11 => Call::FlushWithRequest(flush),
        _ => put(random.below(4) as u32, TransferKind::ALL[random.below(6) as usize]),
    }
}

fn any_event(random: &mut Random, under_way: &[OperationId]) -> Event {
    let from = random.rank();
    let number = random.below(4);
    let operation = under_way.get(random.below(under_way.len().max(1) as u64) as usize).copied();
    match (random.below(15), operation) {
        (0 | 1, _) => Event::Packet { from, packet: Packet::Done { access: number } },
        (2, _) => Event::Packet { from, packet: Packet::LockRequest { mode: random.mode(), access: number } },
        (3, _) => Event::Packet { from, packet: Packet::LockRelease { access: number } },
        (4, _) if random.below(40) == 0 => Event::Died(from),
        (4 | 5, Some(operation)) => Event::LocallyComplete(operation),
        (6 | 7, Some(operation)) => Event::Complete(operation),
        (8, _) => Event::Granted { from, word: GrantWord::Locks, value: number },
        (9, _) => Event::Packet { from, packet: Packet::StagingRequest },
        (10, _) => Event::Packet { from, packet: Packet::StagingGrant },
        (11, _) => Event::Applied { origin: from },
        _ => Event::Granted { from, word: GrantWord::Exposures, value: number },
    }
}
