//! What can go wrong.

use std::io;
use thiserror::Error;

/// Why there is no transport.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VerbsError {
    /// The machine has no device at all.
    #[error("there is no InfiniBand or RoCE device")]
    NoDevice,
    /// None of this name.
    #[error("there is no device `{name}`; there {}", there(.known))]
    NoSuchDevice {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A device is there, and none of its ports can be used.
    #[error("{device}: {why}")]
    Port {
        /// The device.
        device: String,
        /// Why none of its ports can be used.
        why: String,
    },
    /// The system has refused something.
    #[error("{what}: {why}{}", hint(.why))]
    System {
        /// What was to be done.
        what: &'static str,
        /// What the system says.
        why: io::Error,
    },
}

fn there(known: &[String]) -> String {
    match known {
        [] => "is none".to_owned(),
        [one] => format!("is `{one}`"),
        several => format!("are {}", several.join(", ")),
    }
}

/// What helps.
fn hint(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::OutOfMemory => " (is the limit of locked memory, `ulimit -l`, high enough?)",
        io::ErrorKind::PermissionDenied => " (may this user open /dev/infiniband/uverbs*?)",
        _ => "",
    }
}

/// Why a peer is lost.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Loss {
    /// What was sent to it is not acknowledged: its process, its node or the way there is gone.
    #[error("it does not acknowledge what is sent to it")]
    Silent,
    /// It does not answer to being asked for a connection.
    #[error("it does not answer")]
    NoAnswer,
    /// What this process says of itself does not fit a datagram.
    #[error("the name of this process, of {bytes} bytes, does not fit a datagram: {most} do")]
    NameTooLong {
        /// Of the name.
        bytes: usize,
        /// The most.
        most: usize,
    },
    /// A work request has failed in another way.
    #[error("a work request has failed: {0}")]
    Failed(&'static str),
    /// It has sent what no honest peer sends.
    #[error("it has sent what does not belong to this protocol: {0}")]
    Nonsense(String),
    /// The device of this node has failed.
    #[error("the device of this node has failed: {0}")]
    Device(String),
    /// The system has refused what the connection needs.
    #[error("{0}")]
    System(String),
    /// Its launcher says so.
    #[error("it has ended")]
    Ended,
    /// It was given up by this process.
    #[error("it was given up")]
    Abandoned,
}
