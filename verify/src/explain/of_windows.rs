//! The words for windows in explanations: accesses, what is in flight, and the reasons for which an epoch waits.

use super::execution::Sent;
use super::names::{Names, list, ranks};
use crate::grants;
use crate::network::{InFlight, Moving};
use crate::program::{Act, Job, Ordinal, Start};
use crate::state::{Proc, State};
use carrousel_program::WindowLayout;
use carrousel_rank::epoch::{Call, Flags, GrantWord, Mode, Packet};
use carrousel_rank::{Protocol, RankId, WindowIndex};

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

    /// `rank 0's put (line 5)`.
    pub(super) fn access_of(&self, rank: u16, access: u16) -> String {
        format!("rank {rank}'s {}", self.access(rank, access))
    }

    /// `put (line 5)`.
    pub(super) fn access(&self, rank: u16, access: u16) -> String {
        let of = |access: u16| self.program(rank)?.accesses.get(usize::from(access));
        let kind = of(access).map_or("access", |access| access.transfer.kind.name());
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
        },
        InFlight::Granted(GrantWord::Exposures, _) => format!("the grant of rank {peer}'s exposure"),
        InFlight::Granted(GrantWord::Locks, _) => format!("the grant of rank {peer}'s lock"),
        _ => String::new(),
    }
}

/// Why an epoch's close, a flush, or an access with a request waits: `for rank 1 to expose its memory`, and the ranks that
/// it waits for.
pub(super) fn reason<P: Protocol>(
    names: &Names<'_>,
    state: &State<P>,
    proc: &Proc<P>,
    (rank, ordinal): (u16, Ordinal),
) -> Option<(String, Vec<u16>)> {
    let (window, call, only) = match names.start(rank, ordinal)? {
        Start::Access(index) => {
            let access = names.program(rank)?.accesses.get(usize::from(*index))?;
            (access.window, None, Some(access.transfer.target))
        }
        _ => names.synchronization(rank, ordinal).map(|(window, call)| (window, Some(call), None))?,
    };
    let view = proc.rank.window(WindowIndex(u32::from(window)))?;
    let name = names.window(window);
    // Of all epochs that are closed and not complete, what they lack.
    let (mut ungranted, mut undone, mut locks): (Vec<u16>, Vec<u16>, Vec<u16>) = Default::default();
    let needs_no_close = matches!(call, None | Some(Call::FlushWithRequest(_) | Call::Flush(_)));
    let is_closed = |is_closed: bool| is_closed || needs_no_close;
    let is_meant = |target: RankId| only.is_none_or(|only| only == target);
    for epoch in view.epochs().filter(|epoch| epoch.is_active() && is_closed(epoch.is_closed())) {
        let list = if epoch.name().kind.locks() { &mut locks } else { &mut ungranted };
        let ungranted = epoch.targets().filter(|it| !it.is_granted && is_meant(it.rank));
        list.extend(ungranted.map(|it| it.rank.0 as u16));
        undone.extend(epoch.origins().filter(|it| !it.is_done).map(|it| it.rank.0 as u16));
    }
    for list in [&mut ungranted, &mut undone, &mut locks] {
        list.sort_unstable();
        list.dedup();
    }
    let is_fence = matches!(call, Some(Call::Fence));
    let (mut parts, mut waits_for) = (Vec::new(), Vec::new());
    if is_fence {
        let mut missing: Vec<u16> = ungranted.iter().chain(&undone).copied().collect();
        missing.sort_unstable();
        missing.dedup();
        missing.retain(|other| *other != rank);
        if !missing.is_empty() {
            parts.push(format!("for {} to call fence on {name}", ranks(&missing)));
        }
        waits_for.extend(missing);
    } else {
        if !ungranted.is_empty() {
            parts.push(format!("for {} to expose memory of {name} to it (post)", ranks(&ungranted)));
        }
        if !undone.is_empty() {
            parts.push(format!("for {} to complete access to it in {name}", ranks(&undone)));
        }
        waits_for.extend(ungranted.into_iter().chain(undone));
    }
    for host in locks {
        let holders = holders(state, window, host, rank);
        parts.push(lock_of(&name, (rank, host), &holders));
        waits_for.extend(holders);
    }
    if parts.is_empty() {
        let deferred = view.deferred();
        let text = match deferred {
            0 => format!("for its epoch of {name}"),
            _ => format!("for earlier epochs of {name}, behind which it is deferred"),
        };
        return Some((text, waits_for));
    }
    Some((parts.join(", and "), waits_for))
}

