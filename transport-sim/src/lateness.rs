//! Waits in epochs for ranks that are late: the patterns of nonblocking-rma-epochs III.

use crate::keys::ByKey;
use crate::late::Late;
use crate::process::Process;
use carrousel_rank::epoch::{self, EpochKind, GrantWord, Inefficiency, Packet};
use carrousel_rank::{Protocol, WindowIndex};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// From whom to whom.
type Pair = (u32, u32);

/// What has to be known of a run to see who was late.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    /// A wait that is not longer is the network's, not a rank's.
    shortest_ns: u64,
    /// When the first transfer of one rank to another began that is not over, or was not followed by a Done; and when
    /// the last had landed.
    transfers: ByKey<(WindowIndex, Pair), (u64, u64)>,
    /// When an origin posted that it is done with an access.
    done: ByKey<(WindowIndex, Pair, u64), u64>,
    /// By host, the rank whose release of its lock it handles.
    releasing: ByKey<(WindowIndex, u32), u32>,
    /// By host and origin, the rank whose release has given that origin the lock.
    released: ByKey<(WindowIndex, Pair), u32>,
    /// By rank and pattern, the longest of the rank's last statement that has waited so.
    last: BTreeMap<(u32, Inefficiency), Found>,
    /// Those of statements before: the longest, so many.
    before: Vec<Found>,
    longest_max: usize,
    /// How many there have been.
    count: u64,
}

/// A wait. Times are nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Found {
    rank: u32,
    statement: u32,
    pattern: Inefficiency,
    from: u64,
    to: u64,
    by: u32,
    line: u32,
}

impl Found {
    /// By rank, and then in the order of its program.
    fn place(&self) -> (u32, u32, Inefficiency) {
        (self.rank, self.statement, self.pattern)
    }

    /// The longest first, as a report has them.
    fn by_length(one: &Self, other: &Self) -> Ordering {
        let length = |found: &Self| found.late().length_us();
        length(other).total_cmp(&length(one)).then_with(|| one.place().cmp(&other.place()))
    }

    fn late(&self) -> Late {
        let us = |ns: u64| ns as f64 / 1000.0;
        let Self { rank, pattern, from, to, by, line, .. } = *self;
        Late { pattern, rank, line, by, from_us: us(from), to_us: us(to) }
    }
}

impl Lateness {
    /// No wait yet. Waits that are not longer than so many nanoseconds are none, and of the others the longest are kept.
    pub(crate) fn new(shortest_ns: u64, longest_max: usize) -> Self {
        Self { shortest_ns, longest_max, ..Self::default() }
    }

    /// A transfer from the first rank to the second begins.
    pub(crate) fn issued(&mut self, window: WindowIndex, pair: Pair, now: u64) {
        self.transfers.entry((window, pair)).or_insert((now, u64::MAX));
    }

    /// Data of the first rank is in the memory of the second.
    pub(crate) fn landed(&mut self, window: WindowIndex, pair: Pair, now: u64) {
        self.transfers.entry((window, pair)).or_insert((now, now)).1 = now;
    }

    /// An origin is done with an access.
    pub(crate) fn done(&mut self, window: WindowIndex, pair: Pair, access: u64, now: u64) {
        self.done.insert((window, pair, access), now);
    }

    /// A host grants an origin its lock.
    pub(crate) fn lock_granted(&mut self, window: WindowIndex, host: u32, origin: u32) {
        match self.releasing.get(&(window, host)) {
            Some(holder) => self.released.insert((window, (host, origin)), *holder),
            None => self.released.remove(&(window, (host, origin))),
        };
    }

