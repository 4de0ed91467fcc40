//! How a transport is made.

use carrousel_registration::Policy;
use std::time::Duration;

/// Which device, port and global identifier to use; what is not said is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// As `ibv_devices` names it.
    pub device: Option<String>,
    /// Counted from 1.
    pub port: Option<u8>,
    /// The index of a global identifier of the port.
    pub gid_index: Option<u8>,
}

/// How a transport is made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Which device, port and global identifier.
    pub choice: Choice,
    /// The most data of an EAGER, in bytes.
    pub eager: u64,
    /// Packets that may be on their way from each peer; at most 16,384.
    pub window: u16,
    /// Receive buffers, for all peers together.
    pub receives: u32,
    /// Work requests outstanding to each peer.
    pub depth: u32,
    /// Bytes that are copied into a work request instead of being sent from memory.
    pub inline: u32,
    /// The service level of connections (InfiniBand), or their priority (RoCE).
    pub service_level: u8,
    /// The same of the datagrams by which connections are made, and of packets without data: if it is another one, each
    /// connection has a second queue pair for those, where its peer has one, too.
    pub control_service_level: u8,
    /// The exponent of the time until an acknowledgement is missed: 4.096 us x 2^timeout.
    pub timeout: u8,
    /// How often what is not acknowledged is sent again, at most 6.
    pub retries: u8,
    /// Whether memory stays registered when its transfer is over, where that is safe.
    pub keep: bool,
    /// Which small buffers are registered and sent without a copy; none of them without a policy, or where no memory
    /// stays registered.
    pub reuse: Option<Policy>,
    /// How long a peer may take to answer when it is asked for a connection.
    pub patience: Duration,
}

impl Settings {
    /// The service level of second queue pairs, if there are any.
    pub fn second(&self) -> Option<u8> {
        (self.control_service_level != self.service_level).then_some(self.control_service_level)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            choice: Choice::default(),
            eager: 8 << 10,
            window: 64,
            receives: 512,
            depth: 128,
            inline: 224,
            service_level: 0,
            control_service_level: 0,
            // 0.27 s, seven times; adapters wait up to four times as long as they are told.
            timeout: 16,
            retries: 6,
            keep: true,
            reuse: None,
            patience: Duration::from_secs(20),
        }
    }
}
