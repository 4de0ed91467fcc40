//! Joining the job of this process: makes the endpoint by the options, and the connection to the launcher.

use crate::Error;
use crate::backends::{AnyNetwork, NetworkSettings, network_settings, shm};
use crate::endpoint::{Endpoint, Launcher, NodeTopology, PmiConnection};
use crate::report;
use carrousel_launch::{Client, LaunchError};
use carrousel_options::{CheckUsage, Settings, VerbsScope};
use carrousel_rank::RankId;
use carrousel_system::inherited;
use signal_hook::consts::SIGUSR1;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process has joined its job.
static JOINED: AtomicBool = AtomicBool::new(false);

/// A process that has joined its job.
pub struct Joined {
    /// Its endpoint.
    pub endpoint: Endpoint,
    /// The connection to its launcher, which has to be told when the process leaves the job.
    pub connection: PmiConnection,
}

/// Joins the job for which this process was started, by `carrousel run` or by any launcher that speaks PMI-1. Without
/// a launcher, the process is a job of one rank. To be called once in a process.
///
/// # Errors
/// If the launcher cannot be reached, an option is wrong, or there is too little memory.
pub fn join(settings: &Settings) -> Result<Joined, Error> {
    inherited::keep()?;
    if JOINED.swap(true, Ordering::SeqCst) {
        let twice = "this process has joined its job before: it can do so once";
        return Err(Error::Launch(twice.to_owned()));
    }
    let client = Client::from_environment()?;
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, Arc::clone(&asked))
        .map_err(|error| Error::Launch(format!("cannot listen to SIGUSR1: {error}")))?;
    join_by(client, asked, settings)
}

/// Joins the job at whose launcher `client` is; without one, a job of one rank. `asked` is set when a hang report is
/// wanted. Any number of ranks of a process may do so.
///
/// # Errors
/// As [`join`].
#[doc(hidden)]
pub fn join_by(
    mut client: Option<Client>,
    asked: Arc<AtomicBool>,
    settings: &Settings,
) -> Result<Joined, Error> {
    inherited::keep()?;
    let nodes = match &mut client {
        None => vec![0],
        Some(client) => client.nodes()?,
    };
    let topology = match &client {
        None => NodeTopology { me: RankId(0), ranks: 1, neighbours: vec![RankId(0)], here: 1 },
        Some(client) => {
            let own = nodes.get(client.rank() as usize).copied();
            let is_here = |(_, node): &(u32, &u32)| Some(**node) == own;
            let here: Vec<_> = (0..).zip(&nodes).filter(is_here).map(|(rank, _)| RankId(rank)).collect();
            let (me, count, apart) =
                (RankId(client.rank()), here.len(), settings.verbs().scope == VerbsScope::All);
            let neighbours = if apart { vec![me] } else { here };
            NodeTopology { me, ranks: client.size(), neighbours, here: count }
        }
    };
    let link = PmiConnection::new(client);
    let directory = link.clone();
    let look_up =
        move |rank: RankId| directory.get(&key(rank))?.ok_or(Error::PeerLost { rank: rank.0, why: None });
    let ring = ring_bytes(settings.shm_ring(), topology.neighbours.len() as u64);
    let rings = shm::Settings { capacity: ring as usize / size_of::<u64>(), direct: settings.shm_direct() };
    let (network, waits) =
        (network_settings(settings)?, settings.verbs().reuse.is_some_and(|reuse| reuse.blocking));
    let net = net(&topology, settings, &network);
    let endpoint = Endpoint::new(&topology, &settings.protocol(), rings, net, waits, Box::new(look_up));
    let mut endpoint = endpoint.map_err(|error| Error::Memory(error.to_string()))?;
    if let Some(directory) = settings.trace() {
        endpoint.trace_to(directory, settings.trace_limit())?;
    }
    endpoint.set_check_usage(check_usage(&link, &topology, settings, &endpoint.address())?);
    if settings.report()
        && let Some(parts) = report::of_job(&endpoint, &topology, &nodes)
    {
        report::say(&parts);
    }
    endpoint.attach_launcher(Launcher::new(link.clone(), asked, settings.hang_report()));
    Ok(Joined { endpoint, connection: link })
}

/// The key under which rank 0 publishes the reaction to usage errors.
const CHECK_USAGE: &str = "check_usage";

/// Publishes the address of this rank, and returns the reaction to usage errors. All ranks need the same reaction, so
/// all take that of rank 0, whatever their own environment or build says.
fn check_usage(
    link: &PmiConnection,
    topology: &NodeTopology,
    settings: &Settings,
    address: &str,
) -> Result<CheckUsage, Error> {
    let own = settings.check_usage().unwrap_or(check_usage_of_build());
    if topology.me == RankId(0) {
        link.put(CHECK_USAGE, own.word())?;
    }
    link.publish(&key(topology.me), address)?;
    match topology.me {
        RankId(0) => Ok(own),
        _ => Ok(link.get(CHECK_USAGE)?.and_then(|word| CheckUsage::named(&word)).unwrap_or(own)),
    }
}

/// The reaction to usage errors, unless an option sets it.
pub const fn check_usage_of_build() -> CheckUsage {
    if cfg!(debug_assertions) { CheckUsage::Error } else { CheckUsage::Off }
}

/// The transport to other nodes: none if all ranks are on this one, and an error that says why there can be none.
fn net(
    topology: &NodeTopology,
    settings: &Settings,
    network: &NetworkSettings,
) -> Result<Option<AnyNetwork>, String> {
    if topology.neighbours.len() == topology.ranks as usize {
        return Ok(None);
    }
    AnyNetwork::new(topology.me, topology.ranks, settings, network).map(Some)
}

/// The bytes of a ring, a power of two, if the option says `wanted` and a node has this many ranks. Each rank has a
/// ring from every other one that has connected, and the node's memory is for the application.
fn ring_bytes(wanted: u64, ranks: u64) -> u64 {
    /// The most bytes for the rings of one rank,
    const RANK_MAX: u64 = 4 << 20;
    /// but at least this for each ring,
    const ENOUGH: u64 = 64 << 10;
    /// as long as all rings of the node do not exceed this.
    const NODE_MAX: u64 = 4 << 30;
    /// A page: a smaller ring would take as much.
    const LEAST: u64 = 4 << 10;
    let ranks = ranks.max(1);
    // Rounded down to a power of two.
    let share = |all: u64, parts: u64| 1 << (all / parts).max(1).ilog2();
    let of_rank: u64 = share(RANK_MAX, ranks);
    let of_node: u64 = share(NODE_MAX, ranks.saturating_mul(ranks));
    wanted.min(of_rank.max(ENOUGH)).min(of_node.max(LEAST))
}

/// The key under which a rank's address is published.
fn key(rank: RankId) -> String {
    format!("rank.{}", rank.0)
}

impl From<LaunchError> for Error {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::RankLost { rank, .. } => Error::PeerLost { rank, why: None },
            other => Error::Launch(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ring_bytes;

    #[test]
    fn rings_get_smaller_when_they_are_many() {
        let kib = [
            (1, 256),
            (16, 256),
            (17, 128),
            (64, 64),
            (256, 64),
            (257, 32),
            (400, 16),
            (1000, 4),
            (60_000, 4),
        ];
        for (ranks, kib) in kib {
            assert_eq!(ring_bytes(256 << 10, ranks), kib << 10, "{ranks} ranks");
        }
        assert_eq!(ring_bytes(4 << 10, 64), 4 << 10);
    }
}
