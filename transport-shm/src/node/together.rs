//! Copying a large message together with the peer, if its processor has nothing better to do: then it takes half
//! the time.
//!
//! Whoever has to copy tells the peer, and begins. A peer that waits for a message sees that at once, and takes
//! parts; one that computes does not, and nothing is lost.

use super::direct::{self, Refused};
use super::frames::{self, SHARE, Share, Transfer};
use super::peer::Peer;
use crate::ring::ASIDE;
use crate::share::{Help, Helper, Owner, PARTS_MAX, Parts, Sound, WORDS};
use crate::sync::AtomicU64;
use crate::{Frame, Ring};
use carrousel_transport::{Memory, Read, Regions, Write};
use nix::unistd::Pid;
use std::ops::Range;
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

/// Bytes of a part: its copy takes some microseconds, several times what a system call and telling somebody do.
const PART: usize = 32 << 10;
/// Bytes of the least transfer that is shared: of two parts. In one direction a third more goes through so than without;
/// where both have messages of this size for each other, a sixth less, as each leaves its own for the other's.
const LEAST: usize = 64 << 10;

/// A helper that has not copied in this time what it took in one go is given up. One that runs never is: it is
/// within a system call, and copies gigabytes in a second. One that is stopped is waited for until it goes on.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at a helper no more than this counts: in what is longer this process was stopped, and perhaps the
/// helper with it.
const LOOK: Duration = Duration::from_millis(100);

/// Writes to the memory of a peer.
pub(super) fn write(peer: &mut Peer, write: &Write, bytes: &[u8]) -> Result<(), Refused> {
    let (pid, address) = (peer.pid, write.into.address);
    let share = |number| Share::new(Transfer::new(write.from, write.into, write.len), number, false);
    copy(peer, bytes.len(), share, |range| {
        direct::write(pid, &bytes[range.clone()], address.wrapping_add(range.start as u64))
    })
}

/// Reads from the memory of a peer.
pub(super) fn read(peer: &mut Peer, read: &Read, bytes: &mut [u8]) -> Result<(), Refused> {
    let (pid, address) = (peer.pid, read.from.address);
    let share = |number| Share::new(Transfer::new(read.from, read.into, read.len), number, true);
    copy(peer, bytes.len(), share, |range| {
        direct::read(pid, address.wrapping_add(range.start as u64), &mut bytes[range])
    })
}

/// Copies `len` bytes by `part`, together with the peer if they are many.
fn copy(
    peer: &mut Peer,
    len: usize,
    share: impl FnOnce(u32) -> Share,
    mut part: impl FnMut(Range<usize>) -> Result<(), Refused>,
) -> Result<(), Refused> {
    let Some(parts) = (len >= LEAST).then(|| parts_of(len)).flatten() else { return part(0..len) };
    let aside = peer.ring.memory().clone();
    let number = peer.next_transfer();
    let (mut owner, first) = Owner::open(words(&aside), number, parts);
    if !peer.tell(SHARE, share(number).as_bytes()) {
        return part(0..len);
    }
    let (mut result, mut next) = (Ok(()), Some(first));
    while let Some(parts) = next {
        // After an error too, all parts are taken, so that nobody else copies them.
        result = result.and_then(|()| part(range(parts, len)));
        next = owner.take();
    }
    match wait(peer, &owner) {
        Help::Copied => result,
        Help::Failed => result.and_then(|()| part(0..len)),
        Help::Copying | Help::Corrupt => Err(Refused::Broken),
    }
}

/// Waits until the helper has copied what it took. It is doing that, and waits for nobody.
fn wait(peer: &Peer, owner: &Owner<'_>) -> Help {
    const SPINS: u32 = 1 << 14;
    let (mut spins, mut waited) = (0_u32, Waited::default());
    loop {
        match owner.help::<Sound>() {
            Help::Copying => {}
            done => return done,
        }
        spins = spins.wrapping_add(1);
        if !spins.is_multiple_of(SPINS) {
            std::hint::spin_loop();
            continue;
        }
        // What has not come by now may be waiting for this processor, or never come.
        if peer.has_ended() || waited.look(Instant::now(), peer.is_stopped()) > PATIENCE {
            return Help::Corrupt;
        }
        std::thread::yield_now();
    }
}

/// How long a helper has been waited for while it could run.
#[derive(Debug, Default)]
struct Waited {
    time: Duration,
    /// When it was looked at last.
    last: Option<Instant>,
}

impl Waited {
    /// Looks at it; returns the time.
    fn look(&mut self, now: Instant, is_stopped: bool) -> Duration {
        let last = self.last.replace(now).unwrap_or(now);
        if !is_stopped {
            self.time += now.saturating_duration_since(last).min(LOOK);
        }
        self.time
    }
}

/// Helps a peer with the transfer that `frame` tells of, if its memory can be copied from and to: that of `pid`. Returns
/// how many bytes were copied; `None` if no honest peer sends this.
pub(super) fn help(
    frame: &Frame<'_>,
    pid: Option<Pid>,
    aside: &Ring,
    regions: &mut impl Regions,
) -> Option<u64> {
    let share = frames::head::<Share>(frame)?;
    let transfer = share.transfer;
    let len = usize::try_from(transfer.len()).ok()?;
    let parts = parts_of(len)?;
    let Some(pid) = pid else { return Some(0) };
    let mut helped = 0;
    let mut helper = Helper::new(words(aside), share.number(), parts);
    // The memory is looked for only when there is something to do: a transfer that is over has none any more.
    while let Some(parts) = helper.take() {
        let range = range(parts, len);
        let at = |memory: Memory| memory.address.wrapping_add(range.start as u64);
        let copied = if share.reads() {
            let bytes = regions.bytes(transfer.source(), transfer.len());
            bytes.map(|bytes| direct::write(pid, &bytes[range.clone()], at(transfer.target())))
        } else {
            let bytes = regions.bytes_mut(transfer.target(), transfer.len());
            bytes.map(|bytes| direct::read(pid, at(transfer.source()), &mut bytes[range.clone()]))
        };
        let copied = copied == Some(Ok(()));
        helper.count::<Sound>(parts, copied);
        if !copied {
            break;
        }
        helped += range.len() as u64;
    }
    Some(helped)
}

/// Where the state of a transfer is.
fn words(ring: &Ring) -> &[AtomicU64] {
    &ring[ASIDE..ASIDE + WORDS]
}

/// The parts of so many bytes, if they are not too many.
fn parts_of(len: usize) -> Option<u32> {
    u32::try_from(len.div_ceil(PART)).ok().filter(|parts| (1..=PARTS_MAX).contains(parts))
}

/// The bytes of these parts.
fn range(parts: Parts, len: usize) -> Range<usize> {
    let first = parts.first as usize * PART;
    first..len.min(first + parts.count as usize * PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_nobody_runs_does_not_count() {
        let (mut waited, mut now) = (Waited::default(), Instant::now());
        let mut look = |step, is_stopped| {
            now += step;
            waited.look(now, is_stopped)
        };
        assert_eq!(look(PATIENCE, false), Duration::ZERO, "it begins with the first look");
        assert_eq!(look(LOOK / 2, false), LOOK / 2);
        assert_eq!(look(PATIENCE, true), LOOK / 2, "the helper was stopped");
        assert_eq!(look(PATIENCE, false), LOOK * 3 / 2, "this process was");
        // One that runs is not waited for for ever.
        assert!((0..PATIENCE.as_millis()).any(|_| look(Duration::from_millis(1), false) > PATIENCE));
    }
}
