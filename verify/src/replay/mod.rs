//! Replays the trace of a real job, and says whether the model allows it.
//!
//! Each part of a trace is fed to a [`Rank`](carrousel_rank::Rank) with the options of the real one. Its outputs go
//! into the network that the checker explores, and every packet and completion of the part has to come out of it, as
//! the oldest item of its channel. Every answer that the application got has to be the answer of this rank, too.
//!
//! **The order in which the ranks are replayed does not matter.** One rank puts items into a channel, in the order of
//! its part, and one takes them out, in the order of its own. So the sequence of items in a channel does not depend
//! on how far each rank is, only whether an item is there yet; and a rank whose item is not there yet waits. An item
//! that comes out at one rank delays no other rank. Hence a trace is either replayed to its end in every order, or in
//! none.
//!
//! **What this cannot see.** Memory: bytes that arrive changed, late, or outside their buffer. Real networks may put
//! data into memory before the packets that precede it; the model's lands together with the packet behind it, and
//! ranks are told of packets only. Calls without an effect are not in a trace: a `test` that failed, a probe that
//! found nothing. A packet that never arrived is no departure either: a network may take any time, so the last
//! packets of a part may be missing unless an answer needs them.
//!
//! **Inside another MPI library** each endpoint numbers its peers itself. Its state machine is fed these numbers; to the
//! network, and in words, they are the ranks of the trace (`numbers`). Peers at addresses where nobody has recorded are
//! further ranks, of which nothing is known.
//!
//! A part that is cut short says nothing of what its rank did afterwards. A rank that needs an item from behind the
//! cut cannot be followed any further, which is reported as a [`Gap`].

mod numbers;
mod player;
mod report;
mod tell;
mod usage;

pub use self::report::{Departure, EndpointName, Gap, ReplayProgress, ReplayReport, ReplayVerdict, Why};
pub use self::usage::{CallSite, CollectiveCall, MpiUsageError};

use self::numbers::Addresses;
use self::player::{Player, Stop};
use self::usage::Usage;
use crate::network::Network;
use carrousel_rank::{Options, Tag, TagSelector};
use carrousel_trace::{Trace, TraceEnd, TraceError, TracePart};
use std::collections::BTreeSet;
use std::path::Path;

/// With more items in flight than this, a rank lets the others catch up, because the network is searched for each
/// item.
const IN_FLIGHT: usize = 256;

/// Replays a trace.
///
/// # Errors
/// When a part holds what is no record.
pub fn check(trace: Trace, progress: &dyn Fn(ReplayProgress)) -> Result<ReplayReport, TraceError> {
    let Trace { ranks, options, command, parts, bytes, addresses } = trace;
    let mut replay = Replay::new(ranks, options, parts, Addresses::new(addresses, ranks));
    let departure = replay.run(&|records, read| progress(ReplayProgress { records, read, bytes }))?;
    let gaps = if departure.is_some() { Vec::new() } else { replay.gaps() };
    let verdict = match (&departure, &gaps[..]) {
        (Some(_), _) => ReplayVerdict::Departed,
        (None, []) => ReplayVerdict::Allowed,
        (None, _) => ReplayVerdict::Incomplete,
    };
    let sum = |count: fn(&Player) -> u64| replay.players.iter().map(count).sum();
    let [calls, events, answers] = [
        sum(|player| player.counts.calls),
        sum(|player| player.counts.events),
        sum(|player| player.counts.answers),
    ];
    Ok(ReplayReport {
        verdict,
        command,
        ranks: replay.players.len() as u32,
        endpoints: replay.endpoints(),
        calls,
        events,
        answers,
        misuses: replay.misuses(departure.is_some()),
        departure,
        gaps,
    })
}

/// The ranks, and the network between them.
struct Replay {
    players: Vec<Player>,
    network: Network,
    usage: Usage,
    addresses: Addresses,
    options: Options,
}

impl Replay {
    fn new(ranks: u32, options: Options, parts: Vec<Option<TracePart>>, addresses: Addresses) -> Self {
        let players = parts.into_iter().enumerate();
        let players = players.map(|(me, part)| Player::new(me as u16, ranks, &options, part)).collect();
        Self { players, network: Network::default(), usage: Usage::new(ranks), addresses, options }
    }

    /// Peers at addresses where nobody has recorded are ranks without a part.
    fn add_strangers(&mut self) {
        for me in self.players.len() as u32..self.addresses.count() {
            self.players.push(Player::new(me as u16, me + 1, &self.options, None));
        }
    }

