//! Copies a large message together with the peer, if the peer's processor is idle: then the copy takes half the time.
//!
//! The process that has to copy announces the transfer to the peer, and begins. A peer that waits for a message sees the
//! announcement at once, and takes chunks; a peer that computes does not, and nothing is lost.

use super::direct::{self, DirectCopyError};
use super::frames::{self, HELP_REQUEST, HelpRequest, Transfer};
use super::peer::Peer;
use crate::chunk_queue::{CHUNKS_MAX, Chunks, Help, Helper, Owner, Sound, WORDS};
use crate::ring::CONTROL_WORDS_START;
use crate::sync::AtomicU64;
use crate::{Frame, Ring};
use carrousel_system::{SYSTEM, System};
use carrousel_transport::{Memory, Read, Regions, Write};
use rustix::process::Pid;
use std::ops::Range;
use std::time::{Duration, Instant};
use zerocopy::IntoBytes;

/// Bytes of a chunk: its copy takes some microseconds, several times as long as a system call and a message to the peer.
const CHUNK_BYTES: usize = 32 << 10;
/// Bytes of the smallest transfer that both processes copy: two chunks. In one direction the throughput is a third higher
/// than without help.
const COOPERATIVE_MIN: usize = 64 << 10;

/// A helper that takes longer than this to copy the chunks that it took at once is given up. A helper that runs never
/// takes as long: it is within a system call, and copies gigabytes in a second. A helper that is stopped is waited for
/// until it continues.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two polls of a helper counts up to this limit only: when more has passed, this process was stopped,
/// and perhaps the helper with it.
const POLL_INTERVAL_MAX: Duration = Duration::from_millis(100);

/// Writes to the memory of a peer, with its help if the data is large.
pub(super) fn write(peer: &mut Peer, write: &Write, bytes: &[u8]) -> Result<(), DirectCopyError> {
    let (pid, address) = (peer.pid, write.into.address);
    let request = |number| HelpRequest::new(Transfer::new(write.from, write.into, write.len), number, false);
    copy(peer, bytes.len(), request, |range| {
        direct::write(pid, &bytes[range.clone()], address.wrapping_add(range.start as u64))
    })
}

/// Reads from the memory of a peer, with its help if the data is large.
pub(super) fn read(peer: &mut Peer, read: &Read, bytes: &mut [u8]) -> Result<(), DirectCopyError> {
    let (pid, address) = (peer.pid, read.from.address);
    let request = |number| HelpRequest::new(Transfer::new(read.from, read.into, read.len), number, true);
    copy(peer, bytes.len(), request, |range| {
        direct::read(pid, address.wrapping_add(range.start as u64), &mut bytes[range])
    })
}

/// Copies `len` bytes by `copy_chunks`, together with the peer if they are at least [`COOPERATIVE_MIN`] and it can be expected
/// to help.
fn copy(
    peer: &mut Peer,
    len: usize,
    request: impl FnOnce(u32) -> HelpRequest,
    mut copy_chunks: impl FnMut(Range<usize>) -> Result<(), DirectCopyError>,
) -> Result<(), DirectCopyError> {
    let Some(chunks) = (len >= COOPERATIVE_MIN && peer.helpfulness.asks()).then(|| chunks_of(len)).flatten()
    else {
        return copy_chunks(0..len);
    };
    let ring_memory = peer.ring.control().clone();
    let number = peer.next_transfer();
    let (mut owner, first) = Owner::open(control_words(&ring_memory), number, chunks);
    if !peer.try_push(HELP_REQUEST, request(number).as_bytes()) {
        return copy_chunks(0..len);
    }
    let (mut result, mut next) = (Ok(()), Some(first));
    while let Some(chunks) = next {
        // After an error too, all chunks are taken, so that the helper does not copy them.
        result = result.and_then(|()| copy_chunks(range(chunks, len)));
        next = owner.take();
    }
    peer.helpfulness.answered(owner.is_helped());
    match await_helper(peer, &owner) {
        Help::Copied => result,
        Help::Failed => result.and_then(|()| copy_chunks(0..len)),
        Help::Copying | Help::Corrupt => Err(DirectCopyError::Broken),
    }
}

/// Waits until the helper has copied the chunks that it took. The helper is copying, and waits for no other process.
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
        // A helper that has not finished by now may be waiting for this processor, or never finish.
        if peer.has_ended() || waited.poll(SYSTEM.now(), peer.is_stopped()) > PATIENCE {
            return Help::Corrupt;
        }
        SYSTEM.yield_now();
    }
}

/// How long a helper has been waited for while it could run.
#[derive(Debug, Default)]
struct WaitTime {
    time: Duration,
    /// When the helper was polled last.
    last: Option<Instant>,
}

impl WaitTime {
    /// Adds the time since the last poll, and returns the sum.
    fn poll(&mut self, now: Instant, is_stopped: bool) -> Duration {
        let last = self.last.replace(now).unwrap_or(now);
        if !is_stopped {
            self.time += now.saturating_duration_since(last).min(POLL_INTERVAL_MAX);
        }
        self.time
    }
}

/// Helps a peer with the transfer that `frame` announces, if its memory, that of process `pid`, can be copied directly.
/// Returns how many bytes were copied; `None` for a frame that no honest peer sends.
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
    // The memory is looked up only when chunks are left: after the transfer is over it may not be registered any more.
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

/// The control words of a transfer.
fn control_words(ring: &Ring) -> &[AtomicU64] {
    &ring[CONTROL_WORDS_START..CONTROL_WORDS_START + WORDS]
}

/// The number of chunks of so many bytes; `None` for no bytes or too many.
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
    fn time_in_which_a_process_is_stopped_does_not_count() {
        let (mut waited, mut now) = (WaitTime::default(), Instant::now());
        let mut poll = |step, is_stopped| {
            now += step;
            waited.poll(now, is_stopped)
        };
        assert_eq!(poll(PATIENCE, false), Duration::ZERO, "it begins with the first poll");
        assert_eq!(poll(POLL_INTERVAL_MAX / 2, false), POLL_INTERVAL_MAX / 2);
        assert_eq!(poll(PATIENCE, true), POLL_INTERVAL_MAX / 2, "the helper was stopped");
        assert_eq!(poll(PATIENCE, false), POLL_INTERVAL_MAX * 3 / 2, "this process was");
        // A helper that runs is not waited for for ever.
        assert!((0..PATIENCE.as_millis()).any(|_| poll(Duration::from_millis(1), false) > PATIENCE));
    }
}
