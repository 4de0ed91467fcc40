//! The serialised forms of a rank's vocabulary. Serde checks that the forms have all fields and variants of the types
//! that they stand for: a field or variant that is added there does not compile here until it has a form.

use carrousel_rank::{
    Call, Collective, Communicator, Context, Envelope, Event, Failure, Handle, Hint, Kind, LineId, Memory,
    Options, Packet, Pattern, RankId, Receive, ReceiveClaimed, Rtr, Send, Source, Speculation, Status, Tag,
    TagSelector, Transfer,
};
use serde::{Deserialize, Serialize};

/// The form of a struct, or of an enum whose variants have names in lower case.
macro_rules! form {
    ($($of:literal $kind:ident $name:ident { $($body:tt)* })*) => {
        $(#[derive(Serialize, Deserialize)]
        #[serde(remote = $of, rename_all = "snake_case", deny_unknown_fields)]
        pub(crate) $kind $name { $($body)* })*
    };
}

/// The form of a newtype of a number.
macro_rules! number {
    ($($of:literal $name:ident($number:ty))*) => {
        $(#[derive(Serialize, Deserialize)]
        #[serde(remote = $of)]
        pub(crate) struct $name($number);)*
    };
}

number! {
    "RankId" RankForm(u32)
    "Tag" TagForm(u64)
    "Context" ContextForm(u16)
}

