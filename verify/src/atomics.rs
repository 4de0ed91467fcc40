//! Atomics in the abstract network.
//!
//! Atomics that one rank posts at one peer take effect, and are reported, in the order in which they were posted; everything
//! else about them is open. So the network allows more than the contract does: it holds no atomic back until sends, writes
//! or reads before it are over, and no fence does more than that order does. No protocol that [`State`] has posts any:
//! a model of one that does has [`Atomics`] in addition to a [`Network`].
//!
//! [`State`]: crate::state::State
//! [`Network`]: crate::network::Network

use carrousel_rank::Handle;
use carrousel_transport::AtomicOp;
use std::collections::{BTreeMap, VecDeque};

/// An atomic in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Atomic {
    /// The operation.
    pub op: AtomicOp,
    /// The word at the peer, which is 0 at the beginning. `None` for one that writes change, too: their data is not
    /// modelled, nor what the atomic finds.
    pub word: Option<u32>,
    /// The request that is told what the word was.
    pub request: Handle,
}

/// An atomic that has taken effect, and what it has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fetched {
    /// The request.
    pub request: Handle,
    /// The value before; `None` if the word is not modelled.
    pub found: Option<u64>,
}

/// The atomics in flight, and the words that they change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Atomics {
    /// By rank and number: the words that are not 0.
    words: BTreeMap<(u16, u32), u64>,
    /// By poster and peer: what has not taken effect, and what has not been reported.
    posted: BTreeMap<(u16, u16), VecDeque<Atomic>>,
    fetched: BTreeMap<(u16, u16), VecDeque<Fetched>>,
}

impl Atomics {
    /// A rank posts an atomic at a peer.
    pub fn post(&mut self, (from, to): (u16, u16), atomic: Atomic) {
        self.posted.entry((from, to)).or_default().push_back(atomic);
    }

    /// The atomics of which each may take effect next, with their posters and peers.
    pub fn next(&self) -> impl Iterator<Item = ((u16, u16), Atomic)> {
        self.posted.iter().filter_map(|(pair, posted)| Some((*pair, *posted.front()?)))
    }

    /// The oldest atomic of a rank at a peer takes effect, if there is one.
    pub fn take_effect(&mut self, (from, to): (u16, u16)) -> Option<Fetched> {
        let Atomic { op, word, request } = self.posted.get_mut(&(from, to))?.pop_front()?;
        let found = word.map(|word| {
            let found = self.words.remove(&(to, word)).unwrap_or(0);
            let left = op.apply(found);
            if left != 0 {
                self.words.insert((to, word), left);
            }
            found
        });
        let fetched = Fetched { request, found };
        self.fetched.entry((from, to)).or_default().push_back(fetched);
        Some(fetched)
    }

    /// A rank is told of the oldest of its atomics at a peer that have taken effect, if there is one that `is_it`.
    pub fn report(&mut self, pair: (u16, u16), is_it: impl Fn(Fetched) -> bool) -> Option<Fetched> {
        self.fetched.get_mut(&pair)?.pop_front_if(|fetched| is_it(*fetched))
    }

    /// The value of a word of a rank.
    pub fn word(&self, rank: u16, word: u32) -> u64 {
        self.words.get(&(rank, word)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_transport::conformance::{self, Event, Plan, Post, Step, Word};
    use std::collections::BTreeSet;

    /// What each rank is told in every execution of a plan of atomics.
    fn executions(plan: &Plan, state: &Atomics, found: &[Vec<u64>], all: &mut BTreeSet<Vec<Vec<u64>>>) {
        let mut is_over = true;
        for ((from, to), _) in state.next() {
            let (mut state, mut found) = (state.clone(), found.to_vec());
            let fetched = state.take_effect((from, to)).expect("it may take effect");
            let told = state.report((from, to), |_| true);
            assert_eq!(told, Some(fetched));
            found[usize::from(from)].extend(fetched.found);
            executions(plan, &state, &found, all);
            is_over = false;
        }
        if is_over && all.insert(found.to_vec()) {
            let record = |from: usize| {
                let posted = (0..plan.steps[from].len()).map(Event::Posted);
                let values = found[from].iter().enumerate();
                posted.chain(values.map(|(at, value)| Event::Fetched { at, value: *value })).collect()
            };
            let mut ranks: Vec<Option<Vec<Event>>> = (0..3).map(|from| Some(record(from))).collect();
            let words = (0..2).map(|word| Event::FinalWord { word, value: state.word(2, word) });
            ranks[2].as_mut().expect("it lives").extend(words);
            assert_eq!(conformance::check(plan, &ranks), Ok(()));
        }
    }

    #[test]
    fn every_execution_keeps_the_contract() {
        let step = |word, op| Step {
            to: 2,
            post: Post::Atomic { op, word: Word::Shared(word) },
            fenced: false,
            after: 0,
        };
        let add = AtomicOp::FetchAdd;
        let swap = |expected, new| AtomicOp::CompareSwap { expected, new };
        let steps = vec![
            vec![step(0, add(1)), step(1, AtomicOp::Swap(1 << 20)), step(0, swap(2, 1 << 30))],
            vec![step(1, add(0)), step(0, add(1)), step(1, swap(0, 1 << 40))],
            vec![],
        ];
        let plan = Plan { name: "six atomics".to_owned(), steps };
        let mut state = Atomics::default();
        for (from, steps) in (0..).zip(&plan.steps) {
            for (at, step) in (0..).zip(steps) {
                let Post::Atomic { op, word: Word::Shared(word) } = step.post else { continue };
                let request = Handle { index: at, generation: 0 };
                state.post((from, 2), Atomic { op, word: Some(word), request });
            }
        }
        let mut all = BTreeSet::new();
        executions(&plan, &state, &[vec![], vec![], vec![]], &mut all);
        // Of the 20 ways in which the two may take turns, some look the same to both.
        assert!((4..=20).contains(&all.len()), "{}", all.len());
    }

    #[test]
    fn a_report_comes_behind_the_effect_and_in_order() {
        let mut state = Atomics::default();
        let request = |index| Handle { index, generation: 0 };
        let pair = (0, 1);
        for index in 0..2 {
            state.post(pair, Atomic { op: AtomicOp::FetchAdd(5), word: Some(3), request: request(index) });
        }
        assert_eq!(state.report(pair, |_| true), None);
        state.take_effect(pair);
        state.take_effect(pair);
        assert_eq!(state.word(1, 3), 10);
        assert_eq!(state.report(pair, |fetched| fetched.request == request(1)), None);
        let first = Fetched { request: request(0), found: Some(0) };
        assert_eq!(state.report(pair, |_| true), Some(first));
        assert_eq!(state.report(pair, |_| true), Some(Fetched { request: request(1), found: Some(5) }));
        assert_eq!(state.take_effect(pair), None);
    }
}
