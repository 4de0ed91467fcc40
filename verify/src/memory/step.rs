//! What can happen, and what one step does.

use super::bounds::{Kind, PAGE};
use super::environment::{Around, Environment, Reached};
use super::world::{Flight, Pages, Sending, Translation, World, Wrong};
use carrousel_reuse::{
    Acquired, CacheRules, Completion, Deregister, Direct, Path, RegionId, Registration, ReuseRules, Route,
    Span,
};

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Action {
    /// The application sends a buffer.
    Send {
        /// How.
        kind: Kind,
        /// Which.
        buffer: Pages,
    },
    /// The adapter has registered what the n-th send call needs, or could not.
    Answer {
        /// Which call.
        sending: usize,
        /// Whether it could.
        well: bool,
    },
    /// The n-th send call, which was not let in, tries again. Only without a rule.
    Retry(usize),
    /// The adapter reads the next page of the n-th message.
    Read(usize),
    /// The adapter reports the end of the n-th message.
    Done(usize),
    /// The application writes to a page.
    Write(u8),
    /// The application unmaps a page.
    Unmap(u8),
    /// The application maps a page, at an address where there was one.
    Map(u8),
    /// The kernel gives a page another frame: a write after a fork, a migration.
    Move(u8),
    /// The process hears of a page that went. Only without a rule.
    Tell(usize),
}

/// Appends what can happen next.
pub(super) fn actions<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    world: &World<C, R>,
    actions: &mut Vec<Action>,
) {
    let bounds = &environment.bounds;
    let pages = 0..bounds.pages;
    if world.sends > 0 && world.sending.len() < usize::from(bounds.threads) {
        for kind in bounds.kinds {
            let buffers = pages.clone().flat_map(|first| {
                (1..=bounds.longest.min(bounds.pages - first)).map(move |len| Pages { first, len })
            });
            let can_be_sent = |buffer: &Pages| buffer.iter().all(|page| world.is_mapped(page));
            actions.extend(buffers.filter(can_be_sent).map(|buffer| Action::Send { kind: *kind, buffer }));
        }
    }
    for (at, sending) in world.sending.iter().enumerate() {
        if sending.region.is_some() {
            actions.push(Action::Answer { sending: at, well: true });
            actions.extend(bounds.fails.then_some(Action::Answer { sending: at, well: false }));
        } else if !world.machine.reuse().is_stopped() {
            actions.push(Action::Retry(at));
        }
    }
    for (at, flight) in world.flights.iter().enumerate() {
        actions.push(if flight.read < flight.buffer.len { Action::Read(at) } else { Action::Done(at) });
    }
    actions.extend((0..world.untold.len()).map(Action::Tell));
    for page in pages {
        let is_free = !world.is_being_sent(page);
        if world.is_mapped(page) {
            actions.extend((is_free && world.writes > 0).then_some(Action::Write(page)));
            actions.extend((is_free && world.unmaps > 0).then_some(Action::Unmap(page)));
            actions.extend((world.moves > 0).then_some(Action::Move(page)));
        } else {
            actions.push(Action::Map(page));
        }
    }
}

/// Whether a call waits, and nothing else can happen.
pub(super) fn is_stuck<C: CacheRules, R: ReuseRules>(environment: &Environment, world: &World<C, R>) -> bool {
    let mut possible = Vec::new();
    let is_waiting = !world.sending.is_empty() || !world.flights.is_empty();
    if is_waiting {
        actions(environment, world, &mut possible);
    }
    is_waiting && possible.is_empty()
}

/// The state after a step.
pub(super) fn after<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    world: &World<C, R>,
    action: Action,
) -> World<C, R> {
    let mut next = world.clone();
    let world = &mut next;
    match action {
        Action::Send { kind, buffer } => {
            world.sends -= 1;
            send(environment, world, kind, buffer);
        }
        Action::Answer { sending, well } => {
            let sending = world.sending.remove(sending);
            if let Some(region) = sending.region {
                answer(environment, world, &sending, region, well);
            }
        }
        Action::Retry(sending) => {
            let Sending { kind, buffer, .. } = world.sending.remove(sending);
            send(environment, world, kind, buffer);
        }
        Action::Read(flight) => read(world, flight),
        Action::Done(flight) => {
            let flight = world.flights.remove(flight);
            let mut work = Vec::new();
            if let Err(misuse) = world.machine.release(flight.region, &mut work) {
                world.fail(Wrong::Misuse(misuse));
            }
            deregister(world, &work);
        }
        Action::Write(page) => {
            world.writes -= 1;
            world.token += 1;
            if let Some(frame) = world.pages[usize::from(page)] {
                world.frames[usize::from(frame)] = world.token;
            }
        }
        Action::Unmap(page) => {
            world.unmaps -= 1;
            if environment.around == Around::KernelTellsLate {
                world.untold.push(page);
            } else {
                invalidate(environment, world, page);
            }
            world.pages[usize::from(page)] = None;
        }
        Action::Map(page) => {
            world.token += 1;
            let frame = world.take_frame(world.token);
            world.pages[usize::from(page)] = Some(frame);
        }
        Action::Tell(at) => {
            let page = world.untold.remove(at);
            invalidate(environment, world, page);
        }
        Action::Move(page) => {
            world.moves -= 1;
            invalidate(environment, world, page);
            let frame = world.take_frame(world.content(page));
            world.pages[usize::from(page)] = Some(frame);
        }
    }
    world.free_frames();
    next
}

