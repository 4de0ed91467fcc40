//! The configuration of a run. Together with the scenario, it determines the result.

use crate::Network;
use carrousel_rank::{MirrorRules, Release};
use carrousel_schedule::Patience;
use std::str::FromStr;

/// The protocol of messages that are not eager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Speculative, by the mirror rules: the default.
    Mirror,
    /// Speculative, by the published rules of the thesis.
    Published,
    /// The classical rendezvous by read: without announcements, and without progress in non-blocking calls.
    Rget,
    /// The classical rendezvous by write.
    Rput,
}

/// The rules of the classical rendezvous, which announces nothing. The receiver sends its notice of a read itself, in
/// a call of the library (speculative-rendezvous 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Classical {}

impl MirrorRules for Classical {
    fn release() -> Release {
        Release::AtsAfterRead
    }
}

impl Protocol {
    /// All protocols, by name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("mirror", Self::Mirror),
        ("published", Self::Published),
        ("rget", Self::Rget),
        ("rput", Self::Rput),
    ];

    /// The name of the protocol.
    pub fn name(self) -> &'static str {
        name(self, &Self::ALL)
    }

    /// Whether non-blocking calls leave arrivals to later calls (speculative-rendezvous 3.6.1: "since in
    /// none of the implementations such a call exists").
    pub(crate) fn is_classical(self) -> bool {
        matches!(self, Self::Rget | Self::Rput)
    }
}

/// The means of progress while the application computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Progress {
    /// There is no progress meanwhile.
    None,
    /// A thread, woken by each arrival.
    Thread,
    /// An interrupt (not simulated yet).
    Interrupt,
    /// A parasite in the application's flow (not simulated yet).
    Parasite,
    /// A helper process (not simulated yet).
    Helper,
}

impl Progress {
    /// All means, by name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("none", Self::None),
        ("thread", Self::Thread),
        ("interrupt", Self::Interrupt),
        ("parasite", Self::Parasite),
        ("helper", Self::Helper),
    ];

    /// The name of the means.
    pub fn name(self) -> &'static str {
        name(self, &Self::ALL)
    }
}

/// When copies within a node are made that an epoch asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Copies {
    /// While the network streams (intra-epoch-scheduling 4): the default.
    #[default]
    Scheduled,
    /// When the epoch is closed and the network has nothing more to do: the papers' baseline.
    Deferred,
    /// As scheduled, but a rank's copies to itself are made in the call: the papers' other baseline.
    SelfAtCall,
}

impl Copies {
    /// All, by name.
    pub const ALL: [(&'static str, Self); 3] =
        [("scheduled", Self::Scheduled), ("deferred", Self::Deferred), ("self-at-call", Self::SelfAtCall)];

    /// Its name.
    pub fn name(self) -> &'static str {
        name(self, &Self::ALL)
    }
}

impl FromStr for Copies {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        find(word, &Self::ALL, |_| true)
    }
}

/// When a lock is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Acquisition {
    /// When its epoch is activated: the default.
    #[default]
    Eager,
    /// When its epoch is closed or flushed: the papers' baseline (nonblocking-rma-epochs VIII-A1).
    Lazy,
}

impl Acquisition {
    /// Both, by name.
    pub const ALL: [(&'static str, Self); 2] = [("eager", Self::Eager), ("lazy", Self::Lazy)];

    /// Its name.
    pub fn name(self) -> &'static str {
        name(self, &Self::ALL)
    }
}

impl FromStr for Acquisition {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        find(word, &Self::ALL, |_| true)
    }
}

/// A word that is not among the known ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is unknown, expected {}", choice(known))]
pub struct UnknownWord {
    /// The word.
    pub word: String,
    /// The words for values that can be simulated.
    pub known: Vec<&'static str>,
}

/// `` `a`, `b` or `c` ``.
fn choice(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match &quoted[..] {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => quoted.concat(),
    }
}

