//! The model that stateright explores.

use super::step::{self, Action};
use super::tell;
use super::world::{Kind, World};
use crate::explore::Limits;
use crate::outcome::Outcome;
use carrousel_reuse::{CacheRules, ReuseRules};
use stateright::{Checker, Model as _, Property};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// The size of a page, in bytes: that of a size class, so that a message of each number of pages has its own.
pub(super) const PAGE: u64 = 1 << 10;

const PROMISES: &str = "promises";

/// How much can happen. Everything within these bounds is explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Pages of the application.
    pub pages: u8,
    /// Pages of its longest message. Every range of up to so many pages is a buffer.
    pub longest: u8,
    /// How messages travel.
    pub kinds: &'static [Kind],
    /// Send calls at a time.
    pub threads: u8,
    /// Messages.
    pub sends: u8,
    /// Pages that are unmapped; each can be mapped again.
    pub unmaps: u8,
    /// Pages that get another frame.
    pub moves: u8,
    /// Pages that are written to.
    pub writes: u8,
    /// Registrations at a time.
    pub entries: u32,
    /// Pages that are registered at a time.
    pub registered_pages: u64,
    /// At which use a small buffer is registered.
    pub uses: u32,
    /// The table of uses has one chain, and so stops growing early.
    pub one_chain: bool,
    /// Registrations can fail.
    pub fails: bool,
}

impl Bounds {
    /// Two pages, one message at a time, each buffer registered at its first use.
    pub const SMALL: Self = Self {
        pages: 2,
        longest: 2,
        kinds: &[Kind::Small],
        threads: 1,
        sends: 3,
        unmaps: 1,
        moves: 0,
        writes: 1,
        entries: 2,
        registered_pages: 4,
        uses: 1,
        one_chain: false,
        fails: false,
    };

    /// As in a table.
    pub fn name(&self) -> String {
        let Self { pages, sends, unmaps, moves, writes, entries, .. } = self;
        let kinds = match self.kinds {
            [Kind::Small] => "small",
            [Kind::Large] => "large",
            _ => "small and large",
        };
        let mut name = format!(
            "{sends} sends, {kinds}, {pages} pages, {unmaps} unmapped, {moves} moved, {writes} written, \
             {entries} registrations"
        );
        if self.uses > 1 {
            name += &format!(", at use {}", self.uses);
        }
        if self.threads > 1 {
            name += &format!(", {} threads", self.threads);
        }
        if self.one_chain {
            name += ", one chain";
        }
        if self.fails {
            name += ", failures";
        }
        name
    }
}

/// Whether those around the machine keep their rules. What breaks one exists only in ablations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// All do.
    Right,
    /// The driver waits where it should copy.
    DriverWaits,
    /// The kernel tells of an unmapping some time after it is done.
    KernelTellsLate,
}

/// What an exploration has to meet to say anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// A small message was copied, its buffer not used often enough.
    Copied,
    /// A message went out through a registration of its own.
    Registered,
    /// A message went out through a registration that was there.
    Hit,
    /// A registration made room for another one.
    Evicted,
    /// A page of a registration was invalidated while a message went out through it.
    InvalidatedInUse,
    /// A page was invalidated while it was being registered.
    Stale,
    /// There was no room for a registration.
    Refused,
    /// A registration failed.
    Failed,
    /// A buffer was new to a table that has stopped growing.
    Stopped,
}

impl Reached {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Copied,
        Self::Registered,
        Self::Hit,
        Self::Evicted,
        Self::InvalidatedInUse,
        Self::Stale,
        Self::Refused,
        Self::Failed,
        Self::Stopped,
    ];

    /// A column heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copied => "copied",
            Self::Registered => "registered",
            Self::Hit => "hit",
            Self::Evicted => "evicted",
            Self::InvalidatedInUse => "invalidated in use",
            Self::Stale => "stale",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

#[derive(Default)]
struct Shared {
    reached: [AtomicU64; Reached::ALL.len()],
    is_broken: AtomicBool,
    /// Explore no further.
    stop: AtomicBool,
}

/// The machine under the rules `C` and `R`, and all that can happen around it.
pub(super) struct Model<C, R> {
    bounds: Bounds,
    around: Around,
    shared: Arc<Shared>,
    rules: PhantomData<(C, R)>,
}

impl<C: CacheRules, R: ReuseRules> Model<C, R> {
    pub(super) fn new(bounds: Bounds, around: Around) -> Self {
        Self { bounds, around, shared: Arc::default(), rules: PhantomData }
    }

    pub(super) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    pub(super) fn around(&self) -> Around {
        self.around
    }

    pub(super) fn reach(&self, what: Reached) {
        self.shared.reached[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a call waits, and nothing else can happen.
    pub(super) fn is_stuck(&self, world: &World<C, R>) -> bool {
        let mut actions = Vec::new();
        let is_waiting = !world.sending.is_empty() || !world.flights.is_empty();
        if is_waiting {
            step::actions(self, world, &mut actions);
        }
        is_waiting && actions.is_empty()
    }

    /// Only the first violation counts, so that the report is of the shortest path: stateright keeps the last
    /// one that it is told of.
    fn keeps_promises(&self, world: &World<C, R>) -> bool {
        let is_kept = world.wrong.is_none() && !self.is_stuck(world);
        is_kept || self.shared.is_broken.swap(true, Ordering::Relaxed)
    }

    /// Explores all that can happen.
    pub(super) fn explore(self, limits: &Limits<'_>) -> Outcome {
        let shared = Arc::clone(&self.shared);
        let told = Self::new(self.bounds, self.around);
        let began = Instant::now();
        let checker = self.checker().threads(limits.threads.max(1)).spawn_bfs();
        let count = || (checker.unique_state_count() as u64, checker.state_count() as u64, 0);
        let stopped = limits.watch(&shared.stop, || checker.is_done(), count);
        let checker = checker.join();
        // The path is found by walking the model again.
        shared.stop.store(false, Ordering::Relaxed);
        let path = checker.discoveries().remove(PROMISES);
        Outcome {
            states: checker.unique_state_count() as u64,
            generated: checker.state_count() as u64,
            seconds: began.elapsed().as_secs_f64(),
            reached: Reached::ALL
                .map(|what| (what.name(), shared.reached[what as usize].load(Ordering::Relaxed)))
                .to_vec(),
            stopped,
            broken: path.map(|path| tell::tell(&told, &path.into_vec())),
        }
    }
}

impl<C: CacheRules, R: ReuseRules> stateright::Model for Model<C, R> {
    type State = World<C, R>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        vec![World::new(&self.bounds)]
    }

    fn actions(&self, world: &Self::State, actions: &mut Vec<Self::Action>) {
        if world.wrong.is_none() && !self.shared.stop.load(Ordering::Relaxed) {
            step::actions(self, world, actions);
        }
    }

    fn next_state(&self, world: &Self::State, action: Self::Action) -> Option<Self::State> {
        Some(step::after(self, world, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(PROMISES, |model: &Self, world: &World<C, R>| model.keeps_promises(world))]
    }
}
