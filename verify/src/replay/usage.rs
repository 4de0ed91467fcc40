//! Calls of a program that MPI forbids, although the model can follow them: members of a communicator that call
//! different collectives, and messages that are never received.
//!
//! Members agree in the n-th collective of a communicator, whenever each calls it; so each call is compared with that
//! of the member that came first, and forgotten once all have come. Of the messages from one rank to another with one
//! tag, in one communicator, receives take the oldest one first (MPI-4.1, 3.5). So the messages that are left in the
//! end are the last ones that were sent, and their lines are known without knowing which message each receive has
//! got.

use super::tell::among;
use carrousel_rank::{Collective, Communicator, Context, Envelope, RankId, Send, Signature, Tag};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;
use std::rc::Rc;

/// Sends of one kind whose lines are kept: the last ones.
const LINES: usize = 64;
/// Kinds of sends whose lines are kept without asking which of them are still to be received.
const STREAMS: usize = 1024;

/// What MPI forbids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MpiUsageError {
    /// Two members of a communicator have called different collectives, as their n-th. Only the first such
    /// collective of a communicator is told: what follows it need not match any more.
    Collectives {
        /// The communicator's number.
        communicator: u16,
        /// The two calls.
        calls: [CollectiveCall; 2],
    },
    /// A rank has left its job without having received messages.
    NotReceived {
        /// The sender.
        from: u32,
        /// The rank that has not received them.
        to: u32,
        /// Their tag.
        tag: u64,
        /// The tag in words of the MPI library, in a trace of endpoints inside one.
        #[serde(skip_serializing_if = "Option::is_none")]
        host_tag: Option<String>,
        /// The communicator's number.
        communicator: u16,
        /// Bytes of the first of them.
        bytes: u64,
        /// How many there are.
        count: u64,
        /// Where the first of them was sent.
        place: CallSite,
    },
}

/// A call of a collective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CollectiveCall {
    /// The calling rank.
    pub rank: u32,
    /// What.
    pub call: String,
    /// Where.
    #[serde(flatten)]
    pub place: CallSite,
}

/// A line of a program, as far as the trace says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallSite {
    /// The file.
    pub file: Option<Rc<str>>,
    /// The line, from 1; 0 is the end of the file.
    pub line: Option<u32>,
}

/// ` at src/main.rs:12`; nothing, if it is not known.
impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(0)) => write!(f, " at the end of {file}"),
            (Some(file), Some(line)) => write!(f, " at {file}:{line}"),
            (None, Some(line)) => write!(f, " at line {line} of its program"),
            (_, None) => Ok(()),
        }
    }
}

impl fmt::Display for MpiUsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collectives { communicator, calls: [one, other] } => {
                let among = among(*communicator);
                let (here, there) = (&one.place, &other.place);
                write!(f, "collectives{among} do not agree: rank {} calls {}{here}, ", one.rank, one.call)?;
                write!(f, "rank {} calls {}{there}", other.rank, other.call)
            }
            Self::NotReceived { from, to, tag, host_tag, communicator, bytes, count, place } => {
                let plain = || format!("tag {tag}{}", among(*communicator));
                let tag = host_tag.clone().unwrap_or_else(plain);
                let noun = if *bytes == 1 { "byte" } else { "bytes" };
                write!(f, "rank {to} has not received a message of {bytes} {noun} with {tag}, ")?;
                write!(f, "which rank {from} has sent{place}")?;
                if *count > 1 { write!(f, ", nor {} more like it", count - 1) } else { Ok(()) }
            }
        }
    }
}

/// A communicator of certain ranks. Communicators without a common rank may have the same number, and a number may be
/// used again: for the same ranks, the count of earlier uses distinguishes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Group {
    number: u16,
    members: Rc<[u32]>,
    before: u32,
}

/// The progress of the members of a communicator.
#[derive(Debug, Default)]
struct Calls {
    /// How many collectives all have called.
    over: u64,
    /// For each later one: the member that called it first, and how many have.
    open: VecDeque<(u32, Signature, CallSite, usize)>,
    /// Members have disagreed.
    differ: bool,
}

/// Messages of one rank to another with one tag, in one communicator.
type Stream = (RankId, RankId, Context, Tag);

/// The calls of the ranks of a trace.
#[derive(Debug)]
pub(super) struct Usage {
    world: Rc<[u32]>,
    /// By rank and number: the communicators that have it now.
    groups: HashMap<(u32, u16), Group>,
    /// How often each rank has made a communicator of a number and these members known.
    defined: HashMap<(u32, u16, Rc<[u32]>), u32>,
    /// How many collectives each rank has called in a communicator.
    called: HashMap<(u32, Group), u64>,
    calls: HashMap<Group, Calls>,
    /// Where the last messages of a stream were sent.
    sends: HashMap<Stream, VecDeque<CallSite>>,
    /// With so many streams, those whose messages were received are forgotten.
    most: usize,
    misuses: Vec<MpiUsageError>,
}

