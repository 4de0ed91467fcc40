//! An origin that does not share memory with the host: it sends packets and data, and sees grants that the host stores.

use super::bounds::LockProgram;
use super::data::LockedData;
use super::violation::LockViolation;
use carrousel_lock::Mode;
use std::collections::VecDeque;
use std::fmt;

/// A packet to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LockPacket {
    Request(Mode),
    Release,
}

/// What is on its way to the host: one ordered lane an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LockItem {
    Packet(LockPacket),
    /// A put: the word, and its new value.
    Write(usize, u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RemotePhase {
    /// Between two locks.
    Ready,
    /// It has requested the lock.
    Asked,
    /// It has read this in the first word, under a shared lock.
    Read(u8),
}

/// One origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RemoteOrigin {
    /// Locks that it has released.
    done: u8,
    phase: RemotePhase,
    /// The host has stored the grant.
    is_granted: bool,
    pub(super) lane: VecDeque<LockItem>,
    pub(super) is_alive: bool,
    /// The host was told of its death.
    pub(super) is_told: bool,
}

impl RemoteOrigin {
    pub(super) fn new() -> Self {
        Self {
            done: 0,
            phase: RemotePhase::Ready,
            is_granted: false,
            lane: VecDeque::new(),
            is_alive: true,
            is_told: false,
        }
    }

    /// How it requests its next lock, or has requested the present one; nothing if its program is over.
    pub(super) fn mode(&self, program: &LockProgram) -> Option<Mode> {
        program.get(usize::from(self.done)).copied()
    }

    /// Whether it requests a lock next.
    pub(super) fn is_ready(&self) -> bool {
        self.is_alive && self.phase == RemotePhase::Ready
    }

    /// Whether it has requested a lock, and not released it.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_alive && self.phase != RemotePhase::Ready
    }

    /// Whether it can go on under the lock.
    pub(super) fn can_act(&self) -> bool {
        self.is_under_way() && self.is_granted
    }

    pub(super) fn request(&mut self, mode: Mode) {
        self.phase = RemotePhase::Asked;
        self.send(LockPacket::Request(mode));
    }

    pub(super) fn send(&mut self, packet: LockPacket) {
        self.lane.push_back(LockItem::Packet(packet));
    }

    /// A packet that cannot be: a release if it has nothing to do with the lock, and else a second request.
    pub(super) fn stray(&self) -> Option<LockPacket> {
        let stray = match self.phase {
            RemotePhase::Ready => LockPacket::Release,
            RemotePhase::Asked | RemotePhase::Read(_) => LockPacket::Request(Mode::Shared),
        };
        self.is_alive.then_some(stray)
    }

    pub(super) fn granted(&mut self) {
        self.is_granted = true;
    }

    /// The next step under the lock: reads, and at the end writes and releases. Data and release are sent at once, and
    /// arrive one by one. Returns whether what it reads is whole.
    pub(super) fn act(&mut self, mode: Mode, data: LockedData) -> bool {
        let is_whole = match (mode, self.phase) {
            (Mode::Shared, RemotePhase::Read(first)) => data.read(1) == first,
            (Mode::Shared, _) => {
                self.phase = RemotePhase::Read(data.read(0));
                return true;
            }
            (Mode::Exclusive, _) => {
                let value = data.read(0) + 1;
                self.lane.extend([0, 1].map(|word| LockItem::Write(word, value)));
                data.is_whole()
            }
        };
        self.send(LockPacket::Release);
        self.done += 1;
        self.phase = RemotePhase::Ready;
        self.is_granted = false;
        is_whole
    }

    /// The items that may arrive next: the oldest, and, if releases may overtake data, a release behind nothing else.
    pub(super) fn arriving(&self, release_overtakes: bool) -> impl Iterator<Item = usize> {
        let is_packet = |item: &LockItem| matches!(item, LockItem::Packet(_));
        let first_packet = self.lane.iter().position(is_packet);
        let overtakes = first_packet.filter(|at| {
            release_overtakes && *at > 0 && self.lane[*at] == LockItem::Packet(LockPacket::Release)
        });
        (!self.lane.is_empty()).then_some(0).into_iter().chain(overtakes)
    }

    /// An item arrives: data goes into the memory, a packet to the host.
    pub(super) fn arrive(
        &mut self,
        rank: u8,
        at: usize,
        data: &mut LockedData,
    ) -> Result<Option<LockPacket>, LockViolation> {
        match self.lane.remove(at) {
            Some(LockItem::Packet(packet)) => Ok(Some(packet)),
            Some(LockItem::Write(word, value)) if !data.write(word, value) => Err(LockViolation::Lost(rank)),
            Some(LockItem::Write(..)) | None => Ok(None),
        }
    }

    /// The host learns that it has died: nothing of it arrives any more.
    pub(super) fn told(&mut self) {
        self.is_told = true;
        self.lane.clear();
    }

    /// Its next step under the lock, in words.
    pub(super) fn act_in_words(&self, rank: u8, mode: Mode) -> String {
        match (mode, self.phase) {
            (Mode::Exclusive, _) => {
                format!("rank {rank} sees its grant, reads, and sends two writes and its release")
            }
            (Mode::Shared, RemotePhase::Read(_)) => {
                format!("rank {rank} reads the second word, and sends its release")
            }
            (Mode::Shared, _) => format!("rank {rank} sees its grant, and reads the first word"),
        }
    }
}

impl fmt::Display for LockPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(mode) => write!(f, "{mode} request"),
            Self::Release => f.write_str("release"),
        }
    }
}

impl fmt::Display for LockItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet(packet) => packet.fmt(f),
            Self::Write(0, _) => f.write_str("write to the first word"),
            Self::Write(..) => f.write_str("write to the second word"),
        }
    }
}
