//! The lines of a part: its head and its records.

use crate::HostLibrary;
use carrousel_rank::{Call, Communicator, Envelope, Event, Handle, Options, Pattern, Status};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The version of the format, in every head.
pub const VERSION: u32 = 5;

/// The first line of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceHead {
    /// [`VERSION`].
    pub carrousel_trace: u32,
    /// The rank of the part; to an [endpoint](TraceHead::endpoint), its own number for itself.
    pub rank: u32,
    /// How many ranks the job has; to an [endpoint](TraceHead::endpoint), how many peers it can number.
    pub ranks: u32,
    /// The endpoint, if its peers are no ranks of a job: then all ranks in the part are its own numbers for its peers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<TraceEndpoint>,
    /// The program and its arguments, for messages.
    pub command: Vec<String>,
    /// The options that the rank was made with.
    pub options: Options,
}

/// An endpoint that numbers its peers itself, in the order in which it meets them, as inside another MPI library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceEndpoint {
    /// The address by which its peers name it. No other endpoint has it.
    pub address: String,
    /// The process, by its number at its node.
    pub process: u32,
    /// What the launcher calls the process, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostRank>,
    /// The MPI library in the process, if it is one whose tags can be told in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<HostLibrary>,
}

/// A rank of a job of another MPI library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRank {
    /// The launcher's name of the job, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The rank.
    pub rank: u32,
    /// How many ranks the job has.
    pub ranks: u32,
}

/// One input of a rank, or one answer of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Record {
    /// An endpoint has numbered a peer: before any record that names it.
    Peer {
        /// Its number.
        rank: u32,
        /// Its address.
        address: String,
    },
    /// A call of the application.
    Call {
        /// The call.
        call: Call,
        /// The answer that the application got.
        answer: CallAnswer,
        /// The source file of the call: of the program, or of a scenario that the program interprets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<Cow<'static, str>>,
        /// The line in that file, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
        /// Ranks from which packets had arrived when the application called, but were not fed to the rank before the
        /// call. Only if a transport tells so without taking a packet: the one between the ranks of a node does.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ignored: Vec<u32>,
    },
    /// The rank was told of a communicator.
    Define {
        /// Its number.
        communicator: Communicator,
        /// Its members, in the order of their ranks in the communicator.
        members: Vec<u32>,
    },
    /// A communicator was forgotten: no rank has it any more, and its number may be used again.
    Forget {
        /// Its number.
        communicator: Communicator,
    },
    /// An event that the driver has reported.
    Event(Event),
    /// A complete request was released.
    Release {
        /// The request.
        request: Handle,
        /// The status that the application was given.
        status: Status,
    },
    /// A probe has found a message.
    Probe {
        /// The pattern that the message had to match.
        pattern: Pattern,
        /// The envelope of the message.
        envelope: Envelope,
        /// The 8 bytes that came with the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<u64>,
        /// Bytes of the message.
        len: u64,
    },
    /// A message was claimed.
    Claim {
        /// The request that has claimed it.
        request: Handle,
        /// The pattern that the message had to match.
        pattern: Pattern,
        /// The envelope of the message.
        envelope: Envelope,
        /// The 8 bytes that came with the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<u64>,
        /// Bytes of the message.
        len: u64,
    },
    /// The end of the part: the last record.
    End(TraceEnd),
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallAnswer {
    /// The request that the call opened, or that it was about.
    Request(Handle),
    /// The usage error for which the call was refused.
    Refused(String),
}

/// How a part ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceEnd {
    /// The process has left its job.
    Finalized,
    /// The process has ended without leaving its job.
    Left,
    /// The part has as many bytes as it may have: its rank went on.
    Limit,
}
