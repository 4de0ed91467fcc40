//! Both locks agree with a plain list of all requests, in the order in which they came: a request holds the lock as soon
//! as nothing before it in the list excludes it.

use carrousel_lock::{
    Access, AllLockRules, AllTicketRules, Death, Grant, HostTickets, LockManager, Mode, Progress, TicketLock,
    TicketWords, Word,
};
use carrousel_wire::RankId;
use proptest::collection::vec;
use proptest::prelude::*;

const RANKS: u32 = 5;

/// The reference.
#[derive(Clone, Debug, Default)]
struct List {
    /// Requests that were not released.
    requests: Vec<Grant>,
    dead: Vec<RankId>,
}

impl List {
    fn has(&self, origin: RankId) -> bool {
        self.requests.iter().any(|request| request.origin == origin)
    }

    fn holders(&self) -> Vec<Grant> {
        let holds = |at: usize| match self.requests[at].mode {
            Mode::Exclusive => at == 0,
            Mode::Shared => self.requests[..at].iter().all(|before| before.mode == Mode::Shared),
        };
        (0..self.requests.len()).filter(|at| holds(*at)).map(|at| self.requests[at]).collect()
    }

    fn holds(&self, origin: RankId) -> bool {
        self.holders().iter().any(|holder| holder.origin == origin)
    }

    fn waiting(&self) -> Vec<Grant> {
        self.requests.iter().copied().filter(|request| !self.holds(request.origin)).collect()
    }

    fn is_dead(&self, origin: RankId) -> bool {
        self.dead.contains(&origin)
    }

    /// Returns whether it can be.
    fn request(&mut self, origin: RankId, mode: Mode) -> bool {
        let can_be = !self.has(origin) && !self.is_dead(origin);
        self.requests.extend(can_be.then_some(Grant { origin, mode }));
        can_be
    }

    fn release(&mut self, origin: RankId) -> bool {
        let can_be = self.holds(origin) && !self.is_dead(origin);
        self.requests.retain(|request| !can_be || request.origin != origin);
        can_be
    }

    fn died(&mut self, origin: RankId) -> Death {
        let mode = self.requests.iter().find(|request| request.origin == origin).map(|request| request.mode);
        self.dead.push(origin);
        if self.holds(origin) {
            return Death { held: mode, waited: None };
        }
        self.requests.retain(|request| request.origin != origin);
        Death { held: None, waited: mode }
    }
}

#[derive(Clone, Copy, Debug)]
enum Input {
    Request(RankId, Mode),
    Release(RankId),
    Die(RankId),
}

fn origin() -> impl Strategy<Value = RankId> {
    (0..RANKS).prop_map(RankId)
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Exclusive), Just(Mode::Shared)]
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        8 => (origin(), mode()).prop_map(|(origin, mode)| Input::Request(origin, mode)),
        8 => origin().prop_map(Input::Release),
        1 => origin().prop_map(Input::Die),
    ]
}

fn by_rank(mut grants: Vec<Grant>) -> Vec<Grant> {
    grants.sort_by_key(|grant| grant.origin);
    grants
}

/// Carries out what is due at a host.
fn drive(host: &mut HostTickets<AllTicketRules>, words: &mut TicketWords) -> Vec<Grant> {
    let mut grants = Vec::new();
    host.poll();
    while let Some((_, access)) = host.next() {
        let value = words.carry_out(access).expect("the word is there");
        host.answer(value, &mut grants).expect("the words are right");
    }
    grants
}

/// A rank of a node: its side of the lock, and the access that it carries out.
struct Side {
    lock: TicketLock<AllTicketRules>,
    due: Option<Access>,
    mode: Mode,
}

/// Ranks of one node, and their words.
struct Node {
    words: TicketWords,
    sides: Vec<Side>,
    list: List,
    grants: u32,
}

impl Node {
    fn new(first: u64) -> Self {
        let side = |rank| Side { lock: TicketLock::new(RankId(rank)), due: None, mode: Mode::Shared };
        Self {
            words: TicketWords::starting_at(first, RANKS),
            sides: (0..RANKS).map(side).collect(),
            list: List::default(),
            grants: 0,
        }
    }