/// What the end of a blocking call waits for that opens an epoch, and the ranks that it waits for.
pub(super) fn grants<P: Protocol>(
    names: &Names<'_>,
    state: &State<P>,
    proc: &Proc<P>,
    (rank, opening): (u16, Ordinal),
) -> Option<(String, Vec<u16>)> {
    let opening = names.program(rank)?.synchronization(opening)?;
    let name = names.window(opening.window);
    let missing: Vec<u16> = grants::missing(proc, opening, names.ranks()).collect();
    if matches!(opening.call(), Call::Start(_)) {
        return Some((format!("for {} to expose memory of {name} to it (post)", ranks(&missing)), missing));
    }
    // The lock of its own memory is the one that it has to wait for.
    let own: Vec<u16> = missing.iter().copied().filter(|host| *host == rank).collect();
    let hosts = if own.is_empty() { missing } else { own };
    let (mut parts, mut waits_for) = (Vec::new(), Vec::new());
    for host in hosts {
        let holders = holders(state, opening.window, host, rank);
        parts.push(lock_of(&name, (rank, host), &holders));
        waits_for.extend(holders);
    }
    Some((parts.join(", and "), waits_for))
}

/// The rule by which the call of a request waits.
pub(super) fn rule(names: &Names<'_>, rank: u16, request: Ordinal) -> &'static str {
    let own = RankId(u32::from(rank));
    match names.synchronization(rank, request).map(|(_, call)| call) {
        Some(Call::Start(_)) => {
            "MPI lets a start wait until each of its targets has posted, or return at once (MPI-4.1, 12.5.2)."
        }
        Some(Call::Lock { target, .. }) if target != own => {
            "MPI lets a lock wait until it is granted, or return at once (MPI-4.1, 12.5.3)."
        }
        Some(Call::LockAll) if names.is_portable() => {
            "MPI lets a lock_all wait until all ranks have granted it, or return at once (MPI-4.1, 12.5.3)."
        }
        Some(Call::Lock { .. } | Call::LockAll) => {
            "A lock of a rank's own memory is held when its call returns, because the program may access that memory by \
             itself from then on (MPI-4.1, 12.5.3)."
        }
        Some(Call::Complete) if names.is_portable() => {
            "MPI lets a complete wait until each of its targets has posted (MPI-4.1, 12.5.2)."
        }
        _ => {
            "The close of an epoch, and a flush, are complete when all operations are, so not before every target has \
             granted the access; an exposure ends when every origin has completed its access, and a fence when every \
             rank has called it (MPI-4.1, 12.5)."
        }
    }
}

/// `for the lock of rank 1 in window `w`, which rank 0 holds`.
fn lock_of(window: &str, (rank, host): (u16, u16), holders: &[u16]) -> String {
    let whose = if rank == host { "its own memory".to_owned() } else { format!("rank {host}") };
    let verb = if holders.len() == 1 { "holds" } else { "hold" };
    match holders {
        [] => format!("for the lock of {whose} in {window}"),
        some => format!("for the lock of {whose} in {window}, which {} {verb}", ranks(some)),
    }
}

/// The other ranks that hold the lock of a rank's memory.
fn holders<P: Protocol>(state: &State<P>, window: u16, host: u16, but: u16) -> Vec<u16> {
    let Some(proc) = state.procs.get(usize::from(host)) else { return Vec::new() };
    let Some(view) = proc.rank.window(WindowIndex(u32::from(window))) else { return Vec::new() };
    let holders = view.lock().holders().map(|grant| grant.origin);
    holders.filter(|origin| *origin != RankId(u32::from(but))).map(|origin| origin.0 as u16).collect()
}