/// The name of `value` among `all`.
fn name<T: PartialEq>(value: T, all: &[(&'static str, T)]) -> &'static str {
    all.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

/// The value of `word` among `all`. If it has none, the error names `offered`.
fn find<T: Copy>(
    word: &str,
    all: &[(&'static str, T)],
    offered: impl Fn(T) -> bool,
) -> Result<T, UnknownWord> {
    let found = all.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| UnknownWord {
        word: word.to_owned(),
        known: all.iter().filter(|(_, value)| offered(*value)).map(|(name, _)| *name).collect(),
    })
}

impl FromStr for Protocol {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        find(word, &Self::ALL, |_| true)
    }
}

impl FromStr for Progress {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        find(word, &Self::ALL, |progress| matches!(progress, Self::None | Self::Thread))
    }
}

/// The bounds at which a run is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of events.
    pub events_max: u64,
    /// The virtual time, in nanoseconds.
    pub time_ns_max: u64,
}

impl Default for Limits {
    /// Ten billion events, and a year.
    fn default() -> Self {
        Self { events_max: 10_000_000_000, time_ns_max: 365 * 86_400 * 1_000_000_000 }
    }
}

/// The configuration of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The machine.
    pub network: Network,
    /// The protocol.
    pub protocol: Protocol,
    /// The means of asynchronous progress.
    pub progress: Progress,
    /// When copies within a node are made.
    pub copies: Copies,
    /// When locks are requested.
    pub acquisition: Acquisition,
    /// How long a large transfer's call waits for a grant that is on its way.
    pub patience: Patience,
    /// The seed of the jitter; without jitter it has no effect.
    pub seed: u64,
    /// Each latency and each computation is longer by up to this many thousandths, at random.
    pub jitter_per_mille: u32,
    /// The report has the times of each statement if the run executes no more than so many. It has totals by line of any
    /// number, for which a run needs no memory.
    pub statements_max: u64,
    /// The report has the longest waits for late ranks, so many.
    pub late_max: usize,
    /// Whether to record the data of a timeline.
    pub timeline: bool,
    /// The bounds of the run.
    pub limits: Limits,
}

impl Config {
    /// The mirror protocol over `network`, without asynchronous progress and without jitter.
    pub fn new(network: Network) -> Self {
        let patience = network.patience();
        Self {
            network,
            protocol: Protocol::Mirror,
            progress: Progress::None,
            copies: Copies::Scheduled,
            acquisition: Acquisition::Eager,
            patience,
            seed: 0,
            jitter_per_mille: 0,
            statements_max: u64::MAX,
            late_max: usize::MAX,
            timeline: true,
            limits: Limits::default(),
        }
    }
}

/// Random additions to durations (splitmix64, so that a run depends on its seed alone).
#[derive(Clone, Debug)]
pub(crate) struct Jitter {
    state: u64,
    per_mille: u64,
}

impl Jitter {
    pub(crate) fn new(config: &Config) -> Self {
        Self { state: config.seed, per_mille: u64::from(config.jitter_per_mille) }
    }

    /// Starts another sequence.
    pub(crate) fn diverge(&mut self) {
        self.state ^= 0x5555_5555_5555_5555;
    }

    pub(crate) fn lengthen(&mut self, ns: u64) -> u64 {
        if self.per_mille == 0 {
            return ns;
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let random = (z ^ (z >> 31)) >> 32;
        let most = u128::from(ns) * u128::from(self.per_mille) / 1000;
        ns.saturating_add(((most * u128::from(random)) >> 32) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_word_is_answered_with_those_that_can_be_simulated() {
        let progress = "foo".parse::<Progress>().map_err(|error| error.to_string());
        assert_eq!(progress, Err("`foo` is unknown, expected `none` or `thread`".to_owned()));
        let protocol = "foo".parse::<Protocol>().map_err(|error| error.to_string());
        let expected = "`foo` is unknown, expected `mirror`, `published`, `rget` or `rput`";
        assert_eq!(protocol, Err(expected.to_owned()));
        assert_eq!("helper".parse(), Ok(Progress::Helper));
    }
}
