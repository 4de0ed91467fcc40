//! Calls and events of a rank, as C has them.

use crate::error::carrousel_error;
use crate::names::{carrousel_handle, carrousel_memory, communicator, data, flag, numbered, of_source};
use crate::packet::carrousel_packet;
use ::carrousel_rank::{
    Call, Collective, Context, Event, Job, Kind, Options, RankId, Receive, ReceiveClaimed, Send, Speculation,
    Tag, TagSelector, Transfer,
};

/// When receives are announced to their senders.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_speculation {
    /// Never: the classical protocols.
    Off = 0,
    /// Whenever the rules permit.
    Always = 1,
    /// While it pays.
    Adaptive = 2,
}
numbered!(carrousel_speculation: Off, Always, Adaptive);

/// How the data of a rendezvous moves whose sender was there first.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_transfer_mode {
    /// The receiver reads it.
    Read = 0,
    /// The sender writes it, after a CTS.
    Write = 1,
}
numbered!(carrousel_transfer_mode: Read, Write);

/// Options of the protocols, equal at all ranks of a job.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct carrousel_options {
    /// Bytes of the largest message that is sent with its data.
    pub eager_threshold: u64,
    /// Bytes of such messages, each with 64 more, that a rank may have sent to another one and no receive has
    /// taken.
    pub eager_window: u64,
    /// A `carrousel_speculation`.
    pub speculation: u32,
    /// A `carrousel_transfer_mode`.
    pub transfer: u32,
    /// The most announced receives of one peer and context.
    pub rtr_limit: u16,
    /// Messages that are processed without telling their sender.
    pub credit_every: u16,
}

impl From<Options> for carrousel_options {
    fn from(options: Options) -> Self {
        let Options { eager_threshold, eager_window, rtr_limit, credit_every, .. } = options;
        let speculation = match options.speculation {
            Speculation::Off => carrousel_speculation::Off,
            Speculation::Always => carrousel_speculation::Always,
            Speculation::Adaptive => carrousel_speculation::Adaptive,
        };
        let transfer = match options.transfer {
            Transfer::Read => carrousel_transfer_mode::Read,
            Transfer::Write => carrousel_transfer_mode::Write,
        };
        let (speculation, transfer) = (speculation as u32, transfer as u32);
        Self { eager_threshold, eager_window, speculation, transfer, rtr_limit, credit_every }
    }
}

impl TryFrom<&carrousel_options> for Options {
    type Error = carrousel_error;

    fn try_from(options: &carrousel_options) -> Result<Self, carrousel_error> {
        let carrousel_options { eager_threshold, eager_window, rtr_limit, credit_every, .. } = *options;
        let speculation = match carrousel_speculation::of(options.speculation)? {
            carrousel_speculation::Off => Speculation::Off,
            carrousel_speculation::Always => Speculation::Always,
            carrousel_speculation::Adaptive => Speculation::Adaptive,
        };
        let transfer = match carrousel_transfer_mode::of(options.transfer)? {
            carrousel_transfer_mode::Read => Transfer::Read,
            carrousel_transfer_mode::Write => Transfer::Write,
        };
        Ok(Self { eager_threshold, eager_window, speculation, transfer, rtr_limit, credit_every })
    }
}

/// The rank `me` of a job of `ranks`.
pub(crate) fn place(me: u32, ranks: u32) -> Result<(RankId, Job), carrousel_error> {
    if me < ranks { Ok((RankId(me), Job { ranks })) } else { Err(carrousel_error::NoSuchRank) }
}

/// What the application asks for.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_call_kind {
    /// Send a message: `peer`, `communicator`, `tag`, `len`, `memory`, `synchronous`, `has_data`, `data`.
    Send = 1,
    /// Post a receive: `peer` or any, `communicator`, `tag`, `ignore`, `len`, `memory`.
    Receive = 2,
    /// Enter a collective: `collective`, `communicator`, `root`, `element`, `len`, `source`, `target`,
    /// `scratch`.
    Collective = 3,
    /// Receive a claimed message: `request`, `len`, `memory`.
    ReceiveClaimed = 4,
    /// Discard a claimed message: `request`.
    Discard = 5,
    /// Cancel a receive that has no message yet: `request`, which completes in any case.
    Cancel = 6,
}
numbered!(carrousel_call_kind: Send, Receive, Collective, ReceiveClaimed, Discard, Cancel);

/// A collective operation (MPI-4.1, chapter 6).
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_collective_kind {
    /// No member leaves before all have entered.
    Barrier = 1,
    /// The root's source is the target of all others.
    Broadcast = 2,
    /// The combination of all sources is the root's target.
    Reduce = 3,
    /// The combination of all sources is the target of every member.
    AllReduce = 4,
    /// All sources are the root's target.
    Gather = 5,
    /// All sources are the target of every member.
    AllGather = 6,
    /// Block i of the source of member j is block j of the target of member i.
    AllToAll = 7,
}
numbered!(carrousel_collective_kind: Barrier, Broadcast, Reduce, AllReduce, Gather, AllGather, AllToAll);

