//! The actions that are possible in a state, and the effects of each.

use super::bounds::{PAGE, TransferKind};
use super::environment::{Environment, MemoryCoverPoint};
use super::state::{MemoryState, MemoryViolation, Pages, Sending, Translation, Transmission};
use carrousel_registration::{
    Acquired, CacheRules, Completion, Deregister, Path, RegionId, Registration, RegistrationCache,
    ReuseRules, Route, Span,
};

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MemoryAction {
    /// The application sends a buffer.
    Send {
        /// How.
        kind: TransferKind,
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
    /// The n-th send call, for which there was no room, tries again. Only in an ablation.
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
    /// The kernel reports an unmapped page. Only in an ablation.
    Tell(usize),
}

/// Appends the actions that are possible in a state.
pub(super) fn actions<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    state: &MemoryState<C, R>,
    actions: &mut Vec<MemoryAction>,
) {
    let bounds = &environment.bounds;
    let pages = 0..bounds.pages;
    if state.sends > 0 && state.sending.len() < usize::from(bounds.threads) {
        for kind in bounds.kinds {
            let buffers = pages.clone().flat_map(|first| {
                (1..=bounds.longest.min(bounds.pages - first)).map(move |len| Pages { first, len })
            });
            let can_be_sent = |buffer: &Pages| buffer.iter().all(|page| state.is_mapped(page));
            actions
                .extend(buffers.filter(can_be_sent).map(|buffer| MemoryAction::Send { kind: *kind, buffer }));
        }
    }
    for (at, sending) in state.sending.iter().enumerate() {
        if sending.region.is_some() {
            actions.push(MemoryAction::Answer { sending: at, well: true });
            actions.extend(bounds.fails.then_some(MemoryAction::Answer { sending: at, well: false }));
        } else if !state.machine.reuse().is_stopped() {
            actions.push(MemoryAction::Retry(at));
        }
    }
    for (at, transmission) in state.transmissions.iter().enumerate() {
        actions.push(if transmission.read < transmission.buffer.len {
            MemoryAction::Read(at)
        } else {
            MemoryAction::Done(at)
        });
    }
    actions.extend((0..state.untold.len()).map(MemoryAction::Tell));
    for page in pages {
        let is_free = !state.is_being_sent(page);
        if state.is_mapped(page) {
            actions.extend((is_free && state.writes > 0).then_some(MemoryAction::Write(page)));
            actions.extend((is_free && state.unmaps > 0).then_some(MemoryAction::Unmap(page)));
            actions.extend((state.moves > 0).then_some(MemoryAction::Move(page)));
        } else {
            actions.push(MemoryAction::Map(page));
        }
    }
}

/// Whether a call waits, and no action is possible.
pub(super) fn is_stuck<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    state: &MemoryState<C, R>,
) -> bool {
    let mut possible = Vec::new();
    let is_waiting = !state.sending.is_empty() || !state.transmissions.is_empty();
    if is_waiting {
        actions(environment, state, &mut possible);
    }
    is_waiting && possible.is_empty()
}

/// The state after a step.
pub(super) fn after<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    state: &MemoryState<C, R>,
    action: MemoryAction,
) -> MemoryState<C, R> {
    let mut next = state.clone();
    let state = &mut next;
    match action {
        MemoryAction::Send { kind, buffer } => {
            state.sends -= 1;
            send(environment, state, kind, buffer);
        }
        MemoryAction::Answer { sending, well } => {
            let sending = state.sending.remove(sending);
            if let Some(region) = sending.region {
                answer(environment, state, &sending, region, well);
            }
        }
        MemoryAction::Retry(sending) => {
            let Sending { kind, buffer, .. } = state.sending.remove(sending);
            send(environment, state, kind, buffer);
        }
        MemoryAction::Read(transmission) => read(state, transmission),
        MemoryAction::Done(transmission) => {
            let transmission = state.transmissions.remove(transmission);
            let mut work = Vec::new();
            if let Err(misuse) = state.machine.release(transmission.region, &mut work) {
                state.fail(MemoryViolation::RegionError(misuse));
            }
            deregister(state, &work);
        }
        MemoryAction::Write(page) => {
            state.writes -= 1;
            state.token += 1;
            if let Some(frame) = state.pages[usize::from(page)] {
                state.frames[usize::from(frame)] = state.token;
            }
        }
        MemoryAction::Unmap(page) => {
            state.unmaps -= 1;
            if environment.told_before_reuse {
                invalidate(environment, state, page);
            } else {
                state.untold.push(page);
            }
            state.pages[usize::from(page)] = None;
        }
        MemoryAction::Map(page) => {
            state.token += 1;
            let frame = state.take_frame(state.token);
            state.pages[usize::from(page)] = Some(frame);
        }
        MemoryAction::Tell(at) => {
            let page = state.untold.remove(at);
            invalidate(environment, state, page);
        }
        MemoryAction::Move(page) => {
            state.moves -= 1;
            invalidate(environment, state, page);
            let frame = state.take_frame(state.content(page));
            state.pages[usize::from(page)] = Some(frame);
        }
    }
    state.free_frames();
    next
}

