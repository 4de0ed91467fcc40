//! The launcher, as a waiting rank sees it: it reports ranks that have ended, and takes the hang reports of this
//! rank.

use super::pending::What;
use super::pmi::PmiConnection;
use crate::site::CallSite;
use crate::{Error, SourceLine};
use carrousel_rank::{RankId, TagSelector};
use carrousel_system::{SYSTEM, System, stderr};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a rank is waiting for: a hang report for the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The rank.
    pub rank: u32,
    /// The time that it has waited in this call, in milliseconds.
    pub waited_ms: u64,
    /// The line of that call in the program.
    pub place: SourceLine,
    /// Its requests that are not complete.
    pub requests: Vec<WaitingRequest>,
}

/// A request that is not complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingRequest {
    /// Its kind: `receive`, `send`, `synchronous send`, `probe`, or the name of a collective.
    pub what: Cow<'static, str>,
    /// The peer; `None` for any, or for all.
    pub peer: Option<u32>,
    /// The tag, or the tags that it accepts, as the application's library tells them ([`TagText`]); `None` if it has none.
    pub tag: Option<Cow<'static, str>>,
    /// The bytes of the message or of the buffer.
    pub bytes: u64,
    /// Its progress so far.
    pub state: Cow<'static, str>,
    /// The line that started it; `None` if the waiting call itself did.
    pub started: Option<SourceLine>,
    /// Whether the call waits for it.
    pub awaited: bool,
}

/// How the tags that a request accepts are told to a person: what their bits mean, and so which of them are any, is the
/// matter of the library that embeds the endpoint.
pub type TagText = fn(TagSelector) -> Cow<'static, str>;

/// The text of tags whose bits mean nothing in particular.
pub(super) fn tag_bits(tag: TagSelector) -> Cow<'static, str> {
    match tag.ignore() {
        0 => tag.tag().0.to_string().into(),
        u64::MAX => "any".into(),
        ignored => format!("{:#x} but for the bits {ignored:#x}", tag.tag().0).into(),
    }
}

impl WaitingRequest {
    pub(super) fn new(
        what: &What,
        text: TagText,
        state: &'static str,
        started: Option<CallSite>,
        awaited: bool,
    ) -> Self {
        let (peer, tag, bytes) = what.parts();
        let tag = tag.map(text);
        let started = started.map(SourceLine::from);
        Self { what: what.name().into(), peer, tag, bytes, state: state.into(), started, awaited }
    }

    /// Whether something of it is under way, which may take long: it may end although no rank does anything more.
    pub fn is_moving(&self) -> bool {
        self.state.contains("being ")
    }

    /// Whether it is a collective, which waits for all ranks.
    pub fn is_collective(&self) -> bool {
        !["send", "synchronous send", "receive", "probe", "claim"].contains(&&*self.what)
    }
}

/// `receive from 1 tag any, 8 bytes, started at src/main.rs:12: posted ...`, `barrier: under way ...`.
impl fmt::Display for WaitingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, peer, tag, bytes, state, started, .. } = self;
        let started = started.as_ref().map_or_else(String::new, |place| format!(", started at {place}"));
        if self.is_collective() {
            return write!(f, "{what}{started}: {state}");
        }
        let peer = peer.map_or("any".to_owned(), |peer| peer.to_string());
        let tag = tag.as_deref().unwrap_or("any");
        match &**what {
            "probe" => write!(f, "{what} from {peer} tag {tag}: {state}"),
            "receive" | "claim" => write!(f, "{what} from {peer} tag {tag}, {bytes} bytes{started}: {state}"),
            _ => write!(f, "{what} to {peer} tag {tag}, {bytes} bytes{started}: {state}"),
        }
    }
}

/// A line for the rank, and one for each request; a star marks the requests that the call waits for.
impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, place, .. } = self;
        write!(f, "rank {rank} has waited at {place} for {:.1} s:", self.waited_ms as f64 / 1e3)?;
        for request in &self.requests {
            let mark = if request.awaited { "*" } else { " " };
            write!(f, "\n  {mark} {request}")?;
        }
        Ok(())
    }
}

/// The launcher, and the time of the next hang report.
#[derive(Debug)]
pub struct Launcher {
    link: PmiConnection,
    /// Set by a signal that asks for a report.
    asked: Arc<AtomicBool>,
    patience: Option<Duration>,
    /// The time at which the current wait was found to be long.
    since: Instant,
    told: bool,
}

impl Launcher {
    /// `patience` in nanoseconds.
    pub fn new(link: PmiConnection, asked: Arc<AtomicBool>, patience: Option<u64>) -> Self {
        let patience = patience.map(Duration::from_nanos);
        Self { link, asked, patience, since: SYSTEM.now(), told: false }
    }

    /// A long wait begins.
    pub fn begin(&mut self) {
        self.since = SYSTEM.now();
        self.told = false;
    }

    /// Whether the current wait has lasted for `time`.
    pub(super) fn waits_for(&self, time: Duration) -> bool {
        SYSTEM.now() - self.since >= time
    }

    /// The current wait goes on. Returns how long it has lasted, if a report is due.
    pub(super) fn wait_on(&mut self) -> Option<Duration> {
        let waited = SYSTEM.now() - self.since;
        let asked = self.asked.swap(false, Ordering::Relaxed);
        let long = !self.told && self.patience.is_some_and(|patience| waited >= patience);
        self.told |= long;
        (asked || long).then_some(waited)
    }

    /// Reports the requests that this rank waits for: to our own launcher, which merges the reports of all ranks, or
    /// else on standard error.
    pub(super) fn tell(&self, waiting: &Waiting) -> Result<(), Error> {
        let json = serde_json::to_string(waiting).map_err(|_| Error::Internal("a report is no JSON"))?;
        if !self.link.report(&json)? {
            stderr::tell(format!("carrousel: {waiting}"));
        }
        Ok(())
    }

    /// This rank lets go of what its peers use.
    pub(super) fn leave(&self) {
        self.link.leave();
    }

    /// The ranks that the launcher says were lost since it was last asked, each with whether its process goes on without it.
    pub(super) fn lost(&self) -> Result<Vec<(RankId, bool)>, Error> {
        self.link.lost()
    }

    /// Why a rank is lost, as far as the launcher has told.
    pub(super) fn cause_of_loss(&self, rank: RankId) -> Option<String> {
        self.link.cause_of_loss(rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_rank::{Source, Tag};

    #[test]
    fn tags_are_told_by_their_bits_unless_a_library_tells_them() {
        let told = |text, tag, ignore| {
            let what = What::Probe { from: Source::Any, tag: TagSelector::new(Tag(tag), ignore) };
            WaitingRequest::new(&what, text, "waits", None, true).to_string()
        };
        let plain = |tag, ignore| told(tag_bits, tag, ignore);
        assert_eq!(plain(u64::MAX, 0), "probe from any tag 18446744073709551615: waits");
        assert_eq!(plain(1 << 40, 0xf0), "probe from any tag 0x10000000000 but for the bits 0xf0: waits");
        assert_eq!(plain(5, u64::MAX), "probe from any tag any: waits");
        assert_eq!(told(|_| "seven".into(), 7, 0), "probe from any tag seven: waits");
    }

    #[test]
    fn a_claimed_message_is_no_collective() {
        let what = What::Claim { from: RankId(3), tag: Tag(7), len: 16 };
        let claim = WaitingRequest::new(&what, tag_bits, "claimed", None, false);
        assert!(!claim.is_collective());
        assert_eq!(claim.to_string(), "claim from 3 tag 7, 16 bytes: claimed");
    }
}
