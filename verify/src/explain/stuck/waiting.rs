//! A stuck rank, and the reasons why its wait does not end.

use crate::explain::late::Mixed;
use crate::network::Message;
use crate::program::Ordinal;
use std::rc::Rc;

/// The most reasons that are given for a rank that waits for several requests.
const REASONS_MAX: usize = 2;

/// A rank that can never go on.
pub(in crate::explain) struct Waiting {
    pub(in crate::explain) rank: u16,
    /// Its next step.
    pub(in crate::explain) pc: usize,
    /// The line of that step, if the reader knows the file.
    pub(in crate::explain) line: Option<u32>,
    /// `at line 5 (...)`.
    pub(super) place: String,
    /// The requests that it waits for; none for a probe.
    pub(in crate::explain) requests: Vec<Ordinal>,
    /// One for each request that it waits for.
    pub(in crate::explain) reasons: Vec<Reason>,
    /// Unfinished ranks that could end the wait, in lists that other ranks may share; no list is empty.
    pub(super) edges: Vec<Rc<[u16]>>,
}

/// Why a request is not complete.
pub(in crate::explain) struct Reason {
    /// `for rank 1 to receive it at line 9`.
    pub(super) text: String,
    /// The reason without its ranks.
    pub(super) shape: Shape,
    /// Nothing that any rank has still to do ends it.
    pub(super) is_never: bool,
    /// The text is the same for every rank with this reason.
    pub(super) common: bool,
    /// The message that it is about, if that has arrived.
    pub(in crate::explain) message: Option<Message>,
    /// The message that it could have got, and another receive did.
    pub(in crate::explain) taken: Option<Message>,
    /// Messages like it that its sender has sent to others.
    pub(in crate::explain) elsewhere: Vec<Message>,
    /// What it waits for in a window.
    pub(in crate::explain) epoch: Option<EpochReason>,
}

/// What a call on the epochs of a window waits for.
pub(in crate::explain) struct EpochReason {
    /// Of which window.
    pub(in crate::explain) window: u16,
    /// The ranks that it waits for, or that hold the lock, finished ones too.
    pub(in crate::explain) others: Vec<u16>,
    /// The ranks whose lock it waits for.
    pub(in crate::explain) hosts: Vec<u16>,
    /// It waits for a lock that is held as shared, behind an exclusive request.
    pub(in crate::explain) is_queued: bool,
    /// A grant went to an epoch of another kind.
    pub(in crate::explain) mixed: Option<Mixed>,
}

/// A reason with the ranks left out: the line of the request, what keeps it, and where that could end.
pub(super) type Shape = (Option<u32>, &'static str, Option<u32>);

impl Waiting {
    /// A key that is equal for ranks that wait in the same way: at the same line, for requests of the same lines and
    /// for the same kinds of reasons. A rank without a known line is like no other.
    pub(super) fn likeness(&self) -> Result<(u32, Vec<Shape>), u16> {
        let shapes = || self.reasons.iter().map(|reason| reason.shape).collect();
        self.line.map(|line| (line, shapes())).ok_or(self.rank)
    }

    /// A key that is equal for ranks of which the same sentence is true.
    pub(super) fn account(&self) -> Result<(&str, Vec<&str>), u16> {
        let is_common = self.reasons.iter().all(|reason| reason.common);
        let texts = || self.reasons.iter().map(|reason| reason.text.as_str()).collect();
        is_common.then(|| (self.place.as_str(), texts())).ok_or(self.rank)
    }

    /// Whether it waits for something that no rank has still to do, rather than for a rank that waits, too.
    pub(super) fn is_never(&self) -> bool {
        self.reasons.iter().any(|reason| reason.is_never)
    }

    /// Whether it waits for a lock that is held as shared, behind an exclusive request.
    pub(super) fn is_queued(&self) -> bool {
        self.reasons.iter().any(|reason| reason.epoch.as_ref().is_some_and(|epoch| epoch.is_queued))
    }

    /// `for ..., and for ..., and for 2 more requests`.
    pub(super) fn why(&self) -> String {
        let mut reasons: Vec<String> =
            self.reasons.iter().take(REASONS_MAX).map(|reason| reason.text.clone()).collect();
        reasons.dedup();
        match self.reasons.len().saturating_sub(REASONS_MAX) {
            0 => {}
            1 => reasons.push("for 1 more request".to_owned()),
            more => reasons.push(format!("for {more} more requests")),
        }
        reasons.join(", and ")
    }
}

impl Reason {
    /// A reason that nothing ends that any rank has still to do.
    pub(super) fn never(text: String, shape: &'static str) -> Self {
        Self { is_never: true, ..Self::new(text, shape) }
    }

    /// A reason that is the rank's own.
    pub(super) fn new(text: String, shape: &'static str) -> Self {
        Self {
            text,
            shape: (None, shape, None),
            is_never: false,
            common: false,
            message: None,
            taken: None,
            elsewhere: Vec::new(),
            epoch: None,
        }
    }
}
