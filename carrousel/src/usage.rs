//! Usage errors that no rank can see alone, and their messages.
//!
//! Ranks tell each other about their calls by an [`Announcement`] of fixed size, and combine these into a
//! [`Summary`]: the call of the lowest rank, and that of the lowest rank that does not agree with it. So a summary
//! has the same size for any number of ranks, and all ranks come to the same conclusion.

use crate::{CallSite, SourceLine};
use carrousel_rank::{Kind, Signature};
use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A collective that ranks disagree about: two of the calls that should have been the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The communicator's number; 0 is that of all ranks.
    pub communicator: u16,
    /// The call of the lowest rank, and that of the lowest one that does not agree with it.
    pub calls: [RankCall; 2],
}

/// The call of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankCall {
    /// The rank, in the job.
    pub rank: u32,
    /// The call, in words; a root is a rank of the communicator.
    pub call: String,
    /// Its line in the program.
    pub place: SourceLine,
}

/// Messages that a rank has not received when it leaves its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReceived {
    /// The rank that has not received them.
    pub rank: u32,
    /// For each sender of such messages: those with one tag.
    pub messages: Vec<Unreceived>,
}

/// Messages from one rank with one tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreceived {
    /// The sender.
    pub from: u32,
    /// Their tag.
    pub tag: u32,
    /// Bytes of the first one.
    pub bytes: u64,
    /// Their number.
    pub count: u32,
    /// Where the first one was sent, if its sender still knows that.
    pub sent: Option<SourceLine>,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { communicator, calls: [one, other] } = self;
        f.write_str("ranks do not agree in a collective")?;
        if *communicator > 0 {
            write!(f, " of communicator {communicator}")?;
        }
        write!(f, ": {one}, {other}")
    }
}

impl fmt::Display for RankCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, call, place } = self;
        write!(f, "rank {rank} calls {call} at {place}")
    }
}

impl fmt::Display for NotReceived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} has not received", self.rank)?;
        for (at, message) in self.messages.iter().enumerate() {
            let separator = if at > 0 { "; nor" } else { "" };
            write!(f, "{separator} {message}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Unreceived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, tag, bytes, count, sent } = self;
        let noun = if *bytes == 1 { "byte" } else { "bytes" };
        write!(f, "a message of {bytes} {noun} with tag {tag}, which rank {from} has sent")?;
        if let Some(place) = sent {
            write!(f, " at {place}")?;
        }
        if *count > 1 { write!(f, ", and {} more like it", count - 1) } else { Ok(()) }
    }
}

/// A line of a program in the form that ranks exchange: only the last bytes of the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct PackedLine {
    line: u32,
    len: u32,
    file: [u8; Self::FILE],
}

impl PackedLine {
    const FILE: usize = 88;
    /// No line.
    pub(crate) const NONE: Self = Self { line: 0, len: 0, file: [0; Self::FILE] };

    /// The line; `None` for [`Self::NONE`].
    pub(crate) fn line(&self) -> Option<SourceLine> {
        let file = self.file.get(..self.len as usize).filter(|file| !file.is_empty())?;
        Some(SourceLine { file: String::from_utf8_lossy(file).into_owned(), line: self.line })
    }
}

impl From<CallSite> for PackedLine {
    fn from(site: CallSite) -> Self {
        let whole = site.file();
        let from = (whole.len().saturating_sub(Self::FILE)..).find(|at| whole.is_char_boundary(*at));
        let tail = &whole.as_bytes()[from.unwrap_or(whole.len())..];
        let mut file = [0; Self::FILE];
        file[..tail.len()].copy_from_slice(tail);
        Self { line: site.line(), len: tail.len() as u32, file }
    }
}

/// A call that all ranks have to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// A collective that waits.
    Collective(Signature),
    /// A barrier that does not wait.
    Ibarrier,
    /// The end of the job.
    Finalize,
}

impl fmt::Display for Joint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collective(signature) => signature.fmt(f),
            Self::Ibarrier => f.write_str("`ibarrier`"),
            Self::Finalize => f.write_str("`finalize`"),
        }
    }
}

/// Codes behind those of the kinds, which are their positions in [`Kind::ALL`].
const IBARRIER: u32 = Kind::ALL.len() as u32;
const FINALIZE: u32 = IBARRIER + 1;
const NOTHING: u32 = u32::MAX;

/// The announcement of a rank's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Announcement {
    rank: u32,
    what: u32,
    /// The root; [`NOTHING`] for an operation without a root.
    root: u32,
    element: u32,
    len: u64,
    place: PackedLine,
}

impl Announcement {
    const NONE: Self = Self {
        rank: NOTHING,
        what: NOTHING,
        root: NOTHING,
        element: NOTHING,
        len: 0,
        place: PackedLine::NONE,
    };

    fn new(rank: u32, call: Joint, site: CallSite) -> Self {
        let some = |number: Option<u32>| number.unwrap_or(NOTHING);
        let (what, root, element, len) = match call {
            Joint::Collective(Signature { kind, root, len, element }) => {
                let what = (0..).zip(Kind::ALL).find(|(_, known)| *known == kind).map(|(at, _)| at);
                (some(what), some(root), some(element), len)
            }
            Joint::Ibarrier => (IBARRIER, NOTHING, NOTHING, 0),
            Joint::Finalize => (FINALIZE, NOTHING, NOTHING, 0),
        };
        Self { rank, what, root, element, len, place: site.into() }
    }

