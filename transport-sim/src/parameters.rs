//! Parameter sets: the costs of the simulated machine.

use carrousel_schedule::Patience;
use serde::Deserialize;
use std::fmt;

/// The cost of moving bytes between two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// From the first byte's departure to its arrival, in nanoseconds (LogGP's L).
    pub latency_ns: u64,
    /// Least time between two packets of one card, in nanoseconds (g).
    pub gap_ns: u64,
    /// Picoseconds for each byte (G).
    pub ps_per_byte: u64,
    /// Up to this size a packet goes in one piece; larger transfers share the link with others.
    pub packet_bytes: u64,
    /// The time of the responder's card before the first byte of a read leaves, in nanoseconds.
    pub read_ns: u64,
    /// How many larger transfers a card sends at once; others wait, first come, first served.
    #[serde(default = "usual_flows")]
    pub flows: u64,
}

/// [`Path::flows`] of a set that does not say.
fn usual_flows() -> u64 {
    16
}

/// The CPU time of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Each call, in nanoseconds.
    pub call_ns: u64,
    /// Each operation that is posted, in nanoseconds (LogGP's o of a sender).
    pub post_ns: u64,
    /// Each packet that is handled, in nanoseconds (o of a receiver).
    pub handle_ns: u64,
    /// Each completion that is handled, in nanoseconds.
    pub completion_ns: u64,
    /// Each byte that is copied, in picoseconds.
    pub copy_ps_per_byte: u64,
}

/// The cost of asynchronous progress by a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// From an arrival until the thread runs, in nanoseconds.
    pub wake_ns: u64,
    /// CPU time that each wake-up takes from the computation, in addition to that of handling arrivals, in nanoseconds.
    pub switch_ns: u64,
}

/// A named set of parameters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// The eager threshold of a scenario that does not set one, in bytes.
    pub eager_threshold: u64,
    /// Bytes of each packet in addition to its data.
    pub header_bytes: u64,
    /// Between nodes.
    #[serde(rename = "network")]
    pub remote: Path,
    /// Within a node.
    #[serde(rename = "memory")]
    pub local: Path,
    /// The library.
    pub cpu: Cpu,
    /// The progress thread.
    pub thread: Thread,
}

/// The sets that come with the simulator, each value with its source.
const SETS: [(&str, &str); 3] = [
    ("qdr", include_str!("../parameters/qdr.toml")),
    ("ddr-iwarp", include_str!("../parameters/ddr-iwarp.toml")),
    ("shm", include_str!("../parameters/shm.toml")),
];

impl Network {
    /// The names of the sets that come with the simulator.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SETS.iter().map(|(name, _)| *name)
    }

    /// The set called `name`.
    ///
    /// # Errors
    /// If there is no set of this name.
    pub fn named(name: &str) -> Result<Self, BadNetwork> {
        let set = SETS.iter().find(|(known, _)| *known == name);
        let (_, text) = set.ok_or_else(|| BadNetwork::Unknown(name.to_owned()))?;
        Self::from_toml(text)
    }

    /// A set of the caller's own, in the format of those that come with the simulator.
    ///
    /// # Errors
    /// If the text is not such a set.
    pub fn from_toml(text: &str) -> Result<Self, BadNetwork> {
        let set: Self = toml::from_str(text)?;
        let paths = [set.remote, set.local];
        let numbers = [
            set.cpu.call_ns,
            set.cpu.post_ns,
            set.cpu.handle_ns,
            set.cpu.completion_ns,
            set.cpu.copy_ps_per_byte,
            set.thread.wake_ns,
            set.thread.switch_ns,
            set.header_bytes,
        ];
        let of_paths = paths
            .iter()
            .flat_map(|p| [p.latency_ns, p.gap_ns, p.ps_per_byte, p.packet_bytes, p.read_ns, p.flows]);
        match numbers.into_iter().chain(of_paths).find(|number| *number > NUMBER_MAX) {
            Some(number) => Err(BadNetwork::TooGreat(number)),
            None => Ok(set),
        }
    }
}

impl Network {
    /// What a grant takes that nobody delays: two packets, and the processors at both ends.
    pub(crate) fn patience(&self) -> Patience {
        let Cpu { call_ns, post_ns, handle_ns, completion_ns, .. } = self.cpu;
        let packet = self.remote.latency_ns + self.remote.gap_ns;
        Patience {
            round_trip_ns: 2 * (packet + post_ns + call_ns) + handle_ns + completion_ns,
            streamed_per_us: 1_000_000 / self.remote.ps_per_byte.max(1),
        }
    }
}

/// The greatest value of a parameter: a second, or a second for a thousand bytes, where microseconds are usual.
const NUMBER_MAX: u64 = 1_000_000_000;

/// The reason why there is no such network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadNetwork {
    /// No set of this name comes with the simulator.
    #[error("there is no network `{0}`; there are {known}", known = Names)]
    Unknown(String),
    /// The text is not in the format.
    #[error("this is no parameter set: {0}")]
    Format(#[from] toml::de::Error),
    /// A value is unreasonably large.
    #[error("the parameter {0} is greater than {NUMBER_MAX}")]
    TooGreat(u64),
}

/// The names of the sets, for a message.
struct Names;

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in Network::names().enumerate() {
            write!(f, "{}`{name}`", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_one_and_has_its_name() {
        for name in Network::names() {
            assert_eq!(Network::named(name).map(|set| set.name).as_deref(), Ok(name));
        }
    }

    #[test]
    fn an_unknown_name_is_told_with_the_known_ones() {
        let error = Network::named("edr").unwrap_err().to_string();
        assert_eq!(error, "there is no network `edr`; there are `qdr`, `ddr-iwarp`, `shm`");
    }

    #[test]
    fn what_is_no_set_is_refused() {
        assert!(matches!(Network::from_toml("name = 1"), Err(BadNetwork::Format(_))));
        let great = SETS[0].1.replace("latency_ns = 1300", "latency_ns = 9000000000");
        assert!(matches!(Network::from_toml(&great), Err(BadNetwork::TooGreat(9_000_000_000))));
    }
}