form! {
    "Handle" struct HandleForm { index: u32, generation: u32 }
    "Memory" struct MemoryForm { address: u64, key: u32 }
    "LineId" struct LineForm { #[serde(with = "HandleForm")] receive: Handle, index: u16 }
    "Speculation" enum SpeculationForm { Off, Always, Adaptive }
    "Transfer" enum TransferForm { Read, Write }
    "Options" struct OptionsForm {
        eager_threshold: u64,
        eager_window: u64,
        #[serde(with = "SpeculationForm")]
        speculation: Speculation,
        #[serde(with = "TransferForm")]
        transfer: Transfer,
        rtr_limit: u16,
        credit_every: u16,
    }
    "Source" enum SourceForm { Rank(#[serde(with = "RankForm")] RankId), Any }
    "Envelope" struct EnvelopeForm {
        #[serde(with = "RankForm")]
        source: RankId,
        #[serde(with = "TagForm")]
        tag: Tag,
        #[serde(with = "ContextForm")]
        context: Context,
    }
    "Pattern" struct PatternForm {
        #[serde(with = "SourceForm")]
        source: Source,
        #[serde(with = "selector")]
        tag: TagSelector,
        #[serde(with = "ContextForm")]
        context: Context,
    }
    "Send" struct SendForm {
        #[serde(with = "RankForm")]
        to: RankId,
        #[serde(with = "TagForm")]
        tag: Tag,
        #[serde(with = "communicator")]
        communicator: Communicator,
        len: u64,
        #[serde(with = "MemoryForm")]
        memory: Memory,
        synchronous: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<u64>,
    }
    "Receive" struct ReceiveForm {
        #[serde(with = "SourceForm")]
        from: Source,
        #[serde(with = "selector")]
        tag: TagSelector,
        #[serde(with = "communicator")]
        communicator: Communicator,
        len: u64,
        #[serde(with = "MemoryForm")]
        memory: Memory,
    }
    "ReceiveClaimed" struct ReceiveClaimedForm {
        #[serde(with = "HandleForm")]
        message: Handle,
        len: u64,
        #[serde(with = "MemoryForm")]
        memory: Memory,
    }
    "Kind" enum KindForm { Barrier, Broadcast, Reduce, AllReduce, Gather, AllGather, AllToAll }
    "Collective" struct CollectiveForm {
        #[serde(with = "KindForm")]
        kind: Kind,
        #[serde(with = "communicator")]
        communicator: Communicator,
        root: u32,
        element: u32,
        len: u64,
        #[serde(with = "MemoryForm")]
        source: Memory,
        #[serde(with = "MemoryForm")]
        target: Memory,
        #[serde(with = "MemoryForm")]
        scratch: Memory,
    }
    "Call" enum CallForm {
        Send(#[serde(with = "SendForm")] Send),
        Receive(#[serde(with = "ReceiveForm")] Receive),
        Collective(#[serde(with = "CollectiveForm")] Collective),
        ReceiveClaimed(#[serde(with = "ReceiveClaimedForm")] ReceiveClaimed),
        Discard(#[serde(with = "HandleForm")] Handle),
        Cancel(#[serde(with = "HandleForm")] Handle),
    }
    "Hint" enum HintForm { None, StopRtr, ResumeRtr, Unused }
    "Rtr" struct RtrForm {
        #[serde(with = "selector")]
        tag: TagSelector,
        seen: u32,
        ahead: u16,
        #[serde(with = "HandleForm")]
        receive: Handle,
        len: u64,
        #[serde(with = "MemoryForm")]
        memory: Memory,
    }
    "Packet" enum PacketForm {
        Eager {
            #[serde(with = "TagForm")]
            tag: Tag,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            data: Option<u64>,
            len: u64,
        },
        Rts {
            #[serde(with = "TagForm")]
            tag: Tag,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            data: Option<u64>,
            len: u64,
            #[serde(with = "HandleForm")]
            send: Handle,
            #[serde(with = "MemoryForm")]
            memory: Memory,
            #[serde(with = "HintForm")]
            hint: Hint,
        },
        Fin {
            #[serde(with = "LineForm")]
            line: LineId,
            #[serde(with = "TagForm")]
            tag: Tag,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            data: Option<u64>,
            len: u64,
        },
        RtrAck {
            #[serde(with = "LineForm")]
            line: LineId,
            #[serde(with = "TagForm")]
            tag: Tag,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            data: Option<u64>,
            len: u64,
        },
        Filled { #[serde(with = "HandleForm")] receive: Handle },
        CancelAck { #[serde(with = "LineForm")] line: LineId },
        Rtr(#[serde(with = "RtrForm")] Rtr),
        Done { #[serde(with = "HandleForm")] send: Handle },
        RtsAck { #[serde(with = "HandleForm")] send: Handle },
        Clear {
            #[serde(with = "HandleForm")]
            send: Handle,
            #[serde(with = "HandleForm")]
            receive: Handle,
            len: u64,
            #[serde(with = "MemoryForm")]
            memory: Memory,
        },
        Cancel { #[serde(with = "LineForm")] line: LineId },
        Seen { seen: u32, taken: u64 },
    }
    "Event" enum EventForm {
        Packet {
            #[serde(with = "RankForm")]
            from: RankId,
            #[serde(with = "ContextForm")]
            context: Context,
            #[serde(with = "PacketForm")]
            packet: Packet,
        },
        Written(#[serde(with = "HandleForm")] Handle),
        Read(#[serde(with = "HandleForm")] Handle),
        Announce(#[serde(with = "HandleForm")] Handle),
        Lost(#[serde(with = "RankForm")] RankId),
    }
}

/// A communicator by its number.
pub(crate) mod communicator {
    use super::Communicator;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(it: &Communicator, to: S) -> Result<S::Ok, S::Error> {
        it.index().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Communicator, D::Error> {
        let number = u16::deserialize(from)?;
        Communicator::new(number)
            .ok_or_else(|| D::Error::custom(format_args!("there is no communicator {number}")))
    }
}

/// The tags that a receive accepts: a tag, and the bits that it ignores, if there are any.
pub(crate) mod selector {
    use super::{Tag, TagSelector};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Form {
        tag: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        ignore: u64,
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a function of a reference")]
    fn is_zero(bits: &u64) -> bool {
        *bits == 0
    }

    pub(crate) fn serialize<S: Serializer>(it: &TagSelector, to: S) -> Result<S::Ok, S::Error> {
        Form { tag: it.tag().0, ignore: it.ignore() }.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<TagSelector, D::Error> {
        let Form { tag, ignore } = Form::deserialize(from)?;
        if tag & ignore != 0 {
            return Err(D::Error::custom(format_args!(
                "tag {tag} has bits of those that it ignores, {ignore}"
            )));
        }
        Ok(TagSelector::new(Tag(tag), ignore))
    }
}

/// A status, whose message and failure may be missing.
pub(crate) mod status {
    use super::{Failure, RankId, Status, Tag};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Form {
        /// Source and tag.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<(u32, u64)>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<u64>,
        len: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<FailureForm>,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    enum FailureForm {
        Truncated { sent: u64 },
        Cancelled,
        PeerLost(u32),
    }

    pub(crate) fn serialize<S: Serializer>(it: &Status, to: S) -> Result<S::Ok, S::Error> {
        let failure = it.failure.map(|failure| match failure {
            Failure::Truncated { sent } => FailureForm::Truncated { sent },
            Failure::Cancelled => FailureForm::Cancelled,
            Failure::PeerLost(rank) => FailureForm::PeerLost(rank.0),
        });
        let message = it.message.map(|(source, tag)| (source.0, tag.0));
        Form { message, data: it.data, len: it.len, failure }.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Status, D::Error> {
        let Form { message, data, len, failure } = Form::deserialize(from)?;
        let failure = failure.map(|failure| match failure {
            FailureForm::Truncated { sent } => Failure::Truncated { sent },
            FailureForm::Cancelled => Failure::Cancelled,
            FailureForm::PeerLost(rank) => Failure::PeerLost(RankId(rank)),
        });
        let message = message.map(|(source, tag)| (RankId(source), Tag(tag)));
        Ok(Status { message, data, len, failure })
    }
}