    /// The ranks by name, in a trace of endpoints.
    fn endpoints(&self) -> Vec<EndpointName> {
        let strangers = self.addresses.strangers();
        let first = self.players.len() - strangers.len();
        let recorded = self.players.iter().filter_map(|player| {
            let endpoint = player.numbers().endpoint()?;
            Some(EndpointName {
                rank: player.me.into(),
                part: player.path().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()),
                address: endpoint.address.clone(),
                process: Some(endpoint.process),
                host: endpoint.host.clone(),
            })
        });
        let others = (first as u32..).zip(strangers).map(|(rank, address)| EndpointName {
            rank,
            part: None,
            address: address.clone(),
            process: None,
            host: None,
        });
        recorded.chain(others).collect()
    }

    /// Replays as far as possible. Returns where the job has left the model, if it has.
    fn run(&mut self, progress: &dyn Fn(u64, u64)) -> Result<Option<Departure>, TraceError> {
        let mut most = IN_FLIGHT;
        loop {
            let before = self.records();
            let mut crowded = false;
            for player in 0..self.players.len() {
                let of_all = (&mut self.usage, &mut self.addresses);
                let stop = self.players[player].turn(&mut self.network, of_all, most)?;
                self.add_strangers();
                crowded |= matches!(stop, Stop::Crowded);
                if let Stop::Departed(departure) = stop {
                    return Ok(Some(departure));
                }
                if self.usage.is_full() {
                    self.forget_what_was_received();
                }
            }
            let after = self.records();
            progress(after, self.players.iter().map(Player::read).sum());
            if after > before {
                continue;
            }
            if !crowded {
                return Ok(self.never_sent());
            }
            // So many items really were in flight at once.
            most *= 2;
        }
    }

    fn forget_what_was_received(&mut self) {
        let arrived = self.players.iter().flat_map(Player::unexpected);
        let on_the_way = player::on_the_way(&self.network).map(|(to, envelope, _)| (to, envelope));
        self.usage.keep(arrived.chain(on_the_way));
    }

    fn records(&self) -> u64 {
        self.players.iter().map(|player| player.counts.all()).sum()
    }

    /// Ranks of which it is not known what they did next.
    fn unknown(&self) -> BTreeSet<u16> {
        let gone = |player: &&Player| player.needs().is_none() && !player.is_whole();
        let mut unknown: BTreeSet<u16> = self.players.iter().filter(gone).map(|player| player.me).collect();
        loop {
            let follows = |player: &&Player| player.needs().is_some_and(|peer| unknown.contains(&peer));
            let more: Vec<u16> = self.players.iter().filter(follows).map(|player| player.me).collect();
            let before = unknown.len();
            unknown.extend(more);
            if unknown.len() == before {
                return unknown;
            }
        }
    }

    /// No rank can go on. A rank that needs a packet which no rank behind a gap could have sent has left the model.
    fn never_sent(&self) -> Option<Departure> {
        let unknown = self.unknown();
        let stuck = || self.players.iter().filter(|player| !unknown.contains(&player.me));
        let has_ended = |peer: u16| self.players[usize::from(peer)].needs().is_none();
        let mut stuck_on_ended = stuck().filter(|player| player.needs().is_some_and(has_ended));
        let first = stuck_on_ended.next().or_else(|| stuck().find(|player| player.needs().is_some()));
        first.map(Player::never_sent)
    }

    /// Calls of the program that MPI forbids. Messages that were not received are known only if the whole trace was
    /// followed, not if the job has left the model.
    fn misuses(self, departed: bool) -> Vec<MpiUsageError> {
        let Self { players, network, usage, .. } = self;
        let followed = players.iter().filter(|_| !departed);
        let mut misuses = usage.end(followed.flat_map(|player| player.left_behind(&network)));
        for misuse in &mut misuses {
            if let MpiUsageError::NotReceived { to, tag, communicator, host_tag, .. } = misuse {
                let numbers = players.get(*to as usize).map(Player::numbers);
                let numbers = numbers.filter(|numbers| numbers.endpoint().is_some());
                let tag = TagSelector::exact(Tag(*tag));
                *host_tag = numbers.map(|numbers| numbers.selector(tag, *communicator));
            }
        }
        misuses
    }

    fn gaps(&self) -> Vec<Gap> {
        let gap = |player: &Player| {
            let why = match (player.needs(), player.line()) {
                (Some(peer), _) => Why::Needs(peer.into()),
                (None, None) => Why::Missing,
                (None, Some(_)) => match player.end() {
                    None => Why::Cut,
                    Some(TraceEnd::Limit) => Why::Limit,
                    Some(TraceEnd::Finalized | TraceEnd::Left) => return None,
                },
            };
            // That it is over is a record, too.
            let record = player.replayed() - u64::from(why == Why::Limit);
            Some(Gap { rank: player.me.into(), record, why })
        };
        self.players.iter().filter_map(gap).collect()
    }
}
