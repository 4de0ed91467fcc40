//! The call that an error is about, for a person: an error without it says what is wrong, and not where.

use crate::site::SourceLine;
use std::borrow::Cow;
use std::fmt;

/// The call that an error is about: whose it is, where it stands in the program, and what it asked for, in the words of
/// hang reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// The rank that has made it; `None` if the library does not know.
    pub rank: Option<u32>,
    /// Its line in the program. Of a request, the line that started it.
    pub place: SourceLine,
    /// Its kind: `receive`, `send`, `synchronous send`, `probe`, `claim`, or the name of a collective.
    pub what: &'static str,
    /// The peer: the sender of the message, or the rank that was named. `None` for any, or for all.
    pub peer: Option<u32>,
    /// The tag, as the application's library tells it; `None` if it has none.
    pub tag: Option<Cow<'static, str>>,
}

/// `rank 1 at src/main.rs:12, receive from 0 tag 7`.
impl fmt::Display for FailedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, place, what, peer, tag } = self;
        if let Some(rank) = rank {
            write!(f, "rank {rank} ")?;
        }
        write!(f, "at {place}, {what}")?;
        let Some(tag) = tag else { return Ok(()) };
        let way = if what.ends_with("send") { "to" } else { "from" };
        match peer {
            Some(peer) => write!(f, " {way} {peer} tag {tag}"),
            None => write!(f, " {way} any tag {tag}"),
        }
    }
}
