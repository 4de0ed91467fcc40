//! The scheduler: exactly one actor runs, and a seed decides which, at each of their calls.
//!
//! Time is virtual. A call takes some of it; when no actor can run, time goes on to the first that has waited, or
//! stalled, for long enough.

use crate::actor::{Actor, State, Wait};
use crate::faults::Faults;
use crate::trace::Trace;
use carrousel_launch::Ending;
use carrousel_system::Defect;
use fastrand::Rng;
use generator::Generator;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::time::{Duration, Instant};

/// The most steps of a job: far more than any takes.
const STEPS_MAX: u64 = 4_000_000;
/// The longest virtual time of a job: longer than the launcher lets ranks go on after one has failed.
const TIME_MAX: Duration = Duration::from_secs(300);

/// The machine, drawn from the seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) processors: usize,
    /// Another actor runs behind one in so many calls.
    pub(crate) switch_one_in: u32,
    /// The most time that a call takes.
    pub(crate) call_max: Duration,
    /// The most time that passes when a rank offers the processor to others.
    pub(crate) yield_max: Duration,
}

impl Machine {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let of_magnitude = |rng: &mut Rng, bits| Duration::from_nanos(1 << rng.u32(bits));
        Self {
            processors: if rng.u32(..8) == 0 { 8 } else { 1 },
            switch_one_in: 1 << rng.u32(0..6),
            call_max: of_magnitude(rng, 12..17),
            yield_max: of_magnitude(rng, 14..20),
        }
    }
}

/// The actors of a job, and the time that they share. The last one is the launcher.
pub(crate) struct World {
    pub(crate) machine: Machine,
    pub(crate) faults: Faults,
    pub(crate) defect: Option<Defect>,
    /// Bytes of unexpected messages that a rank may keep.
    pub(crate) kept_max: usize,
    rng: RefCell<Rng>,
    /// An instant of the real clock, which stands for the beginning.
    began: Instant,
    now: Cell<Duration>,
    steps: Cell<u64>,
    /// How often an actor was chosen.
    turns: Cell<u64>,
    current: Cell<usize>,
    actors: RefCell<Vec<Actor>>,
    stalls_left: Cell<u32>,
    /// Faults that have happened to a call that asks for memory.
    pub(crate) calls_failed: Cell<u32>,
    /// A rank has died between a push and the wake-up of its receiver: no other process wakes it.
    died_pushing: Cell<bool>,
    wrong: RefCell<Option<String>>,
    trace: RefCell<Trace>,
}

impl World {
    pub(crate) fn new(
        mut rng: Rng,
        ranks: usize,
        (machine, faults): (Machine, Faults),
        defect: Option<Defect>,
        kept_max: usize,
        traces: bool,
    ) -> Result<Self, String> {
        let actors = (0..=ranks).map(Actor::new).collect::<Result<Vec<_>, String>>()?;
        Ok(Self {
            stalls_left: Cell::new(faults.stalls),
            machine,
            faults,
            defect,
            kept_max,
            rng: RefCell::new(rng.fork()),
            began: Instant::now(),
            now: Cell::new(Duration::ZERO),
            steps: Cell::new(0),
            turns: Cell::new(0),
            current: Cell::new(0),
            actors: RefCell::new(actors),
            calls_failed: Cell::new(0),
            died_pushing: Cell::new(false),
            wrong: RefCell::new(None),
            trace: RefCell::new(Trace::new(traces)),
        })
    }

