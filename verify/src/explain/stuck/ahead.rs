//! The statements that stuck ranks have still ahead, collected once: each of many thousand ranks may ask what all the
//! others would send, receive or enter.

use crate::explain::names::Names;
use crate::explain::wording::ranks;
use crate::program::{Act, Later, Program, Start};
use crate::state::State;
use carrousel_rank::{Communicator, Protocol, RankId, Source, TagSelector, mpi};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// The statements that ranks have not reached, by what others wait for: the first such step of each rank.
pub(super) struct Ahead {
    /// By receiver, communicator, tag and sender; under no tag, whatever the tag is.
    sends: BTreeMap<(u16, Communicator, Option<u32>, u16), usize>,
    /// By receiver, communicator and sender: sends whose tag is known only at run time.
    sends_of_any_tag: BTreeMap<(u16, Communicator, u16), usize>,
    /// By sender and tag: sends whose receiver is known only at run time, and perhaps the tag, too.
    sends_to_any: BTreeMap<(u16, Option<u32>), usize>,
    /// The senders of these that may have a tag, or any; found when it is asked for.
    senders_to_any: RefCell<HashMap<Option<u32>, Rc<Ranks>>>,
    /// By receiver, communicator, source and tag; nothing stands for any.
    receives: HashMap<(u16, Communicator, Option<u32>, Option<u32>), usize>,
    /// By rank: how many collectives of a communicator it has entered, and has in all.
    collectives: Vec<BTreeMap<Communicator, (usize, usize)>>,
    /// By communicator, its first member, and number of a collective, from 1: the members that have not entered it.
    missing: RefCell<HashMap<(Communicator, u16, usize), Rc<Missing>>>,
}

/// Some ranks, and their names in a sentence.
pub(super) struct Ranks {
    pub(super) list: Rc<[u16]>,
    pub(super) name: String,
}

impl Ranks {
    pub(super) fn new(list: Vec<u16>) -> Self {
        Self { name: if list.is_empty() { String::new() } else { ranks(&list) }, list: list.into() }
    }
}

/// The communicator and the tag of a message that is waited for.
pub(super) type Wanted = (Communicator, TagSelector);

/// The members that have not entered a collective.
pub(super) struct Missing {
    pub(super) all: Ranks,
    /// Ranks that have finished.
    pub(super) gone: Ranks,
    /// Ranks that have a statement that enters it.
    pub(super) coming: Rc<[u16]>,
    /// Ranks that have not finished, and have no such statement.
    pub(super) never: Ranks,
}

impl Ahead {
    pub(super) fn new<P: Protocol>(names: &Names<'_>, state: &State<P>) -> Self {
        let mut ahead = Self {
            sends: BTreeMap::new(),
            sends_of_any_tag: BTreeMap::new(),
            sends_to_any: BTreeMap::new(),
            senders_to_any: RefCell::default(),
            receives: HashMap::new(),
            collectives: Vec::with_capacity(state.procs.len()),
            missing: RefCell::default(),
        };
        for (rank, proc) in state.ranks() {
            let Some(program) = names.program(rank) else { continue };
            let mut collectives: BTreeMap<Communicator, (usize, usize)> = BTreeMap::new();
            for (pc, step) in program.steps.iter().enumerate() {
                let Act::Start(ordinal) = step.act else { continue };
                let start = program.starts.get(usize::from(ordinal));
                let is_ahead = pc >= usize::from(proc.pc);
                match start {
                    Some(Start::Collective { communicator, .. }) => {
                        let (entered, in_all) = collectives.entry(*communicator).or_default();
                        *in_all += 1;
                        *entered += usize::from(!is_ahead);
                    }
                    Some(Start::Later(index)) if is_ahead => {
                        if let Some(later) = program.later.get(usize::from(*index)) {
                            ahead.later(rank, pc, later);
                        }
                    }
                    Some(start) if is_ahead => ahead.start(rank, pc, start),
                    _ => {}
                }
            }
            ahead.collectives.push(collectives);
        }
        ahead
    }

    fn start(&mut self, rank: u16, pc: usize, start: &Start) {
        match *start {
            Start::Send { to, tag, communicator, .. } => {
                self.sends.entry((to as u16, communicator, Some(tag), rank)).or_insert(pc);
                self.sends.entry((to as u16, communicator, None, rank)).or_insert(pc);
            }
            Start::Receive { from, tag, communicator, .. } => {
                let key = (rank, communicator, rank_of(from), mpi::named(tag));
                self.receives.entry(key).or_insert(pc);
            }
            Start::Collective { .. } | Start::Synchronize(_) | Start::Access(_) | Start::Later(_) => {}
        }
    }