/// A call of the application. Only the fields that `carrousel_call_kind` names for `kind` are looked at.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_call {
    /// A `carrousel_call_kind`.
    pub kind: u32,
    /// The receiver of a send; the source of a receive, or `CARROUSEL_ANY_SOURCE`.
    pub peer: u32,
    /// Among which ranks, by number; 0 is `CARROUSEL_WORLD`.
    pub communicator: u32,
    /// 1 for a send that is complete only when its receive has begun (`MPI_Issend`).
    pub synchronous: u32,
    /// The tag.
    pub tag: u64,
    /// The bits of the tag that a receive ignores.
    pub ignore: u64,
    /// Bytes: of the message, of the room of a receive, of one contribution to a collective.
    pub len: u64,
    /// Where they are, or go: the library's until the request is complete.
    pub memory: carrousel_memory,
    /// 8 bytes that the receiver gets beside the message.
    pub data: u64,
    /// 1 if there are these.
    pub has_data: u32,
    /// A `carrousel_collective_kind`.
    pub collective: u32,
    /// The number of the root among the members.
    pub root: u32,
    /// Bytes of an element of a reduction.
    pub element: u32,
    /// What this rank contributes to a collective.
    pub source: carrousel_memory,
    /// Where its result goes.
    pub target: carrousel_memory,
    /// Room for what passes through: `carrousel_rank_schedule` says how much.
    pub scratch: carrousel_memory,
    /// The request that the call is about.
    pub request: carrousel_handle,
}

impl carrousel_call {
    /// The message that it sends.
    #[inline]
    pub(crate) fn send(&self) -> Result<Send, carrousel_error> {
        Ok(Send {
            to: RankId(self.peer),
            tag: Tag(self.tag),
            communicator: communicator(self.communicator)?,
            len: self.len,
            memory: self.memory.into(),
            synchronous: flag(self.synchronous)?,
            data: data(self.has_data, self.data)?,
        })
    }

    /// The receive that it posts.
    #[inline]
    pub(crate) fn receive(&self) -> Result<Receive, carrousel_error> {
        Ok(Receive {
            from: of_source(self.peer),
            tag: TagSelector::new(Tag(self.tag), self.ignore),
            communicator: communicator(self.communicator)?,
            len: self.len,
            memory: self.memory.into(),
        })
    }

    /// The collective that it enters.
    pub(crate) fn collective(&self) -> Result<Collective, carrousel_error> {
        use carrousel_collective_kind as C;
        let kind = match C::of(self.collective)? {
            C::Barrier => Kind::Barrier,
            C::Broadcast => Kind::Broadcast,
            C::Reduce => Kind::Reduce,
            C::AllReduce => Kind::AllReduce,
            C::Gather => Kind::Gather,
            C::AllGather => Kind::AllGather,
            C::AllToAll => Kind::AllToAll,
        };
        Ok(Collective {
            kind,
            communicator: communicator(self.communicator)?,
            root: self.root,
            element: self.element,
            len: self.len,
            source: self.source.into(),
            target: self.target.into(),
            scratch: self.scratch.into(),
        })
    }
}

impl TryFrom<&carrousel_call> for Call {
    type Error = carrousel_error;

    #[inline]
    fn try_from(call: &carrousel_call) -> Result<Self, carrousel_error> {
        use carrousel_call_kind as K;
        Ok(match K::of(call.kind)? {
            K::Send => Self::Send(call.send()?),
            K::Receive => Self::Receive(call.receive()?),
            K::Collective => Self::Collective(call.collective()?),
            K::ReceiveClaimed => Self::ReceiveClaimed(ReceiveClaimed {
                message: call.request.into(),
                len: call.len,
                memory: call.memory.into(),
            }),
            K::Discard => Self::Discard(call.request.into()),
            K::Cancel => Self::Cancel(call.request.into()),
        })
    }
}

/// What the host reports.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_event_kind {
    /// A packet of `peer` in `context`: `packet`. Its data is at hand until the work is done.
    Packet = 1,
    /// The write of `request` is complete: its source may be used again.
    Written = 2,
    /// The read of `request` is complete: its data is there.
    Read = 3,
    /// The receive `request` is announced, if `carrousel_rank_may_announce` has named it.
    Announce = 4,
    /// The connection to `peer` is lost: reported once, after all of its packets.
    Lost = 5,
}
numbered!(carrousel_event_kind: Packet, Written, Read, Announce, Lost);

/// Something that has happened. Only the fields that `carrousel_event_kind` names for `kind` are looked at.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_event {
    /// A `carrousel_event_kind`.
    pub kind: u32,
    /// The peer.
    pub peer: u32,
    /// The context of the packet.
    pub context: u16,
    /// The request.
    pub request: carrousel_handle,
    /// The packet.
    pub packet: carrousel_packet,
}

impl carrousel_event {
    /// Whether it may end as many requests as there are.
    #[inline]
    pub(crate) fn ends_many(&self) -> bool {
        self.kind == carrousel_event_kind::Lost as u32
    }
}

impl TryFrom<&carrousel_event> for Event {
    type Error = carrousel_error;

    #[inline]
    fn try_from(event: &carrousel_event) -> Result<Self, carrousel_error> {
        use carrousel_event_kind as K;
        Ok(match K::of(event.kind)? {
            K::Packet => Self::Packet {
                from: RankId(event.peer),
                context: Context(event.context),
                packet: (&event.packet).try_into()?,
            },
            K::Written => Self::Written(event.request.into()),
            K::Read => Self::Read(event.request.into()),
            K::Announce => Self::Announce(event.request.into()),
            K::Lost => Self::Lost(RankId(event.peer)),
        })
    }
}
