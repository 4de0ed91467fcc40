//! The search: all executions of some programs, each program by itself.
//!
//! Programs are short and many: their states have nothing in common, so that each thread takes the next program, and
//! forgets its states when it is explored. States are compared as a whole, not by their fingerprints.

use super::check;
use super::program::EpochProgram;
use super::situations::EpochCoverPoint;
use super::state::EpochState;
use super::step::{self, EpochAction};
use super::tell;
use crate::explore::{Limits, Stopped};
use crate::outcome::Outcome;
use crate::situations::Situations;
use carrousel_epoch::EpochRules;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// What the threads of a search share.
struct EpochSearch<'a> {
    programs: &'a [EpochProgram],
    /// The initial state of a program, with the rules that are explored.
    first: fn(&EpochProgram) -> EpochState,
    limits: &'a Limits<'a>,
    situations: Situations<EpochCoverPoint>,
    next: AtomicUsize,
    states: AtomicU64,
    generated: AtomicU64,
    end: Mutex<SearchEnd>,
}

#[derive(Default)]
struct SearchEnd {
    stopped: Option<Stopped>,
    /// The violation of the first program that has one, and its number.
    broken: Option<(usize, String)>,
}

/// Explores all executions of these programs, under the rules `R`.
pub(super) fn explore<R: EpochRules>(programs: &[EpochProgram], limits: &Limits<'_>) -> Outcome {
    let began = Instant::now();
    let search = EpochSearch {
        programs,
        first: EpochState::new::<R>,
        limits,
        situations: Situations::default(),
        next: AtomicUsize::new(0),
        states: AtomicU64::new(0),
        generated: AtomicU64::new(0),
        end: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for _ in 1..limits.threads.min(programs.len()) {
            scope.spawn(|| search.run());
        }
        search.run();
    });
    let end = search.end.into_inner().unwrap_or_default();
    Outcome {
        states: search.states.into_inner(),
        generated: search.generated.into_inner(),
        seconds: began.elapsed().as_secs_f64(),
        reached: search.situations.met(),
        stopped: end.stopped,
        broken: end.broken.map(|(_, text)| text),
    }
}

impl EpochSearch<'_> {
    /// Takes programs until there are no more, or one is broken.
    fn run(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(program) = self.programs.get(number) else { return };
            if self.situations.is_stopped() {
                return;
            }
            match self.explore(program) {
                Ok(None) => continue,
                Ok(Some(text)) => {
                    let Ok(mut end) = self.end.lock() else { return };
                    if end.broken.as_ref().is_none_or(|(first, _)| number < *first) {
                        end.broken = Some((number, text));
                    }
                    // Programs that others have begun are explored to their end: the first of all is reported.
                    self.next.store(self.programs.len(), Ordering::Relaxed);
                }
                Err(reason) => {
                    let Ok(mut end) = self.end.lock() else { return };
                    end.stopped = end.stopped.or(Some(reason));
                    self.situations.stop.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    /// Explores one program, breadth first. The text of a shortest counterexample, if there is one.
    fn explore(&self, program: &EpochProgram) -> Result<Option<String>, Stopped> {
        let mut states = vec![Rc::new((self.first)(program))];
        let mut from: Vec<Option<(usize, EpochAction)>> = vec![None];
        let mut known: HashSet<Rc<EpochState>, ahash::RandomState> = states.iter().cloned().collect();
        let (mut at, mut possible) = (0, Vec::new());
        while let Some(state) = states.get(at).cloned() {
            if at % STATES_BETWEEN_LOOKS == 0
                && let Some(stopped) =
                    self.limits.exceeded(self.states.load(Ordering::Relaxed) + states.len() as u64)
            {
                return Err(stopped);
            }
            step::actions(program, &state, &mut possible);
            if let Some(what) = broken(program, &state, possible.is_empty()) {
                self.states.fetch_add(states.len() as u64, Ordering::Relaxed);
                return Ok(Some(tell::tell(&what, program, &path(&states, &from, at))));
            }
            self.generated.fetch_add(possible.len() as u64, Ordering::Relaxed);
            for action in possible.drain(..) {
                let next = Rc::new(step::after(program, &state, action, &self.situations));
                let is_broken = next.violation.is_some();
                if known.insert(Rc::clone(&next)) {
                    states.push(next);
                    from.push(Some((at, action)));
                }
                if is_broken {
                    at = states.len() - 1;
                    break;
                }
            }
            if states[at].violation.is_none() {
                at += 1;
            }
        }
        self.states.fetch_add(states.len() as u64, Ordering::Relaxed);
        Ok(None)
    }
}

/// Follows one execution of a program, in which a seed decides what comes next, to its end: for programs that have too many
/// to explore all of them. The text of the violation, if there is one.
pub(super) fn follow<R: EpochRules>(program: &EpochProgram, seed: u64) -> Option<String> {
    let situations = Situations::default();
    let (mut state, mut random) = (EpochState::new::<R>(program), seed);
    let (mut past, mut possible) = (Vec::new(), Vec::new());
    loop {
        step::actions(program, &state, &mut possible);
        if let Some(what) = broken(program, &state, possible.is_empty()) {
            past.push((state, None));
            return Some(tell::tell(&what, program, &past));
        }
        // Knuth's MMIX generator, whose high bits are the better ones.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let action = *possible.get((random >> 33) as usize % possible.len().max(1))?;
        possible.clear();
        let next = step::after(program, &state, action, &situations);
        past.push((std::mem::replace(&mut state, next), Some(action)));
    }
}

/// The limits are checked after so many states.
const STATES_BETWEEN_LOOKS: usize = 1024;

/// The promise that is broken, and how. Every step consumes something, so that each execution ends: a rank that waits for
/// ever waits in a state in which nothing can happen.
fn broken(program: &EpochProgram, state: &EpochState, is_end: bool) -> Option<String> {
    if state.violation.is_some() || !is_end {
        return state.violation.clone();
    }
    match state.is_over(program) {
        true => check::quiet(state).err(),
        false => (!program.may_be_stuck).then(|| check::stuck(state, program)),
    }
}

/// The states up to one, each with the step that leaves it.
fn path(
    states: &[Rc<EpochState>],
    from: &[Option<(usize, EpochAction)>],
    last: usize,
) -> Vec<(EpochState, Option<EpochAction>)> {
    let mut path = vec![(EpochState::clone(&states[last]), None)];
    let mut at = last;
    while let Some((before, action)) = from[at] {
        path.push((EpochState::clone(&states[before]), Some(action)));
        at = before;
    }
    path.reverse();
    path
}
