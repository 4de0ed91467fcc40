//! A fake adapter: the functions of libibverbs, over the memory of this process.
//!
//! A program that has this module is linked with these functions instead of those of the library, as what a program defines
//! comes before what its libraries do. So the transport in it is the one that is shipped, and needs no device.
//!
//! What is posted is done at once: a send copies its bytes to a receive buffer of the peer, which is in this process, and
//! both completions are there when the call returns. No data is written to or read from the memory of a peer, but for the
//! words of atomics, and keys are not looked at. A peer without a receive buffer, which a real adapter would wait for, is an error.
//!
//! All memory is taken from [`System`](std::alloc::System): it is not counted with that of the program, as that of the
//! library would not be.
#![allow(dead_code, unused_imports, reason = "each program uses a part of it")]

mod ends;
mod library;
mod network;
mod objects;
mod symbols;
mod world;

pub(crate) use self::ends::{End, MESSAGE, Reports, connected, drive, head, meet};
pub(crate) use self::library::{RankPair, apart};
pub(crate) use self::network::{FakePort, Layer, Way};
pub(crate) use self::symbols::counted;

use self::world::{Element, State, world};
use rdma_sys::ibv_event_type;
use std::thread;

/// What an adapter may have to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    PortDown,
    PortUp,
    Fatal,
    CompletionsFailed,
    ReceivesFailed,
    /// The queue pair of it that was made last has failed.
    PairFailed,
    /// Its peer has asked that queue pair for what it does not do: this is said before what becomes of what was posted.
    PairRefuses,
}

/// What newer versions of the library know of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newer {
    /// Nothing.
    Absent,
    /// Something, but they cannot be asked for on-demand paging.
    Short,
    /// On-demand paging of reliable connections for these operations, as bits of `ibv_odp_transport_cap_bits`; 0 is none.
    Paging(u32),
}

/// How often memory was registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registered {
    pub(crate) pinned: u64,
    /// With `IBV_ACCESS_ON_DEMAND`.
    pub(crate) on_demand: u64,
}

/// The ways that were asked for last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) connection: Option<Way>,
    pub(crate) datagram: Option<Way>,
}

/// One of the adapters of this machine: with one port of InfiniBand, all in one subnet, and nothing that newer versions of
/// the library know, unless a test says otherwise before it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FakeAdapter(pub(crate) usize);

impl FakeAdapter {
    /// As it is listed.
    pub(crate) fn name(self) -> String {
        format!("fake{}", self.0)
    }

    /// Has these ports, which are one or two.
    pub(crate) fn with_ports(self, ports: &[FakePort]) -> Self {
        world().set_ports(self.0, ports);
        self
    }

    /// Takes at most so many bytes into a work request; queue pairs that are to take more it refuses.
    pub(crate) fn with_inline(self, bytes: u32) -> Self {
        world().adapters[self.0].inline_max = bytes;
        self
    }

    /// Makes no queue pairs for connections.
    pub(crate) fn without_connections(self) -> Self {
        world().adapters[self.0].connects_nothing = true;
        self
    }

    /// Has no atomics.
    pub(crate) fn without_atomics(self) -> Self {
        world().adapters[self.0].lacks_atomics = true;
        self
    }

    /// Says that it is Soft-RoCE.
    pub(crate) fn as_soft_roce(self) -> Self {
        world().adapters[self.0].is_soft = true;
        self
    }

    /// How many atomics were posted to its connections, and how many of them had a fence.
    pub(crate) fn atomics(self) -> (u64, u64) {
        world().adapters[self.0].atomics
    }

    /// How many reads were posted to its connections, how many requests with a fence, and how many reads and atomics
    /// each connection may start at a time.
    pub(crate) fn reads(self) -> (u64, u64, u8) {
        let State { reads, fences, started, .. } = world().adapters[self.0];
        (reads, fences, started)
    }

    /// Has what newer versions of the library know.
    pub(crate) fn with(self, newer: Newer) -> Self {
        world().adapters[self.0].newer = newer;
        self
    }

    /// The global identifier of a port, which is counted from 1.
    pub(crate) fn gid(self, port: u8, index: u8) -> Option<[u8; 16]> {
        world().place(self.0, port)?.gid(index)
    }

    /// Where it was told that its peers are.
    pub(crate) fn ways(self) -> Ways {
        world().adapters[self.0].ways
    }

    /// The service levels that its connections have asked for, by bits.
    pub(crate) fn levels(self) -> u16 {
        world().adapters[self.0].levels
    }

    /// Holds what it sends on a service level; what it has held by now arrives.
    pub(crate) fn hold(self, level: Option<u8>) {
        world().hold(self.0, level);
    }

    /// Says nothing any more of what is posted to its reliable connections, or says what it has not said: that it has failed,
    /// if its connection has ended by then.
    pub(crate) fn stall(self, stalls: bool) {
        world().stall(self.0, stalls);
    }

    pub(crate) fn registered(self) -> Registered {
        world().adapters[self.0].registered
    }

    /// How often memory was registered that peers may touch.
    pub(crate) fn opened(self) -> u64 {
        world().adapters[self.0].opened
    }

    /// How often work requests were posted to its reliable connections: each time the adapter is told, which costs as much
    /// as many instructions.
    pub(crate) fn doorbells(self) -> u64 {
        world().adapters[self.0].doorbells
    }

    /// Has it say something to everybody who has opened it, and returns when that was acted upon.
    pub(crate) fn say(self, event: Event) {
        let (kind, element) = match event {
            Event::PortDown => (ibv_event_type::IBV_EVENT_PORT_ERR, Element::FakePort),
            Event::PortUp => (ibv_event_type::IBV_EVENT_PORT_ACTIVE, Element::FakePort),
            Event::Fatal => (ibv_event_type::IBV_EVENT_DEVICE_FATAL, Element::FakePort),
            Event::CompletionsFailed => (ibv_event_type::IBV_EVENT_CQ_ERR, Element::FakePort),
            Event::ReceivesFailed => (ibv_event_type::IBV_EVENT_SRQ_ERR, Element::FakePort),
            Event::PairFailed => (ibv_event_type::IBV_EVENT_QP_FATAL, Element::LastPair),
            Event::PairRefuses => (ibv_event_type::IBV_EVENT_QP_ACCESS_ERR, Element::LastPair),
        };
        let mut world = world();
        match event {
            Event::PortDown => world.set_down(self.0, true),
            Event::PortUp => world.set_down(self.0, false),
            _ => {}
        }
        world.tell(self.0, kind, element);
        // Nothing that matters: who acknowledges it has done with what was said before.
        world.tell(self.0, ibv_event_type::IBV_EVENT_LID_CHANGE, Element::FakePort);
        drop(world);
        while self::world::world().adapters[self.0].unacknowledged > 0 {
            thread::yield_now();
        }
    }

    /// Has it lose everything that is sent, without a word, and its port up.
    pub(crate) fn cut(self) {
        world().adapters[self.0].is_cut = true;
    }
}