impl Usage {
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            world: (0..ranks).collect(),
            groups: HashMap::new(),
            defined: HashMap::new(),
            called: HashMap::new(),
            calls: HashMap::new(),
            sends: HashMap::new(),
            most: STREAMS,
            misuses: Vec::new(),
        }
    }

    /// A rank has made a communicator known.
    pub(super) fn define(&mut self, rank: u32, communicator: Communicator, members: &[u32]) {
        let (number, members) = (communicator.index(), Rc::<[u32]>::from(members));
        let times = self.defined.entry((rank, number, Rc::clone(&members))).or_default();
        let before = *times;
        *times += 1;
        self.groups.insert((rank, number), Group { number, members, before });
    }

    /// A rank has sent.
    pub(super) fn send(&mut self, rank: u32, send: &Send, place: &CallSite) {
        let stream = (RankId(rank), send.to, send.communicator.messages(), send.tag);
        let places = self.sends.entry(stream).or_default();
        if places.len() == LINES {
            places.pop_front();
        }
        places.push_back(place.clone());
    }

    /// Whether there are so many streams that [`Self::keep`] has to be called.
    pub(super) fn is_full(&self) -> bool {
        self.sends.len() >= self.most
    }

    /// Keeps the streams of the messages that have not been received, and forgets the others: a program may use any
    /// number of tags.
    pub(super) fn keep(&mut self, left: impl Iterator<Item = (RankId, Envelope)>) {
        let left: HashSet<Stream> =
            left.map(|(to, Envelope { source, tag, context })| (source, to, context, tag)).collect();
        self.sends.retain(|stream, _| left.contains(stream));
        self.most = STREAMS.max(2 * self.sends.len());
    }

    /// A rank has called a collective.
    pub(super) fn collective(&mut self, rank: u32, call: &Collective, place: &CallSite) {
        let number = call.communicator.index();
        let world = || Group { number, members: Rc::clone(&self.world), before: 0 };
        let group = self.groups.get(&(rank, number)).cloned().unwrap_or_else(world);
        let (members, signature) = (Rc::clone(&group.members), call.signature());
        let calls = self.calls.entry(group.clone()).or_default();
        let called = self.called.entry((rank, group)).or_default();
        // All ranks have called the finished ones, so this rank is not behind them.
        let at = called.saturating_sub(calls.over) as usize;
        *called += 1;
        if calls.open.len() == at {
            calls.open.push_back((rank, signature, place.clone(), 0));
        }
        let Some((first, expected, there, come)) = calls.open.get_mut(at) else { return };
        *come += 1;
        if *expected != signature && !calls.differ {
            calls.differ = true;
            let told = |rank: u32, signature: Signature, place: &CallSite| CollectiveCall {
                rank,
                call: signature.to_string(),
                place: place.clone(),
            };
            let calls = [told(*first, *expected, there), told(rank, signature, place)];
            self.misuses.push(MpiUsageError::Collectives { communicator: number, calls });
        }
        while calls.open.front().is_some_and(|(.., come)| *come >= members.len()) {
            calls.open.pop_front();
            calls.over += 1;
        }
    }

    /// All misuses, with the messages that ranks have left behind: their receivers, envelopes and lengths.
    pub(super) fn end(mut self, left: impl Iterator<Item = (RankId, Envelope, u64)>) -> Vec<MpiUsageError> {
        let mut streams: BTreeMap<Stream, (u64, u64)> = BTreeMap::new();
        for (to, Envelope { source, tag, context }, bytes) in left {
            streams.entry((source, to, context, tag)).or_insert((bytes, 0)).1 += 1;
        }
        for (stream, (bytes, count)) in streams {
            let (RankId(from), RankId(to), Context(context), Tag(tag)) = stream;
            let places = self.sends.get(&stream);
            let first = places.and_then(|places| places.get(places.len().checked_sub(count as usize)?));
            let (communicator, place) = (context / 2, first.cloned().unwrap_or_default());
            self.misuses.push(MpiUsageError::NotReceived {
                from,
                to,
                tag,
                host_tag: None,
                communicator,
                bytes,
                count,
                place,
            });
        }
        self.misuses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_rank::Memory;

    #[test]
    fn lines_are_kept_of_what_has_not_been_received_however_many_tags_there_are() {
        let mut usage = Usage::new(2);
        let left = |tag| {
            let context = Communicator::WORLD.messages();
            (RankId(1), Envelope { source: RankId(0), tag: Tag(tag), context })
        };
        for tag in 0..10 * STREAMS as u64 {
            let memory = Memory { address: 0, key: 0 };
            let (to, communicator) = (RankId(1), Communicator::WORLD);
            let send =
                Send { to, tag: Tag(tag), communicator, len: 8, memory, synchronous: false, data: None };
            usage.send(0, &send, &CallSite { file: None, line: Some(tag as u32 + 1) });
            if usage.is_full() {
                usage.keep([left(7), left(tag)].into_iter());
            }
            assert!(usage.sends.len() <= STREAMS, "{}", usage.sends.len());
        }
        let left = left(7);
        let misuses = usage.end([(left.0, left.1, 8)].into_iter());
        let [MpiUsageError::NotReceived { tag: 7, count: 1, place, .. }] = &misuses[..] else {
            panic!("{misuses:?}")
        };
        assert_eq!(place.line, Some(8));
    }
}