    /// Carries out the access of a rank. If none is due, the rank requests the lock, releases it, or looks again.
    fn step(&mut self, origin: RankId, request: Option<Mode>, gives_up: bool) {
        let side = &mut self.sides[origin.0 as usize];
        let Some(access) = side.due.take() else {
            if side.lock.held().is_some() {
                assert!(self.list.release(origin), "it holds the lock");
                side.due = Some(side.lock.release().expect("it holds the lock"));
            } else if let (true, Some(mode)) = (side.lock.is_idle(), request) {
                side.mode = mode;
                side.due = Some(side.lock.request(mode).expect("it has no ticket"));
            } else {
                // A request that is given up stays in the list: its ticket comes to its turn.
                let _ = gives_up && side.lock.give_up();
                side.due = side.lock.poll();
            }
            return;
        };
        let value = self.words.carry_out(access).expect("the word is there");
        if access == Access::Increment(Word::Next) {
            assert!(self.list.request(origin, side.mode));
        }
        match side.lock.answer(value).expect("the words are right") {
            Progress::Access(next) => {
                side.due = Some(next);
                let leaves = matches!(next, Access::Increment(_)) && side.lock.waiting_ticket().is_none();
                if leaves && next != Access::Increment(Word::Next) && self.list.has(origin) {
                    assert!(self.list.release(origin), "{origin} passes its turn on before it has come");
                }
            }
            Progress::Waits | Progress::Released | Progress::Lost => {}
            Progress::Granted => {
                self.grants += 1;
                assert!(self.list.holds(origin), "{origin} is granted the lock before its turn");
            }
        }
    }
}

proptest! {
    #[test]
    fn the_queue_is_the_list(inputs in vec(input(), 0..120)) {
        let (mut lock, mut list) = (LockManager::<AllLockRules>::new(RANKS), List::default());
        for input in inputs {
            let (before, mut grants) = (list.holders(), Vec::new());
            match input {
                Input::Request(origin, mode) => {
                    prop_assert_eq!(lock.request(origin, mode, &mut grants).is_ok(), list.request(origin, mode));
                }
                Input::Release(origin) => {
                    prop_assert_eq!(lock.release(origin, &mut grants).is_ok(), list.release(origin));
                }
                Input::Die(origin) if list.is_dead(origin) => continue,
                Input::Die(origin) => prop_assert_eq!(lock.died(origin, &mut grants), Ok(list.died(origin))),
            }
            // Grants come in the order of the list, each once.
            let new: Vec<Grant> = list.holders().into_iter().filter(|holder| !before.contains(holder)).collect();
            prop_assert_eq!(grants, new);
            prop_assert_eq!(lock.holders().collect::<Vec<_>>(), by_rank(list.holders()));
            prop_assert_eq!(lock.waiting().collect::<Vec<_>>(), list.waiting());
            prop_assert_eq!(lock.is_free(), list.holders().is_empty());
            let dead = list.holders().into_iter().filter(|holder| list.is_dead(holder.origin)).collect();
            prop_assert_eq!(lock.dead_holders().collect::<Vec<_>>(), by_rank(dead));
        }
    }

    #[test]
    fn the_tickets_of_a_host_are_the_list(first: u64, inputs in vec(input(), 0..120)) {
        let (mut host, mut list) = (HostTickets::new(RANKS), List::default());
        let mut words = TicketWords::starting_at(first, RANKS);
        for input in inputs {
            let before = list.holders();
            match input {
                // A ticket of a dead origin that waits is in the way until its turn, which changes no grant.
                Input::Request(origin, mode) => {
                    prop_assert_eq!(host.request(origin, mode).is_ok(), list.request(origin, mode));
                }
                Input::Release(origin) => {
                    prop_assert_eq!(host.release(origin).is_ok(), list.release(origin));
                }
                Input::Die(origin) if list.is_dead(origin) => continue,
                // As the queue, but that a request which waits holds up those behind it until its turn.
                Input::Die(origin) if list.has(origin) && !list.holds(origin) => continue,
                Input::Die(origin) => prop_assert_eq!(host.died(origin), Ok(list.died(origin))),
            }
            let new: Vec<Grant> = list.holders().into_iter().filter(|holder| !before.contains(holder)).collect();
            prop_assert_eq!(drive(&mut host, &mut words), new);
            prop_assert_eq!(host.holders().collect::<Vec<_>>(), by_rank(list.holders()));
            let waiting: Vec<RankId> = list.waiting().into_iter().map(|request| request.origin).collect();
            prop_assert_eq!(host.waiting().collect::<Vec<_>>(), waiting);
        }
    }

    /// Accesses of all ranks of a node, in any order, across the wrap of the counters.
    #[test]
    fn the_tickets_of_a_node_are_the_list(
        back in 0..40_u64,
        steps in vec((origin(), mode(), prop::bool::weighted(0.02)), 0..600),
    ) {
        let first = 0_u64.wrapping_sub(back);
        let mut node = Node::new(first);
        for (origin, mode, gives_up) in steps {
            node.step(origin, Some(mode), gives_up);
        }
        // Without further requests, each that waits is granted.
        for _ in 0..40 * RANKS {
            (0..RANKS).for_each(|rank| node.step(RankId(rank), None, false));
        }
        prop_assert!(node.sides.iter().all(|side| side.lock.is_idle()), "somebody waits for ever");
        let mut expected = TicketWords::starting_at(first, RANKS);
        while expected.carry_out(Access::Load(Word::Next)) != node.words.carry_out(Access::Load(Word::Next)) {
            for word in [Word::Next, Word::WriteServing, Word::ReadServing] {
                expected.carry_out(Access::Increment(word));
            }
        }
        prop_assert_eq!(node.words, expected);
    }
}
