//! What a part is made of.

use crate::forms;
use carrousel_rank::{Call, Communicator, Envelope, Event, Handle, Options, Pattern, Status};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The version of the format, in every head.
pub const VERSION: u32 = 2;

/// The first line of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceHead {
    /// [`VERSION`].
    pub carrousel_trace: u32,
    /// Whose part it is.
    pub rank: u32,
    /// How many ranks the job has.
    pub ranks: u32,
    /// The program and its arguments, for a person.
    pub command: Vec<String>,
    /// What the rank was made with.
    #[serde(with = "forms::OptionsForm")]
    pub options: Options,
}

/// One input of a rank, or one answer of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Record {
    /// The application has called.
    Call {
        /// What.
        #[serde(with = "forms::CallForm")]
        call: Call,
        /// What came of it.
        answer: CallAnswer,
        /// The file of the program that calls, or that it interprets, as a scenario is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<Cow<'static, str>>,
        /// The line there, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
        /// Ranks of which something had arrived when the application called, and was not fed before the rank was given the
        /// call. Only what a transport tells without taking it: that between the ranks of a node does.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ignored: Vec<u32>,
    },
    /// A communicator was made known.
    Define {
        /// Its number.
        #[serde(with = "forms::communicator")]
        communicator: Communicator,
        /// Its ranks, by place.
        members: Vec<u32>,
    },
    /// A communicator was forgotten: nobody has it any more, and its number may be used again.
    Forget {
        /// Its number.
        #[serde(with = "forms::communicator")]
        communicator: Communicator,
    },
    /// The driver has reported.
    Event(#[serde(with = "forms::EventForm")] Event),
    /// A complete request was released.
    Release {
        /// Which.
        #[serde(with = "forms::HandleForm")]
        request: Handle,
        /// How it had ended, as the application was told.
        #[serde(with = "forms::status")]
        status: Status,
    },
    /// A probe has found a message.
    Probe {
        /// What it looked for.
        #[serde(with = "forms::PatternForm")]
        pattern: Pattern,
        /// What it found.
        #[serde(with = "forms::EnvelopeForm")]
        envelope: Envelope,
        /// Bytes of the message.
        len: u64,
    },
    /// There is nothing more.
    End(TraceEnd),
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallAnswer {
    /// The request that it opened, or was about.
    Request(#[serde(with = "forms::HandleForm")] Handle),
    /// Why nothing: a usage error.
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
}
