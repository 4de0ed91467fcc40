//! Replays what the ranks of a real job were given, and says whether the model allows it.
//!
//! Each part of a trace is fed to a [`Rank`](carrousel_rank::Rank) that is made as the real one was. What it asks
//! for goes into the network that the checker explores, and every packet and completion of the part has to come out
//! of it: as the oldest thing on its route. Every answer that the application got has to be the answer here, too.
//!
//! **Any order in which the ranks take turns will do.** A route has one end that puts in, in the order of that
//! rank's part, and one that takes out, in the order of another's. So what is the oldest thing on a route does not
//! depend on who has come how far, only whether it is there yet; and a rank that finds nothing yet is held up, not
//! refused. What has come out at one rank holds nothing up at another. Hence a trace is either replayed to its end
//! in every order, or in none.
//!
//! **What this cannot see.** Memory: bytes that arrive changed, or late, or beside their buffer. Real networks may
//! put data into memory before the packets that precede it; the model's lands together with the packet behind it,
//! and ranks are told of packets only. Questions that change nothing are not in a trace unless they were answered: a
//! `test` that failed, a probe that found nothing. That something never came is not wrong either: a network may take
//! any time, so the last packets of a part may be missing unless an answer needs them.
//!
//! A part that is cut short says nothing of what its rank did then. Who needs something from behind the cut cannot
//! be followed any further, which is told as a [`Gap`].

mod player;
mod report;
mod tell;
mod usage;

pub use self::report::{Departure, Gap, Progress, Report, Verdict, Why};
pub use self::usage::{CollectiveCall, Misuse, Place};

use self::player::{Player, Stop};
use self::usage::Usage;
use crate::network::Network;
use carrousel_rank::{Job, Options};
use carrousel_trace::{Trace, TraceError, TracePart};
use std::collections::BTreeSet;

/// Things in flight above which a rank lets the others catch up: the network is searched for each.
const IN_FLIGHT: usize = 256;

/// Replays a trace.
///
/// # Errors
/// When a part holds what is no record.
pub fn check(trace: Trace, progress: &dyn Fn(Progress)) -> Result<Report, TraceError> {
    let Trace { ranks, options, command, parts, bytes } = trace;
    let mut replay = Replay::new(ranks, &options, parts);
    let departure = replay.run(&|records, read| progress(Progress { records, read, bytes }))?;
    let gaps = if departure.is_some() { Vec::new() } else { replay.gaps() };
    let verdict = match (&departure, &gaps[..]) {
        (Some(_), _) => Verdict::Departed,
        (None, []) => Verdict::Allowed,
        (None, _) => Verdict::Incomplete,
    };
    let sum = |count: fn(&Player) -> u64| replay.players.iter().map(count).sum();
    let [calls, events, answers] = [
        sum(|player| player.counts.calls),
        sum(|player| player.counts.events),
        sum(|player| player.counts.answers),
    ];
    Ok(Report {
        verdict,
        command,
        ranks,
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
}

impl Replay {
    fn new(ranks: u32, options: &Options, parts: Vec<Option<TracePart>>) -> Self {
        let job = Job { ranks };
        let players = parts.into_iter().enumerate();
        let players = players.map(|(me, part)| Player::new(me as u16, &job, options, part));
        Self { players: players.collect(), network: Network::default(), usage: Usage::new(ranks) }
    }

    /// Replays as far as possible. Returns where reality left the model, if it did.
    fn run(&mut self, progress: &dyn Fn(u64, u64)) -> Result<Option<Departure>, TraceError> {
        let mut most = IN_FLIGHT;
        loop {
            let before = self.records();
            let mut crowded = false;
            for player in 0..self.players.len() {
                let stop = self.players[player].turn(&mut self.network, &mut self.usage, most)?;
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
            // What is in flight really was, all at once.
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
        let gone = |player: &&Player| player.needs().is_none() && player.end().is_none();
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

    /// Nobody can go on. A rank that needs what nobody behind a gap could have sent has left the model.
    fn never_sent(&self) -> Option<Departure> {
        let unknown = self.unknown();
        let stuck = || self.players.iter().filter(|player| !unknown.contains(&player.me));
        let has_ended = |peer: u16| self.players[usize::from(peer)].needs().is_none();
        let mut stuck_on_ended = stuck().filter(|player| player.needs().is_some_and(has_ended));
        let first = stuck_on_ended.next().or_else(|| stuck().find(|player| player.needs().is_some()));
        first.map(Player::never_sent)
    }

    /// What the program did that MPI forbids. What has not been received is known once all has been followed that
    /// could be: not where reality has left the model.
    fn misuses(self, departed: bool) -> Vec<Misuse> {
        let Self { players, network, usage } = self;
        let players = players.iter().filter(|_| !departed);
        usage.end(players.flat_map(|player| player.left_behind(&network)))
    }

    fn gaps(&self) -> Vec<Gap> {
        let gap = |player: &Player| {
            let why = match (player.needs(), player.line()) {
                (Some(peer), _) => Why::Needs(peer.into()),
                (None, None) => Why::Missing,
                (None, Some(_)) if player.end().is_none() => Why::Cut,
                (None, Some(_)) => return None,
            };
            Some(Gap { rank: player.me.into(), record: player.replayed(), why })
        };
        self.players.iter().filter_map(gap).collect()
    }
}
