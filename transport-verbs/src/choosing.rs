//! Which device, port and global identifier are used, as far as a [`Choice`] leaves that open: one rule, for the adapter
//! that libibverbs opens and for what [`Adapters`](crate::Adapters) reads in the system's files.

use crate::{Choice, VerbsError};
use std::fmt;

/// What is under a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLayer {
    /// Addressed by LID in a subnet, by GID between subnets.
    InfiniBand,
    /// RoCE: addressed by GID.
    Ethernet,
}

/// Whether a port can be used (InfiniBand, volume 1, 14.2.5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortState {
    /// No cable, or nobody at its other end.
    Down,
    /// Its subnet has to be set up.
    Init,
    /// It is set up, and waits for being told to begin.
    Armed,
    /// It can be used.
    Active,
    /// None of these.
    Unknown,
}

impl fmt::Display for PortState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Down => "down",
            Self::Init => "waiting for its subnet manager",
            Self::Armed => "armed, not active",
            Self::Active => "active",
            Self::Unknown => "in an unknown state",
        })
    }
}

/// How good a global identifier is, the best first: what routers understand first, and what peers of another network can
/// reach before what they cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GidRank {
    /// Of InfiniBand, where all are alike.
    InfiniBand,
    /// RoCE v2 over IPv4.
    V2OverIpv4,
    /// RoCE v2 over an address of IPv6 that is routed.
    V2OverIpv6,
    /// RoCE v2 over a link-local address of IPv6.
    V2LinkLocal,
    /// RoCE v1, which is not routed.
    V1,
}

impl GidRank {
    /// The rank of an identifier of a port, which is of RoCE v2 or not.
    pub fn of(link: LinkLayer, gid: [u8; 16], is_v2: bool) -> Self {
        let is_ipv4 = gid[..10] == [0; 10] && gid[10..12] == [0xff; 2];
        let is_local = gid[0] == 0xfe && gid[1] & 0xc0 == 0x80;
        match (link, is_v2) {
            (LinkLayer::InfiniBand, _) => Self::InfiniBand,
            (LinkLayer::Ethernet, false) => Self::V1,
            (LinkLayer::Ethernet, true) if is_ipv4 => Self::V2OverIpv4,
            (LinkLayer::Ethernet, true) if is_local => Self::V2LinkLocal,
            (LinkLayer::Ethernet, true) => Self::V2OverIpv6,
        }
    }
}

impl fmt::Display for GidRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InfiniBand => "InfiniBand",
            Self::V2OverIpv4 => "RoCE v2, IPv4",
            Self::V2OverIpv6 => "RoCE v2, IPv6",
            Self::V2LinkLocal => "RoCE v2, link-local",
            Self::V1 => "RoCE v1",
        })
    }
}

/// The first of the devices that can be opened, of those that may be chosen.
pub(crate) fn device<D, O>(
    devices: impl IntoIterator<Item = (D, String)>,
    choice: &Choice,
    mut open: impl FnMut(D, String) -> Result<O, VerbsError>,
) -> Result<O, VerbsError> {
    let (mut known, mut why) = (Vec::new(), None);
    for (device, name) in devices {
        known.push(name.clone());
        if choice.device.as_ref().is_some_and(|wanted| *wanted != name) {
            continue;
        }
        match open(device, name) {
            Ok(open) => return Ok(open),
            Err(error) => _ = why.get_or_insert(error),
        }
    }
    Err(match (why, &choice.device) {
        (Some(why), _) => why,
        (None, Some(name)) => VerbsError::NoSuchDevice { name: name.clone(), known },
        (None, None) => VerbsError::NoDevice,
    })
}

/// The first of a device's ports that is active, of those that may be chosen, and what else is known of it.
pub(crate) fn port<P>(
    device: &str,
    ports: u8,
    choice: &Choice,
    mut ask: impl FnMut(u8) -> Result<(PortState, P), VerbsError>,
) -> Result<(u8, P), VerbsError> {
    let fail = |why: String| VerbsError::Port { device: device.to_owned(), why };
    if let Some(port) = choice.port
        && !(1..=ports).contains(&port)
    {
        return Err(fail(format!("there is no port {port}; it has {ports}")));
    }
    let mut states = Vec::new();
    for port in (1..=ports).filter(|port| choice.port.is_none_or(|wanted| wanted == *port)) {
        match ask(port)? {
            (PortState::Active, known) => return Ok((port, known)),
            (state, _) => states.push(format!("port {port} is {state}")),
        }
    }
    Err(fail(format!("no port is active: {}", states.join(", "))))
}

/// The first of the best identifiers of a port, or the chosen one. `at` has each of them, `rank` how good it is.
pub(crate) fn gid(
    device: &str,
    port: u8,
    choice: &Choice,
    at: impl Fn(u8) -> Option<[u8; 16]>,
    rank: impl Fn(u8, [u8; 16]) -> GidRank,
) -> Result<(u8, [u8; 16]), VerbsError> {
    let found = match choice.gid_index {
        Some(index) => at(index).map(|gid| (index, gid)),
        None => (0..u8::MAX)
            .map_while(|index| Some((index, at(index)?)))
            .filter(|(_, gid)| *gid != [0; 16])
            // The first of the best.
            .min_by_key(|(index, gid)| rank(*index, *gid)),
    };
    found.ok_or_else(|| VerbsError::Port {
        device: device.to_owned(),
        why: match choice.gid_index {
            Some(index) => format!("port {port} has no global identifier {index}"),
            None => format!("port {port} has no global identifier (has its interface an address?)"),
        },
    })
}