fn send<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    world: &mut World<C, R>,
    kind: Kind,
    buffer: Pages,
) {
    let mut work = Vec::new();
    let was_stopped = world.machine.reuse().is_stopped();
    let mut register = None;
    match kind {
        Kind::Small => {
            let route =
                world.machine.transfer(buffer.address(), buffer.bytes(), Path::EagerByWrite, &mut work);
            match route {
                Route::Copy if was_stopped => {
                    environment.reach(Reached::Stopped);
                    if environment.around == Around::DriverWaits {
                        world.sending.push(Sending { kind, buffer, region: None });
                    }
                }
                Route::Copy => environment.reach(Reached::Copied),
                Route::Direct(region) => hit(environment, world, region, buffer),
                Route::Register(region, pages) => register = Some((region, pages)),
            }
        }
        Kind::Large => match world.machine.acquire(buffer.span(), &mut work) {
            Acquired::Hit(region) => hit(environment, world, region, buffer),
            Acquired::Register(region, pages) => register = Some((region, pages)),
            // It is sent from memory that is registered for this message, or copied.
            Acquired::Refused(_) => environment.reach(Reached::Refused),
        },
    }
    if !work.is_empty() {
        environment.reach(Reached::Evicted);
    }
    deregister(world, &work);
    if let Some((region, pages)) = register {
        world.sending.push(Sending { kind, buffer, region: Some(region) });
        translate(world, region, pages);
    }
}

/// The adapter looks the frames of some pages up.
fn translate<C: CacheRules, R: ReuseRules>(world: &mut World<C, R>, region: RegionId, span: Span) {
    let pages = Pages::of(span);
    let frames =
        pages.iter().filter_map(|page| world.pages.get(usize::from(page)).copied().flatten()).collect();
    let index = region.index as usize;
    if world.translations.len() <= index {
        world.translations.resize(index + 1, None);
    }
    world.translations[index] = Some(Translation { region, pages, frames, is_pinned: false });
}

fn answer<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    world: &mut World<C, R>,
    sending: &Sending,
    region: RegionId,
    well: bool,
) {
    let translation = &mut world.translations[region.index as usize];
    if !well {
        environment.reach(Reached::Failed);
        *translation = None;
        if let Err(misuse) = world.machine.failed(region) {
            world.fail(Wrong::Misuse(misuse));
        }
        return;
    }
    if let Some(translation) = translation {
        translation.is_pinned = true;
    }
    let mut work = Vec::new();
    let answer = world.machine.registered(region, &mut work);
    deregister(world, &work);
    match answer {
        Ok(Registration::Usable) => {
            environment.reach(Reached::Registered);
            post(world, region, sending.buffer);
        }
        Ok(Registration::Stale) => {
            environment.reach(Reached::Stale);
            // A small message is copied now.
            if sending.kind == Kind::Large {
                send(environment, world, sending.kind, sending.buffer);
            }
        }
        Err(misuse) => world.fail(Wrong::Misuse(misuse)),
    }
}

fn hit<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    world: &mut World<C, R>,
    region: RegionId,
    buffer: Pages,
) {
    environment.reach(Reached::Hit);
    post(world, region, buffer);
}

/// The message goes out from its buffer, as far as it has been read.
fn post<C: CacheRules, R: ReuseRules>(world: &mut World<C, R>, region: RegionId, buffer: Pages) {
    match world.translation(region).map(|translation| translation.pages) {
        None => world.fail(Wrong::NotRegistered { region }),
        Some(pages) => {
            if let Some(page) = buffer.iter().find(|page| !pages.has(*page)) {
                world.fail(Wrong::NotCovered { region, page });
            }
        }
    }
    let posted = buffer.iter().map(|page| world.content(page)).collect();
    let is_complete = Direct::<C, R>::COMPLETION == Completion::WhenPosted;
    world.flights.push(Flight { region, buffer, posted, read: 0, is_complete });
}

fn read<C: CacheRules, R: ReuseRules>(world: &mut World<C, R>, flight: usize) {
    let flight = &mut world.flights[flight];
    let (region, page) = (flight.region, flight.buffer.first + flight.read);
    let posted = flight.posted[usize::from(flight.read)];
    flight.read += 1;
    let Some(translation) = world.translation(region) else {
        return world.fail(Wrong::NotRegistered { region });
    };
    let at = page.checked_sub(translation.pages.first).map(usize::from);
    let Some(frame) = at.and_then(|at| translation.frames.get(at)) else {
        return world.fail(Wrong::NotCovered { region, page });
    };
    if world.frames.get(usize::from(*frame)) != Some(&posted) {
        world.fail(Wrong::OtherBytes { page });
    }
}

/// The process hears that a page goes, while its frame is still there.
fn invalidate<C: CacheRules, R: ReuseRules>(environment: &Environment, world: &mut World<C, R>, page: u8) {
    let Some(span) = Span::new(u64::from(page) * PAGE, PAGE) else { return };
    let mut work = Vec::new();
    world.machine.invalidate(span, &mut work);
    let has_page = |flight: &Flight| {
        world.translation(flight.region).is_some_and(|translation| translation.pages.has(page))
    };
    if world.flights.iter().any(has_page) {
        environment.reach(Reached::InvalidatedInUse);
    }
    deregister(world, &work);
}

fn deregister<C: CacheRules, R: ReuseRules>(world: &mut World<C, R>, work: &[Deregister]) {
    for Deregister(region) in work {
        if world.flights.iter().any(|flight| flight.region == *region) {
            world.fail(Wrong::DeregisteredInUse { region: *region });
        }
        match world.translations.get_mut(region.index as usize) {
            Some(translation) if translation.is_some() => *translation = None,
            _ => world.fail(Wrong::NotRegistered { region: *region }),
        }
    }
    // So that states that differ in nothing else are one.
    while let Some(None) = world.translations.last() {
        world.translations.pop();
    }
}
