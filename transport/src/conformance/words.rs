//! Checks what atomics have found: whether those on one word took turns, and in an order that the table allows.
//!
//! A shared word is changed by atomics of several ranks, whose turns nobody sees. Plans are made so that no value comes
//! back to a word once it was replaced: so each atomic stood behind the one that left the value which it found, and
//! the values tell the turns. Each rank's turns at one peer, over all words there, have to fit into one order.
//! A slot that a single rank writes, reads and changes has, after each of these, the contents that follow from the plan, as
//! far as the table orders them.

use super::contract_error::{ContractError, TableCell};
use super::plan::{Plan, PlannedStep, Post, Word, fill};
use super::record::Event;
use crate::{AtomicOp, Operation};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

/// An atomic on a shared word, and the value that it found.
#[derive(Clone, Copy, Debug)]
struct Turn {
    planned: PlannedStep,
    op: AtomicOp,
    found: u64,
}

impl Turn {
    fn left(&self) -> u64 {
        self.op.apply(self.found)
    }

    fn changes(&self) -> bool {
        self.left() != self.found
    }
}

/// Checks the atomics on all shared words.
///
/// # Errors
/// The first breach, of the first rank whose words show one.
pub(super) fn check(plan: &Plan, ranks: &[Option<Vec<Event>>]) -> Result<(), ContractError> {
    for owner in 0..plan.ranks() {
        let turns = turns_at(plan, ranks, owner);
        // The turns whose order is known, those of one word after those of another.
        let mut known: Vec<Vec<Turn>> = Vec::new();
        for (word, turns) in turns {
            take_turns(&turns)?;
            let is_alive = |rank: u32| ranks.get(rank as usize).is_some_and(Option::is_some);
            let mut posters = (0..plan.ranks()).filter(|from| plan.shares(*from, owner, word));
            if !is_alive(owner) || !posters.all(is_alive) {
                // Of a rank that was killed nobody knows what its atomics have found.
                continue;
            }
            let (order, last) = in_order(&turns)?;
            let last_found = ranks[owner as usize].iter().flatten().find_map(|event| match event {
                Event::FinalWord { word: at, value } if *at == word => Some(*value),
                _ => None,
            });
            if last_found != Some(last) {
                return Err(ContractError::FinalWord { at: owner, word, found: last_found, expected: last });
            }
            known.push(order);
        }
        one_order(&known)?;
    }
    Ok(())
}

/// By shared word of `owner`: what the atomics of all ranks have found there.
fn turns_at(plan: &Plan, ranks: &[Option<Vec<Event>>], owner: u32) -> BTreeMap<u32, Vec<Turn>> {
    let mut turns: BTreeMap<u32, Vec<Turn>> = BTreeMap::new();
    for (from, events) in (0..).zip(ranks) {
        // Behind the loss, an atomic has failed.
        let until_lost = events.iter().flatten().take_while(|event| **event != Event::Lost(owner));
        for event in until_lost {
            let Event::Fetched { at, value: found } = *event else { continue };
            let Some(planned) = plan.planned_step(from, at).filter(|planned| planned.step.to == owner) else {
                continue;
            };
            if let Post::Atomic { op, word: Word::Shared(word) } = planned.step.post {
                turns.entry(word).or_default().push(Turn { planned, op, found });
            }
        }
    }
    turns
}

/// Fails if two atomics have replaced the same value.
fn take_turns(turns: &[Turn]) -> Result<(), ContractError> {
    let mut replaced: BTreeMap<u64, &Turn> = BTreeMap::new();
    for turn in turns.iter().filter(|turn| turn.changes()) {
        if let Some(first) = replaced.insert(turn.found, turn) {
            let (at, value) = (turn.planned.from, turn.found);
            return Err(ContractError::NotAtomic { at, first: first.planned, second: turn.planned, value });
        }
    }
    Ok(())
}

/// The turns at one word in the order in which they came, and the value that the last one has left.
fn in_order(turns: &[Turn]) -> Result<(Vec<Turn>, u64), ContractError> {
    let mut by_value: BTreeMap<u64, Vec<Turn>> = BTreeMap::new();
    for turn in turns {
        by_value.entry(turn.found).or_default().push(*turn);
    }
    let (mut order, mut value) = (Vec::new(), 0);
    while let Some(mut found) = by_value.remove(&value) {
        // Atomics that change nothing come before the one that does.
        found.sort_by_key(Turn::changes);
        value = found.last().map_or(value, Turn::left);
        order.append(&mut found);
    }
    match by_value.into_values().flatten().next() {
        Some(Turn { planned, found, .. }) => {
            Err(ContractError::UnknownValue { at: planned.from, what: planned, value: found })
        }
        None => Ok((order, value)),
    }
}

/// Fails unless the turns at the words of one rank fit into one order with those in which each rank has posted its own.
fn one_order(words: &[Vec<Turn>]) -> Result<(), ContractError> {
    let nodes: Vec<&Turn> = words.iter().flatten().collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut first = 0;
    for word in words {
        // All that have found a value are behind the one that has left it, and before the one that replaces it.
        let mut left_by = None;
        for (at, turn) in (first..).zip(word) {
            after[at].extend(left_by);
            if turn.changes() {
                let loops = (first..at).rev().take_while(|other| !nodes[*other].changes());
                after[at].extend(loops);
                left_by = Some(at);
            }
        }
        first += word.len();
    }
    let mut posted: BTreeMap<u32, BTreeMap<usize, usize>> = BTreeMap::new();
    for (node, turn) in nodes.iter().enumerate() {
        posted.entry(turn.planned.from).or_default().insert(turn.planned.at, node);
    }
    let pairs = || posted.values().flat_map(|own| own.values().zip(own.values().skip(1)));
    for (earlier, later) in pairs() {
        after[*later].push(*earlier);
    }
    if is_acyclic(&after) {
        return Ok(());
    }
    let circle = pairs().find(|(earlier, later)| is_behind(&after, **earlier, **later));
    let Some((earlier, later)) = circle else { return Ok(()) };
    let (earlier, later) = (nodes[*earlier].planned, nodes[*later].planned);
    let row = TableCell(Operation::Atomic, Operation::Atomic);
    Err(ContractError::Order { at: earlier.from, earlier, later, row })
}

