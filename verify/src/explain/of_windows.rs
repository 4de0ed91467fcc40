//! The words for windows in explanations: calls, accesses, flags, and what is in flight.

use super::execution::Sent;
use super::names::Names;
use crate::network::{InFlight, Moving};
use crate::program::{Act, Ordinal, Start};
use carrousel_rank::epoch::{Call, GrantWord, Mode, Packet, TransferKind};

impl Names<'_> {
    /// The call of a request on a window, and the window.
    pub(super) fn synchronization(&self, rank: u16, ordinal: Ordinal) -> Option<(u16, Call<'_>)> {
        match self.start(rank, ordinal)? {
            Start::Synchronize(index) => {
                let call = self.program(rank)?.synchronizations.get(usize::from(*index))?;
                Some((call.window, call.call()))
            }
            _ => None,
        }
    }

    /// The step of an access.
    pub(super) fn step_of_access(&self, rank: u16, access: u16) -> Option<usize> {
        self.program(rank)?.steps.iter().position(|step| step.act == Act::Access(access))
    }

    /// What kind of access it is.
    pub(super) fn kind_of_access(&self, rank: u16, access: u16) -> Option<TransferKind> {
        Some(self.program(rank)?.accesses.get(usize::from(access))?.transfer.kind)
    }

    /// `rank 0's put (line 5)`.
    pub(super) fn access_of(&self, rank: u16, access: u16) -> String {
        format!("rank {rank}'s {}", self.access(rank, access))
    }

    /// `put (line 5)`.
    pub(super) fn access(&self, rank: u16, access: u16) -> String {
        let kind = self.kind_of_access(rank, access).map_or("access", |kind| kind.name());
        match self.step_of_access(rank, access).and_then(|pc| self.line(rank, pc)) {
            Some(line) if self.has_lines() => format!("{kind} (line {line})"),
            _ => format!("{kind} {access}"),
        }
    }

    /// An access with its statement: ``put (line 5, `put w to 1 size 8`)``.
    pub(super) fn access_in_full(&self, rank: u16, access: u16) -> String {
        let name = self.access(rank, access);
        let Some(pc) = self.step_of_access(rank, access) else { return name };
        match name.strip_suffix(')') {
            Some(open) => format!("{open}, `{}`)", self.statement(rank, pc)),
            None => name,
        }
    }

    /// `window `w``.
    pub(super) fn window(&self, window: u16) -> String {
        match self.window_name(window) {
            Some(name) => format!("window `{name}`"),
            None => format!("window {window}"),
        }
    }
}

/// The name of a packet or grant of a window; `None` for data and completions.
pub(super) fn packet_name(item: &InFlight) -> Option<&'static str> {
    match item {
        InFlight::OfEpoch { packet, .. } => Some(packet.name()),
        InFlight::Granted(..) => Some("GRANT"),
        _ => None,
    }
}

/// What something of a window is about: `DONE of rank 0`, `the grant of rank 1's exposure`.
pub(super) fn in_flight(names: &Names<'_>, sent: &Sent) -> String {
    let peer = sent.channel.peer;
    match sent.item {
        InFlight::Transfer(Moving { access, .. }) => {
            format!("the data of {}", names.access_of(sent.channel.origin(), access))
        }
        InFlight::Moved(_) => format!("the completion of a transfer to rank {peer}"),
        InFlight::OfEpoch { packet, .. } => match packet {
            Packet::Done { .. } => format!("DONE of rank {peer}'s epoch"),
            Packet::LockRequest { mode: Mode::Exclusive, .. } => {
                format!("rank {peer}'s request for an exclusive lock")
            }
            Packet::LockRequest { .. } => format!("rank {peer}'s request for a shared lock"),
            Packet::LockRelease { .. } => format!("rank {peer}'s release of its lock"),
            Packet::StagingRequest => format!("rank {peer}'s request for a staging buffer"),
            Packet::StagingGrant => format!("the staging buffer of rank {peer}"),
        },
        InFlight::Granted(GrantWord::Exposures, _) => format!("the grant of rank {peer}'s exposure"),
        InFlight::Granted(GrantWord::Locks, _) => format!("the grant of rank {peer}'s lock"),
        _ => String::new(),
    }
}