    /// A window of a rank is told something: perhaps what the rank has waited for.
    pub(crate) fn told<P: Protocol>(
        &mut self,
        rank: u32,
        process: &Process<P>,
        window: WindowIndex,
        event: epoch::Event,
        now: u64,
    ) {
        self.releasing.remove(&(window, rank));
        match event {
            epoch::Event::Packet { from, packet: Packet::Done { access } } => {
                let posted = self.done.remove(&(window, (from.0, rank), access)).unwrap_or(now);
                let (begun, landed) = self.transfers.remove(&(window, (from.0, rank))).unwrap_or_default();
                let Some(since) = self.waits_since(process, now) else { return };
                let exposes = |it: &epoch::EpochView<'_>| {
                    it.is_closed() && it.origin(from).is_some_and(|origin| origin.exposure == access)
                };
                match kind_of(process, window, exposes) {
                    Some(EpochKind::Exposure) => {
                        // The time of the transfer itself is nobody's fault.
                        let moving = landed.min(posted).saturating_sub(begun.max(since));
                        let stretch = (posted.min(since + moving), posted);
                        self.add(Inefficiency::LateComplete, rank, process, from.0, stretch);
                    }
                    Some(EpochKind::Fence) => {
                        self.add(Inefficiency::WaitAtFence, rank, process, from.0, (since, posted));
                        self.add(Inefficiency::EarlyFence, rank, process, from.0, (since.max(posted), now));
                    }
                    _ => {}
                }
            }
            epoch::Event::Packet { from, packet: Packet::LockRelease { .. } } => {
                self.releasing.insert((window, rank), from.0);
            }
            epoch::Event::Granted { from, word, value } => {
                let Some(since) = self.waits_since(process, now) else { return };
                let waits = |it: &epoch::EpochView<'_>| {
                    it.name().kind.locks() == (word == GrantWord::Locks)
                        && it.is_closed()
                        && it.target(from).is_some_and(|target| !target.is_granted && target.access <= value)
                };
                match (kind_of(process, window, waits), self.released.remove(&(window, (from.0, rank)))) {
                    (Some(EpochKind::Access), _) => {
                        self.add(Inefficiency::LatePost, rank, process, from.0, (since, now));
                    }
                    (Some(EpochKind::Lock | EpochKind::LockAll), Some(holder)) => {
                        self.add(Inefficiency::LateUnlock, rank, process, holder, (since, now));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Since when a rank has waited for epochs, if it has for longer than the network explains. What follows looks at every
    /// epoch.
    fn waits_since<P: Protocol>(&self, process: &Process<P>, now: u64) -> Option<u64> {
        process.waits_for_window_since().filter(|since| now - since > self.shortest_ns)
    }

    fn add<P: Protocol>(
        &mut self,
        pattern: Inefficiency,
        rank: u32,
        process: &Process<P>,
        by: u32,
        (from, to): (u64, u64),
    ) {
        if to.saturating_sub(from) <= self.shortest_ns || by == rank {
            return;
        }
        let statement = process.executed.begun();
        let found = Found { rank, statement, pattern, from, to, by, line: process.line() };
        match self.last.entry((rank, pattern)) {
            Entry::Occupied(mut known) if known.get().statement == statement => {
                if to - from > known.get().to - known.get().from {
                    known.insert(found);
                }
            }
            Entry::Occupied(mut known) => {
                let before = known.insert(found);
                self.keep(before);
            }
            Entry::Vacant(none) => {
                none.insert(found);
            }
        }
    }

    /// Keeps a wait if it is one of the longest so far.
    fn keep(&mut self, found: Found) {
        self.count += 1;
        if self.longest_max == usize::MAX {
            self.before.push(found);
            return;
        }
        let at = self.before.partition_point(|known| Found::by_length(known, &found).is_lt());
        if at < self.longest_max {
            self.before.insert(at, found);
            self.before.truncate(self.longest_max);
        }
    }

    /// The longest that were found, by rank and then in the order of its program; and how many were found.
    pub(crate) fn finish(mut self) -> (Vec<Late>, u64) {
        for found in std::mem::take(&mut self.last).into_values() {
            self.keep(found);
        }
        self.before.sort_unstable_by_key(Found::place);
        (self.before.iter().map(Found::late).collect(), self.count)
    }
}

/// The kind of the first epoch of a window that has not completed and is like this.
fn kind_of<P: Protocol>(
    process: &Process<P>,
    window: WindowIndex,
    is_it: impl Fn(&epoch::EpochView<'_>) -> bool,
) -> Option<EpochKind> {
    let epochs = process.rank.window(window).into_iter().flat_map(|window| window.epochs());
    epochs.filter(|epoch| is_it(epoch)).map(|epoch| epoch.name().kind).next()
}