    /// Runs the actors until all have ended, or something is wrong.
    pub(crate) fn run(&self, mut actors: Vec<Generator<'static, (), ()>>) {
        while let Some(next) = self.next() {
            self.current.set(next);
            self.turns.set(self.turns.get() + 1);
            let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| actors[next].resume()));
            if ran.is_err() {
                self.fails(format_args!("{} panics", self.name(next)));
            } else if actors[next].is_done() && !self.with(next, |actor| actor.is_over()) {
                self.end(next, Ending::Exited(0));
            }
        }
        // What has ended in the middle of a call stays as it is: to unwind it would call the library. The memory of these
        // actors is lost until this process ends.
        for actor in actors {
            if !actor.is_done() {
                std::mem::forget(actor);
            }
        }
    }

    /// The actor that runs next; `None` at the end.
    fn next(&self) -> Option<usize> {
        loop {
            if self.wrong.borrow().is_some() || self.actors.borrow().iter().all(Actor::is_over) {
                return None;
            }
            if self.steps.get() > STEPS_MAX || self.now.get() > TIME_MAX {
                let (steps, now) = (self.steps.get(), self.now.get());
                self.fails(format_args!("it does not end: {steps} steps, {now:?}: {}", self.states()));
                return None;
            }
            let now = self.now.get();
            let ready: Vec<usize> = (0..)
                .zip(&*self.actors.borrow())
                .filter(|(_, actor)| can_run(actor, now))
                .map(|(number, _)| number)
                .collect();
            if let Some(next) = self.rng.borrow_mut().choice(&ready).copied() {
                self.with(next, |actor| actor.state = State::Ready);
                return Some(next);
            }
            self.advance();
        }
    }

    /// Time goes on to the moment at which the first actor can run.
    fn advance(&self) {
        let mut actors = self.actors.borrow_mut();
        let moment = |actor: &Actor| match actor.state {
            State::Over => None,
            State::Waiting { until: None, roused: false, .. } => None,
            State::Waiting { until: Some(until), roused: false, .. } => Some(until.max(actor.stalled_until)),
            State::Ready | State::Waiting { .. } => Some(actor.stalled_until),
        };
        let Some(next) = actors.iter().filter_map(moment).min() else {
            drop(actors);
            return self.fails(format_args!("all wait, and nobody wakes anybody: {}", self.states()));
        };
        // Only if nobody is in the middle of something.
        let all_sleep = actors.iter().all(|actor| match actor.state {
            State::Over | State::Waiting { roused: false, .. } => true,
            State::Ready | State::Waiting { .. } => false,
        });
        for actor in actors.iter_mut() {
            if let State::Waiting { wait: Wait::Word, until: Some(until), .. } = actor.state {
                actor.overslept |= all_sleep && until <= next;
            }
        }
        self.now.set(next);
    }

    /// A step of the current actor: it takes time, a fault may strike, and another actor may run.
    pub(crate) fn step(&self, text: fmt::Arguments<'_>) {
        let me = self.current.get();
        self.steps.set(self.steps.get() + 1);
        self.spend(self.machine.call_max);
        self.note(text);
        let calls = self.with(me, |actor| {
            actor.calls += 1;
            actor.calls
        });
        if self.faults.kill == Some((me, calls)) {
            self.leave(Ending::Killed(9));
        }
        let switches = {
            let mut rng = self.rng.borrow_mut();
            let stalls = me < self.ranks()
                && self.stalls_left.get() > 0
                && self.faults.stall_one_in.is_some_and(|one_in| rng.u32(..one_in) == 0);
            if stalls {
                self.stalls_left.set(self.stalls_left.get() - 1);
                let time = Duration::from_nanos(rng.u64(..self.faults.stall_max.as_nanos() as u64));
                drop(rng);
                self.note(format_args!("stalls for {time:?}"));
                self.with(me, |actor| actor.stalled_until = self.now.get() + time);
                true
            } else {
                rng.u32(..self.machine.switch_one_in) == 0
            }
        };
        if switches {
            switch();
        }
    }

    /// Lets others run.
    pub(crate) fn yield_now(&self) {
        self.spend(self.machine.yield_max);
        switch();
    }

    /// Blocks the current actor until it is roused, at most until `until`.
    pub(crate) fn block(&self, wait: Wait, until: Option<Duration>) {
        self.with(self.current.get(), |actor| {
            actor.overslept = false;
            actor.state = State::Waiting { wait, until, roused: false };
        });
        switch();
    }

    /// Lets all that wait for this look again.
    pub(crate) fn rouse(&self, whom: Wait) {
        for actor in self.actors.borrow_mut().iter_mut() {
            if let State::Waiting { wait, roused, .. } = &mut actor.state
                && *wait == whom
            {
                *roused = true;
                actor.overslept = false;
            }
        }
    }

    /// The current actor has waited for a word.
    pub(crate) fn waited(&self) {
        self.with(self.current.get(), |actor| actor.woke_at = self.turns.get());
        self.note(format_args!("has waited"));
    }

    /// Ends the process of the current actor, whatever it is in the middle of.
    pub(crate) fn leave(&self, ending: Ending) -> ! {
        self.end(self.current.get(), ending);
        loop {
            switch();
        }
    }

    /// Ends the process of an actor that does not run.
    pub(crate) fn end(&self, number: usize, ending: Ending) {
        self.trace.borrow_mut().note(
            self.steps.get(),
            self.now.get(),
            number,
            format_args!("ends: it {ending}"),
        );
        self.with(number, |actor| actor.end(ending));
        // The launcher sees it, and peers that wait for a moment.
        self.rouse(Wait::Descriptor);
    }

    /// A step between a push and the wake-up of its receiver: a rank that dies here wakes nobody, and no other process does.
    pub(crate) fn step_of_push(&self, text: fmt::Arguments<'_>) {
        let me = self.current.get();
        let before = self.with(me, |actor| actor.calls);
        if self.faults.kill == Some((me, before + 1)) {
            self.died_pushing.set(true);
        }
        self.step(text);
    }

    /// The current actor has slept, and then found something.
    pub(crate) fn slept(&self, arrivals: bool) {
        // If others have run since it woke, the message may be new.
        let overslept = self.with(self.current.get(), |actor| {
            std::mem::take(&mut actor.overslept) && actor.woke_at == self.turns.get()
        });
        if overslept && arrivals && !self.died_pushing.get() {
            let name = self.name(self.current.get());
            self.fails(format_args!("a lost wake-up: {name} has slept while there was a message for it"));
            switch();
        }
    }

    /// Something is wrong: the job goes no further.
    pub(crate) fn fails(&self, what: fmt::Arguments<'_>) {
        self.note(format_args!("WRONG: {what}"));
        self.wrong.borrow_mut().get_or_insert_with(|| what.to_string());
    }

    /// As [`Self::fails`], for the actor that runs, which does not go on.
    pub(crate) fn fails_here(&self, what: fmt::Arguments<'_>) -> ! {
        self.fails(what);
        loop {
            switch();
        }
    }

    pub(crate) fn note(&self, text: fmt::Arguments<'_>) {
        self.trace.borrow_mut().note(self.steps.get(), self.now.get(), self.current.get(), text);
    }

    /// Lets some time pass, at most this much.
    pub(crate) fn spend(&self, max: Duration) {
        let nanos = self.rng.borrow_mut().u64(..=max.as_nanos() as u64);
        self.now.set(self.now.get() + Duration::from_nanos(nanos));
    }

    /// A random number.
    pub(crate) fn number(&self) -> u64 {
        self.rng.borrow_mut().u64(..)
    }

    pub(crate) fn now(&self) -> Duration {
        self.now.get()
    }

    pub(crate) fn instant(&self) -> Instant {
        self.began + self.now.get()
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// The number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.actors.borrow().len() - 1
    }

    /// The number of the actor that runs.
    pub(crate) fn current(&self) -> usize {
        self.current.get()
    }

    /// Asks an actor, or changes it.
    pub(crate) fn with<T>(&self, number: usize, ask: impl FnOnce(&mut Actor) -> T) -> T {
        ask(&mut self.actors.borrow_mut()[number])
    }

    /// The actor whose process has this number.
    pub(crate) fn by_pid(&self, pid: rustix::process::Pid) -> Option<usize> {
        self.actors.borrow().iter().position(|actor| actor.pid == pid)
    }

    /// What is wrong, if anything is.
    pub(crate) fn wrong(&self) -> Option<String> {
        self.wrong.borrow().clone()
    }

    /// The events so far.
    pub(crate) fn trace(&self) -> std::cell::Ref<'_, Trace> {
        self.trace.borrow()
    }

    fn name(&self, number: usize) -> String {
        if number == self.ranks() { "the launcher".to_owned() } else { format!("rank {number}") }
    }

    /// What each actor does, in words.
    fn states(&self) -> String {
        let told = |(number, actor): (usize, &Actor)| match actor.state {
            State::Over => format!("{number} has ended"),
            State::Ready => format!("{number} runs"),
            State::Waiting { wait, until, .. } => format!("{number} waits for {wait:?} until {until:?}"),
        };
        (0..).zip(&*self.actors.borrow()).map(told).collect::<Vec<_>>().join(", ")
    }
}

fn can_run(actor: &Actor, now: Duration) -> bool {
    let wants = match actor.state {
        State::Over => false,
        State::Ready => true,
        State::Waiting { until, roused, .. } => roused || until.is_some_and(|until| until <= now),
    };
    wants && actor.stalled_until <= now
}

/// Back to the scheduler.
#[expect(deprecated, reason = "the calls that are to switch have no scope of the generator")]
fn switch() {
    generator::yield_with(());
}