fn send<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    state: &mut MemoryState<C, R>,
    kind: TransferKind,
    buffer: Pages,
) {
    let mut work = Vec::new();
    let was_stopped = state.machine.reuse().is_stopped();
    let mut register = None;
    match kind {
        TransferKind::Small => {
            let route =
                state.machine.transfer(buffer.address(), buffer.bytes(), Path::EagerByWrite, &mut work);
            match route {
                Route::Copy if was_stopped => {
                    environment.reach(MemoryCoverPoint::Stopped);
                    if !environment.refused_is_copied {
                        state.sending.push(Sending { kind, buffer, region: None });
                    }
                }
                Route::Copy => environment.reach(MemoryCoverPoint::Copied),
                Route::Direct(region) => hit(environment, state, region, buffer),
                Route::Register(region, pages) => register = Some((region, pages)),
            }
        }
        TransferKind::Large => match state.machine.acquire(buffer.span(), &mut work) {
            Acquired::Hit(region) => hit(environment, state, region, buffer),
            Acquired::Register(region, pages) => register = Some((region, pages)),
            // The driver sends it from memory that it registers for this message alone, or copies it.
            Acquired::Refused(_) => environment.reach(MemoryCoverPoint::Refused),
        },
    }
    if !work.is_empty() {
        environment.reach(MemoryCoverPoint::Evicted);
    }
    deregister(state, &work);
    if let Some((region, pages)) = register {
        state.sending.push(Sending { kind, buffer, region: Some(region) });
        translate(state, region, pages);
    }
}

/// The adapter looks up the frames of some pages.
fn translate<C: CacheRules, R: ReuseRules>(state: &mut MemoryState<C, R>, region: RegionId, span: Span) {
    let pages = Pages::of(span);
    let frames =
        pages.iter().filter_map(|page| state.pages.get(usize::from(page)).copied().flatten()).collect();
    let index = region.index as usize;
    if state.translations.len() <= index {
        state.translations.resize(index + 1, None);
    }
    state.translations[index] = Some(Translation { region, pages, frames, is_pinned: false });
}

fn answer<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    state: &mut MemoryState<C, R>,
    sending: &Sending,
    region: RegionId,
    well: bool,
) {
    let translation = &mut state.translations[region.index as usize];
    if !well {
        environment.reach(MemoryCoverPoint::Failed);
        *translation = None;
        if let Err(misuse) = state.machine.failed(region) {
            state.fail(MemoryViolation::RegionError(misuse));
        }
        return;
    }
    if let Some(translation) = translation {
        translation.is_pinned = true;
    }
    let mut work = Vec::new();
    let answer = state.machine.registered(region, &mut work);
    deregister(state, &work);
    match answer {
        Ok(Registration::Usable) => {
            environment.reach(MemoryCoverPoint::Registered);
            post(state, region, sending.buffer);
        }
        Ok(Registration::Stale) => {
            environment.reach(MemoryCoverPoint::Stale);
            // A small message is copied now.
            if sending.kind == TransferKind::Large {
                send(environment, state, sending.kind, sending.buffer);
            }
        }
        Err(misuse) => state.fail(MemoryViolation::RegionError(misuse)),
    }
}

fn hit<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    state: &mut MemoryState<C, R>,
    region: RegionId,
    buffer: Pages,
) {
    environment.reach(MemoryCoverPoint::Hit);
    post(state, region, buffer);
}

/// Posts a message: the adapter reads it from its buffer from now on.
fn post<C: CacheRules, R: ReuseRules>(state: &mut MemoryState<C, R>, region: RegionId, buffer: Pages) {
    match state.translation(region).map(|translation| translation.pages) {
        None => state.fail(MemoryViolation::NotRegistered { region }),
        Some(pages) => {
            if let Some(page) = buffer.iter().find(|page| !pages.has(*page)) {
                state.fail(MemoryViolation::NotCovered { region, page });
            }
        }
    }
    let posted = buffer.iter().map(|page| state.content(page)).collect();
    let is_complete = RegistrationCache::<C, R>::completion() == Completion::WhenPosted;
    state.transmissions.push(Transmission { region, buffer, posted, read: 0, is_complete });
}

fn read<C: CacheRules, R: ReuseRules>(state: &mut MemoryState<C, R>, transmission: usize) {
    let transmission = &mut state.transmissions[transmission];
    let (region, page) = (transmission.region, transmission.buffer.first + transmission.read);
    let posted = transmission.posted[usize::from(transmission.read)];
    transmission.read += 1;
    let Some(translation) = state.translation(region) else {
        return state.fail(MemoryViolation::NotRegistered { region });
    };
    let at = page.checked_sub(translation.pages.first).map(usize::from);
    let Some(frame) = at.and_then(|at| translation.frames.get(at)) else {
        return state.fail(MemoryViolation::NotCovered { region, page });
    };
    if state.frames.get(usize::from(*frame)) != Some(&posted) {
        state.fail(MemoryViolation::OtherBytes { page });
    }
}

/// The kernel reports that a page is unmapped, while its frame is still there.
fn invalidate<C: CacheRules, R: ReuseRules>(
    environment: &Environment,
    state: &mut MemoryState<C, R>,
    page: u8,
) {
    let Some(span) = Span::new(u64::from(page) * PAGE, PAGE) else { return };
    let mut work = Vec::new();
    state.machine.invalidate(span, &mut work);
    let has_page = |transmission: &Transmission| {
        state.translation(transmission.region).is_some_and(|translation| translation.pages.has(page))
    };
    if state.transmissions.iter().any(has_page) {
        environment.reach(MemoryCoverPoint::InvalidatedInUse);
    }
    deregister(state, &work);
}

fn deregister<C: CacheRules, R: ReuseRules>(state: &mut MemoryState<C, R>, work: &[Deregister]) {
    for Deregister(region) in work {
        if state.transmissions.iter().any(|transmission| transmission.region == *region) {
            state.fail(MemoryViolation::DeregisteredInUse { region: *region });
        }
        match state.translations.get_mut(region.index as usize) {
            Some(translation) if translation.is_some() => *translation = None,
            _ => state.fail(MemoryViolation::NotRegistered { region: *region }),
        }
    }
    // So that states that differ in nothing else are one.
    while let Some(None) = state.translations.last() {
        state.translations.pop();
    }
}
