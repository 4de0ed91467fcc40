//! The promises of a lock, and how they are broken.

use carrousel_lock::Mode;
use std::fmt;

/// A broken promise. Ranks are origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LockViolation {
    /// The first is granted the lock while the second holds it.
    Together((u8, Mode), (u8, Mode)),
    /// The first is granted the lock before the second, whose request has come before and waits.
    Overtakes((u8, Mode), (u8, Mode)),
    /// A grant comes to an origin that has no request.
    Unasked(u8),
    /// An origin reads two words of which one was written.
    Torn(u8),
    /// A write of an origin undoes that of another one.
    Lost(u8),
    /// The host says something else of a death than is so.
    Untold(u8),
    /// An impossible packet was taken, or has changed something; or a possible one was refused.
    Misuse(u8),
    /// The request of an origin waits, and nothing is in its way.
    Delayed(u8),
    /// An origin, or the host on its behalf, takes the words of the lock for corrupt.
    Corrupt(u8),
    /// An origin takes a process for dead that does not block it.
    Untrue(u8),
    /// An origin is blocked by a dead process, and an inspection does not find it.
    Unnoticed(u8),
}

/// A rank with its mode, as in `rank 1 (shared)`.
struct By((u8, Mode));

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self((rank, mode)) = self;
        write!(f, "rank {rank} ({mode})")
    }
}

impl fmt::Display for LockViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Together(granted, holder) => {
                write!(f, "exclusion: {} is granted the lock while {} holds it", By(granted), By(holder))
            }
            Self::Overtakes(granted, waiting) => {
                write!(f, "first-in-first-out: {} is granted the lock before {}", By(granted), By(waiting))
            }
            Self::Unasked(rank) => write!(f, "exclusion: rank {rank} is granted a lock without a request"),
            Self::Torn(rank) => write!(f, "whole: rank {rank} reads memory that is half written"),
            Self::Lost(rank) => write!(f, "whole: a write of rank {rank} undoes another one"),
            Self::Untold(rank) => {
                write!(f, "death-is-told: the host says something else of rank {rank}'s death than is so")
            }
            Self::Misuse(rank) => {
                write!(
                    f,
                    "misuse: an impossible packet of rank {rank} has an effect, or a possible one has none"
                )
            }
            Self::Delayed(rank) => write!(f, "prompt: rank {rank} waits, and nothing is in its way"),
            Self::Corrupt(rank) => {
                write!(f, "words: the words of the lock make no sense to the ticket of rank {rank}")
            }
            Self::Untrue(rank) => {
                write!(
                    f,
                    "reports-are-true: rank {rank} takes the lock for lost, and no dead process blocks it"
                )
            }
            Self::Unnoticed(rank) => {
                write!(f, "death-is-noticed: rank {rank} waits for a dead process, and does not find it")
            }
        }
    }
}