    /// Everything that has to be the same at all ranks.
    fn call(&self) -> [u64; 4] {
        [self.what.into(), self.root.into(), self.element.into(), self.len]
    }

    fn told(&self) -> RankCall {
        let some = |number: u32| Some(number).filter(|number| *number != NOTHING);
        let Self { rank, root, element, len, .. } = *self;
        let call = match self.what {
            IBARRIER => Joint::Ibarrier.to_string(),
            FINALIZE => Joint::Finalize.to_string(),
            what => match Kind::ALL.get(what as usize) {
                Some(kind) => {
                    Signature { kind: *kind, root: some(root), len, element: some(element) }.to_string()
                }
                None => "something else".to_owned(),
            },
        };
        let unknown = || SourceLine { file: "an unknown place".to_owned(), line: 0 };
        RankCall { rank, call, place: self.place.line().unwrap_or_else(unknown) }
    }
}

/// The calls of some ranks: that of the lowest one, and that of the lowest one that does not agree with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct Summary([Announcement; 2]);

impl Summary {
    /// The summary of no rank.
    pub(crate) const NONE: Self = Self([Announcement::NONE; 2]);

    /// The summary of one rank.
    pub(crate) fn of(rank: u32, call: Joint, site: CallSite) -> Self {
        Self([Announcement::new(rank, call, site), Announcement::NONE])
    }

    /// The summary of the ranks of both. It is associative and commutative, because agreeing is an equivalence. Take
    /// the summary whose lowest rank is higher. Its lowest rank that disagrees with the other's lowest is its own
    /// lowest or, if these two agree, the disagreeing rank that it has found itself.
    pub(crate) fn with(self, other: Self) -> Self {
        let (Self([low, found]), Self([high, further])) =
            if self.0[0].rank <= other.0[0].rank { (self, other) } else { (other, self) };
        let of_high = if high.call() == low.call() { further } else { high };
        Self([low, if found.rank <= of_high.rank { found } else { of_high }])
    }

    /// The two calls that do not agree; `None` if all agree.
    pub(crate) fn disagreement(&self, communicator: u16) -> Option<Disagreement> {
        let [_, other] = &self.0;
        (other.rank != NOTHING)
            .then(|| Disagreement { communicator, calls: self.0.map(|announcement| announcement.told()) })
    }

    /// Whether this rank reports it, where one rank reports for all.
    pub(crate) fn is_told_by(&self, rank: u32) -> bool {
        self.0[0].rank == rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    fn call(kind: Kind, len: u64) -> Joint {
        Joint::Collective(Signature { kind, root: Some(0), len, element: None })
    }

    /// All orders, with their mirror images, in which these calls can be combined give this summary.
    fn combined(calls: &[Joint]) -> Summary {
        let site = CallSite::caller();
        let of: Vec<Summary> = (0..).zip(calls).map(|(rank, call)| Summary::of(rank, *call, site)).collect();
        let all = of.iter().fold(Summary::NONE, |all, next| all.with(*next));
        assert_eq!(of.iter().fold(Summary::NONE, |all, next| next.with(all)), all);
        assert_eq!(of.iter().rfold(Summary::NONE, |all, next| all.with(*next)), all);
        for at in 1..calls.len() {
            let fold = |part: &[Summary]| part.iter().fold(Summary::NONE, |all, next| all.with(*next));
            let (left, right) = of.split_at(at);
            assert_eq!(fold(left).with(fold(right)), all);
            assert_eq!(fold(right).with(fold(left)), all);
        }
        all
    }

    #[test]
    fn in_whatever_order_ranks_are_asked_the_lowest_two_that_disagree_are_found() {
        let (one, other, third) = (call(Kind::Broadcast, 8), call(Kind::Broadcast, 16), Joint::Finalize);
        let found = |calls: &[Joint]| {
            let found = combined(calls).disagreement(0)?;
            Some(found.calls.map(|call| call.rank))
        };
        assert_eq!(found(&[one; 5]), None);
        for calls in 0..3_u32.pow(5) {
            let calls: Vec<Joint> =
                (0..5).map(|rank| [one, other, third][(calls / 3_u32.pow(rank) % 3) as usize]).collect();
            let expected = calls.iter().position(|call| *call != calls[0]).map(|other| [0, other as u32]);
            assert_eq!(found(&calls), expected, "{calls:?}");
        }
    }

    #[test]
    fn both_calls_are_told_with_their_places() {
        let told =
            combined(&[call(Kind::Broadcast, 8), Joint::Ibarrier]).disagreement(3).expect("they differ");
        let place = SourceLine::from(CallSite::caller()).file;
        let told = told.to_string();
        let begin = "ranks do not agree in a collective of communicator 3: rank 0 calls `broadcast` of 8 bytes \
                     from root 0 at ";
        assert!(told.starts_with(begin), "{told}");
        assert!(
            told.contains(&format!("{place}:")) && told.contains("rank 1 calls `ibarrier` at "),
            "{told}"
        );
    }

    #[test]
    fn of_a_long_file_name_the_end_is_told() {
        static LINE: LazyLock<SourceLine> = LazyLock::new(|| {
            let file = format!("{}/é/main.rs", "x".repeat(PackedLine::FILE - 10));
            SourceLine { file, line: 7 }
        });
        let told = PackedLine::from(CallSite::Script(&LINE)).line().expect("there is one");
        assert!(told.file.ends_with("/é/main.rs") && told.file.len() <= PackedLine::FILE, "{told}");
        assert_eq!((told.line, PackedLine::NONE.line()), (7, None));
    }
}