    /// A statement with values that are not known yet may be the one that is waited for.
    fn later(&mut self, rank: u16, pc: usize, later: &Later) {
        let communicator = later.deferred.communicator();
        match (later.sends, later.to()) {
            (true, Some(to)) => match later.tag() {
                None => _ = self.sends_of_any_tag.entry((to as u16, communicator, rank)).or_insert(pc),
                Some(tag) => {
                    self.sends.entry((to as u16, communicator, Some(tag), rank)).or_insert(pc);
                    self.sends.entry((to as u16, communicator, None, rank)).or_insert(pc);
                }
            },
            (true, None) => _ = self.sends_to_any.entry((rank, later.tag())).or_insert(pc),
            (false, _) => {
                let from = later.from().and_then(rank_of);
                self.receives.entry((rank, communicator, from, None)).or_insert(pc);
            }
        }
    }

    /// The next step of a rank that may send another one such a message.
    pub(super) fn send(&self, from: u16, to: u16, (communicator, tag): Wanted) -> Option<usize> {
        let known = self.sends.get(&(to, communicator, mpi::named(tag), from));
        let of_any_tag = self.sends_of_any_tag.get(&(to, communicator, from));
        let to_any = self.sends_to_any.range((from, None)..=(from, Some(u32::MAX)));
        let to_any = to_any.filter(|((_, sent), _)| may_be(*sent, tag)).map(|(_, pc)| pc);
        to_any.chain([known, of_any_tag].into_iter().flatten()).min().copied()
    }

    /// The ranks that may send a rank such a message: some ranks of its own, or all of those that may send to any.
    pub(super) fn senders(&self, to: u16, (communicator, tag): Wanted) -> (Vec<u16>, Rc<Ranks>) {
        let key = |from| (to, communicator, mpi::named(tag), from);
        let known = self.sends.range(key(0)..=key(u16::MAX)).map(|((.., from), _)| *from);
        let key = |from| (to, communicator, from);
        let of_any_tag = self.sends_of_any_tag.range(key(0)..=key(u16::MAX)).map(|((.., from), _)| *from);
        let mut own: Vec<u16> = known.chain(of_any_tag).collect();
        own.sort_unstable();
        own.dedup();
        let find = || {
            let all = self.sends_to_any.keys().filter(|(_, sent)| may_be(*sent, tag));
            let mut ranks: Vec<u16> = all.map(|(from, _)| *from).collect();
            ranks.dedup();
            Rc::new(Ranks::new(ranks))
        };
        let mut found = self.senders_to_any.borrow_mut();
        let to_any = Rc::clone(found.entry(mpi::named(tag)).or_insert_with(find));
        own.retain(|from| to_any.list.binary_search(from).is_err());
        (own, to_any)
    }

    /// The next step of a rank that may receive a message of this source with this tag.
    pub(super) fn receive(
        &self,
        rank: u16,
        from: RankId,
        (communicator, tag): (Communicator, u32),
    ) -> Option<usize> {
        let sources = [Some(from.0), None].into_iter();
        let keys = sources.flat_map(|from| [Some(tag), None].map(|tag| (rank, communicator, from, tag)));
        keys.filter_map(|key| self.receives.get(&key)).min().copied()
    }

    /// The members that have not entered the collective of this number, from 1, of a communicator of `program`.
    pub(super) fn missing(
        &self,
        program: &Program,
        communicator: Communicator,
        number: usize,
        is_finished: impl Fn(u16) -> bool,
    ) -> Rc<Missing> {
        let calls = |rank: u16| {
            let its = self.collectives.get(usize::from(rank)).and_then(|all| all.get(&communicator));
            its.copied().unwrap_or_default()
        };
        let find = || {
            let ranks = (0..=u16::MAX).take(self.collectives.len());
            let late = ranks.filter(|rank| program.is_member(communicator, *rank) && calls(*rank).0 < number);
            let all: Vec<u16> = late.collect();
            let (gone, rest): (Vec<u16>, Vec<u16>) = all.iter().partition(|rank| is_finished(**rank));
            let is_coming = |rank: &&u16| calls(**rank).1 >= number;
            let (coming, never): (Vec<u16>, Vec<u16>) = rest.iter().partition(is_coming);
            Rc::new(Missing {
                all: Ranks::new(all),
                gone: Ranks::new(gone),
                coming: coming.into(),
                never: Ranks::new(never),
            })
        };
        let key = (communicator, program.rank_in(communicator, 0), number);
        Rc::clone(self.missing.borrow_mut().entry(key).or_insert_with(find))
    }
}

/// Whether a message may have a tag that is waited for; nothing is a tag that is not known yet.
fn may_be(sent: Option<u32>, wanted: TagSelector) -> bool {
    sent.is_none_or(|sent| wanted.matches(mpi::tag(sent)))
}

fn rank_of(source: Source) -> Option<u32> {
    match source {
        Source::Rank(rank) => Some(rank.0),
        Source::Any => None,
    }
}