/// Whether there is an order in which every node comes after those that it has to come after.
fn is_acyclic(after: &[Vec<usize>]) -> bool {
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (node, before) in after.iter().enumerate() {
        before.iter().for_each(|before| behind[*before].push(node));
    }
    let mut left: Vec<usize> = after.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..after.len()).filter(|node| left[*node] == 0).collect();
    let mut count = 0;
    while let Some(node) = ready.pop() {
        count += 1;
        for next in &behind[node] {
            left[*next] -= 1;
            if left[*next] == 0 {
                ready.push(*next);
            }
        }
    }
    count == after.len()
}

/// Whether `node` has to come after `other`.
fn is_behind(after: &[Vec<usize>], node: usize, other: usize) -> bool {
    let (mut seen, mut next) = (BTreeSet::from([node]), VecDeque::from([node]));
    while let Some(node) = next.pop_front() {
        if node == other {
            return true;
        }
        next.extend(after[node].iter().filter(|before| seen.insert(**before)));
    }
    false
}

/// Something that a rank has looked at a slot with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Look {
    /// Its own read, or atomic, at this position.
    Own(PlannedStep),
    /// The owner, behind the packet of the step at this position.
    Behind(usize),
    /// The owner, when all is complete.
    End,
}

/// What a look at a slot has to find.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// The contents.
    pub(super) bytes: [u8; 8],
    /// The last step that has changed them.
    pub(super) last: Option<PlannedStep>,
    /// The contents if the first atomic that is behind the look came too early, and that atomic.
    pub(super) too_early: Option<([u8; 8], PlannedStep)>,
}

/// The contents of the slot of the step at `slot_of`, which `from` alone changes; `None` where the table leaves them open.
pub(super) fn expected(plan: &Plan, from: u32, slot_of: usize, look: Look) -> Option<Expected> {
    let slot = plan.planned_step(from, slot_of)?;
    let to = slot.step.to;
    // Whether all that is posted before or at `a` is complete before `b` is posted.
    let is_between =
        |a: usize, b: usize| plan.between(from, to).any(|step| step.is_wait() && step.at > a && step.at <= b);
    // Whether an atomic at or before `b` waits for what is posted before `a`.
    let is_held = |a: usize, b: usize| {
        let holds = |step: &PlannedStep| step.step.fenced && step.at > a && step.at <= b;
        plan.between(from, to).any(|step| holds(&step))
    };
    let is_atomic = |step: &PlannedStep| matches!(step.step.post, Post::Atomic { .. });
    let touches = || {
        let is_one = move |one: &PlannedStep| {
            one.step.post.slot_of() == Some(slot_of) && !matches!(one.step.post, Post::Read { .. })
        };
        plan.between(from, to).filter(is_one)
    };
    // What is before the look, and the last step that may have waited for it. A packet is behind the write whose notice it is.
    let (before, position) = match look {
        Look::Own(planned) => (planned.at, planned.at),
        Look::Behind(at) => (at + 1, at),
        Look::End => (usize::MAX, usize::MAX),
    };
    let is_own_atomic = matches!(look, Look::Own(planned) if is_atomic(&planned));
    let mut bytes = [0; 8];
    if matches!(slot.step.post, Post::Read { .. }) {
        fill(from, slot_of, &mut bytes);
    }
    let (mut last, mut too_early): (Option<PlannedStep>, Option<([u8; 8], PlannedStep)>) = (None, None);
    let mut last_atomic: Option<usize> = None;
    for touch in touches() {
        if touch.at < before {
            // A write may land before atomics that it does not wait for.
            if !is_atomic(&touch) && last_atomic.is_some_and(|before| !is_between(before, touch.at)) {
                return None;
            }
            if is_atomic(&touch) {
                last_atomic = Some(touch.at);
            }
            bytes = after(touch, bytes);
            last = Some(touch);
        } else if touch.at > position {
            let is_behind = match look {
                Look::Own(_) if is_atomic(&touch) => is_own_atomic || is_held(position, touch.at),
                Look::Own(_) => is_between(position, touch.at),
                Look::Behind(_) | Look::End => false,
            };
            if !is_behind {
                return None;
            }
            if too_early.is_none() && is_atomic(&touch) {
                too_early = Some((after(touch, bytes), touch));
            }
        }
    }
    // Atomics are before a read, or a packet, that waits for them.
    let waited = match look {
        Look::End => true,
        _ if is_own_atomic => true,
        Look::Own(_) | Look::Behind(_) => last_atomic.is_none_or(|at| is_between(at, position)),
    };
    waited.then_some(Expected { bytes, last, too_early })
}

/// The contents of a slot after a step has changed it.
fn after(touch: PlannedStep, mut bytes: [u8; 8]) -> [u8; 8] {
    match touch.step.post {
        Post::Atomic { op, .. } => op.apply(u64::from_ne_bytes(bytes)).to_ne_bytes(),
        _ => {
            fill(touch.from, touch.at, &mut bytes);
            bytes
        }
    }
}
