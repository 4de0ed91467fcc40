//! Copying a large message together with the peer, if its processor has nothing better to do: then it takes half
//! the time.
//!
//! Whoever has to copy tells the peer, and begins. A peer that waits for a message sees that at once, and takes
//! chunks; one that computes does not, and nothing is lost.

use super::direct::{self, DirectCopyError};
use super::frames::{self, HELP_REQUEST, HelpRequest, Transfer};
use super::peer::Peer;
use crate::chunk_queue::{CHUNKS_MAX, Chunks, Help, Helper, Owner, Sound, WORDS};
use crate::ring::CONTROL_WORDS_START;
use crate::sync::AtomicU64;
use crate::{Frame, Ring};
use carrousel_transport::{Memory, Read, Regions, Write};
use nix::unistd::Pid;
use std::ops::Range;
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

/// Bytes of a chunk: its copy takes some microseconds, several times what a system call and telling somebody do.
const CHUNK_BYTES: usize = 32 << 10;
/// Bytes of the least transfer that is shared: of two chunks. In one direction a third more goes through so than without;
/// where both have messages of this size for each other, a sixth less, as each leaves its own for the other's.
const COOPERATIVE_MIN: usize = 64 << 10;

/// A helper that has not copied in this time what it took in one go is given up. One that runs never is: it is
/// within a system call, and copies gigabytes in a second. One that is stopped is waited for until it goes on.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at a helper no more than this counts: in what is longer this process was stopped, and perhaps the
/// helper with it.
const LOOK: Duration = Duration::from_millis(100);

/// Writes to the memory of a peer.
pub(super) fn write(peer: &mut Peer, write: &Write, bytes: &[u8]) -> Result<(), DirectCopyError> {
    let (pid, address) = (peer.pid, write.into.address);
    let request = |number| HelpRequest::new(Transfer::new(write.from, write.into, write.len), number, false);
    copy(peer, bytes.len(), request, |range| {
        direct::write(pid, &bytes[range.clone()], address.wrapping_add(range.start as u64))
    })
}

/// Reads from the memory of a peer.
pub(super) fn read(peer: &mut Peer, read: &Read, bytes: &mut [u8]) -> Result<(), DirectCopyError> {
    let (pid, address) = (peer.pid, read.from.address);
    let request = |number| HelpRequest::new(Transfer::new(read.from, read.into, read.len), number, true);
    copy(peer, bytes.len(), request, |range| {
        direct::read(pid, address.wrapping_add(range.start as u64), &mut bytes[range])
    })
}

/// Copies `len` bytes by `copy_chunks`, together with the peer if they are many.
fn copy(
    peer: &mut Peer,
    len: usize,
    request: impl FnOnce(u32) -> HelpRequest,
    mut copy_chunks: impl FnMut(Range<usize>) -> Result<(), DirectCopyError>,
) -> Result<(), DirectCopyError> {
    let Some(chunks) = (len >= COOPERATIVE_MIN).then(|| chunks_of(len)).flatten() else {
        return copy_chunks(0..len);
    };
    let ring_memory = peer.ring.memory().clone();
    let number = peer.next_transfer();
    let (mut owner, first) = Owner::open(control_words(&ring_memory), number, chunks);
    if !peer.try_push(HELP_REQUEST, request(number).as_bytes()) {
        return copy_chunks(0..len);
    }
    let (mut result, mut next) = (Ok(()), Some(first));
    while let Some(chunks) = next {
        // After an error too, all chunks are taken, so that nobody else copies them.
        result = result.and_then(|()| copy_chunks(range(chunks, len)));
        next = owner.take();
    }
    match await_helper(peer, &owner) {
        Help::Copied => result,
        Help::Failed => result.and_then(|()| copy_chunks(0..len)),
        Help::Copying | Help::Corrupt => Err(DirectCopyError::Broken),
    }
}

/// Waits until the helper has copied what it took. It is doing that, and waits for nobody.
fn await_helper(peer: &Peer, owner: &Owner<'_>) -> Help {
    const SPINS: u32 = 1 << 14;
    let (mut spins, mut waited) = (0_u32, WaitTime::default());
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
struct WaitTime {
    time: Duration,
    /// When it was looked at last.
    last: Option<Instant>,
}

impl WaitTime {
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
    ring_memory: &Ring,
    regions: &mut impl Regions,
) -> Option<u64> {
    let request = frames::head::<HelpRequest>(frame)?;
    let transfer = request.transfer;
    let len = usize::try_from(transfer.len()).ok()?;
    let chunks = chunks_of(len)?;
    let Some(pid) = pid else { return Some(0) };
    let mut helped = 0;
    let mut helper = Helper::new(control_words(ring_memory), request.number(), chunks);
    // The memory is looked for only when there is something to do: a transfer that is over has none any more.
    while let Some(chunks) = helper.take() {
        let range = range(chunks, len);
        let at = |memory: Memory| memory.address.wrapping_add(range.start as u64);
        let copied = if request.reads() {
            let bytes = regions.bytes(transfer.source(), transfer.len());
            bytes.map(|bytes| direct::write(pid, &bytes[range.clone()], at(transfer.target())))
        } else {
            let bytes = regions.bytes_mut(transfer.target(), transfer.len());
            bytes.map(|bytes| direct::read(pid, at(transfer.source()), &mut bytes[range.clone()]))
        };
        let copied = copied == Some(Ok(()));
        helper.count::<Sound>(chunks, copied);
        if !copied {
            break;
        }
        helped += range.len() as u64;
    }
    Some(helped)
}

/// Where the state of a transfer is.
fn control_words(ring: &Ring) -> &[AtomicU64] {
    &ring[CONTROL_WORDS_START..CONTROL_WORDS_START + WORDS]
}

/// The chunks of so many bytes, if they are not too many.
fn chunks_of(len: usize) -> Option<u32> {
    u32::try_from(len.div_ceil(CHUNK_BYTES)).ok().filter(|chunks| (1..=CHUNKS_MAX).contains(chunks))
}

/// The bytes of these chunks.
fn range(chunks: Chunks, len: usize) -> Range<usize> {
    let first = chunks.first as usize * CHUNK_BYTES;
    first..len.min(first + chunks.count as usize * CHUNK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_nobody_runs_does_not_count() {
        let (mut waited, mut now) = (WaitTime::default(), Instant::now());
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
