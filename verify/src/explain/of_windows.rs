//! The words for windows in explanations: calls, accesses, flags, and what is in flight.

use super::execution::Sent;
use super::names::{Names, list};
use crate::network::{InFlight, Moving};
use crate::program::{Act, Job, Ordinal, Start};
use crate::state::State;
use carrousel_program::WindowLayout;
use carrousel_rank::epoch::{Call, Flags, GrantWord, Mode, Packet, TransferKind};
use carrousel_rank::{Protocol, WindowIndex};

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

/// A sentence about the flags of windows that this execution ignores, if there are any: the weakest MPI may.
pub(super) fn ignored_flags<P: Protocol>(names: &Names<'_>, job: &Job, state: &State<P>) -> Option<String> {
    let proc = state.procs.first()?;
    let of = |(at, layout): (u16, &WindowLayout)| {
        let taken = proc.rank.window(WindowIndex(u32::from(at)))?.flags();
        let (set, taken) = (named(layout.flags), named(taken));
        let ignored = set.into_iter().zip(taken).filter(|(set, taken)| set.1 && !taken.1);
        let flags: Vec<String> = ignored.map(|((name, _), _)| format!("`{name}`")).collect();
        (!flags.is_empty()).then(|| format!("{} of {}", list(&flags), names.window(at)))
    };
    let all: Vec<String> = (0..).zip(&job.windows).filter_map(of).collect();
    let (s, verb) = if all.len() == 1 && !all[0].contains(" and ") { ("", "is") } else { ("s", "are") };
    (!all.is_empty()).then(|| {
        format!("Here the flag{s} {} {verb} ignored, as an MPI may do: flags are hints.", list(&all))
    })
}

/// Each flag by its name in the language.
fn named(flags: Flags) -> [(&'static str, bool); 4] {
    [
        ("access_after_access", flags.access_after_access),
        ("access_after_exposure", flags.access_after_exposure),
        ("exposure_after_exposure", flags.exposure_after_exposure),
        ("exposure_after_access", flags.exposure_after_access),
    ]
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
