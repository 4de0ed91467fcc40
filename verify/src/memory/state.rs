//! The state: pages, frames, translations, and messages on their way.

use super::bounds::{MemoryBounds, PAGE, TransferKind};
use carrousel_registration::{
    CacheRules, Limits, Policy, RegionError, RegionId, RegistrationCache, ReuseRules, Span, Thresholds,
};

/// The token of a frame that belongs to another process by now. No buffer ever has it.
pub(super) const FOREIGN: u8 = 0;

/// Some pages in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pages {
    pub(super) first: u8,
    pub(super) len: u8,
}

impl Pages {
    pub(super) fn of(span: Span) -> Self {
        Self { first: (span.start() / PAGE) as u8, len: (span.len() / PAGE) as u8 }
    }

    pub(super) fn address(self) -> u64 {
        u64::from(self.first) * PAGE
    }

    pub(super) fn bytes(self) -> u64 {
        u64::from(self.len) * PAGE
    }

    pub(super) fn span(self) -> Span {
        Span::new(self.address(), self.bytes()).unwrap_or(Span::ALL)
    }

    pub(super) fn has(self, page: u8) -> bool {
        self.first <= page && page < self.first + self.len
    }

    pub(super) fn iter(self) -> impl Iterator<Item = u8> {
        self.first..self.first + self.len
    }
}

/// A send call that has not returned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sending {
    pub(super) kind: TransferKind,
    pub(super) buffer: Pages,
    /// The registration that the driver was asked for. None if the call waits for room, which it does only in an
    /// ablation.
    pub(super) region: Option<RegionId>,
}

/// A registration as the adapter knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Translation {
    pub(super) region: RegionId,
    pub(super) pages: Pages,
    /// The frame of each page at the time of the lookup.
    pub(super) frames: Vec<u8>,
    /// From the answer on.
    pub(super) is_pinned: bool,
}

/// A message that the adapter sends from its buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Transmission {
    pub(super) region: RegionId,
    pub(super) buffer: Pages,
    /// The content of the buffer when the message was posted.
    pub(super) posted: Vec<u8>,
    /// Pages that have been read.
    pub(super) read: u8,
    /// The application has been told that it is complete.
    pub(super) is_complete: bool,
}

/// A broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MemoryViolation {
    /// The adapter read other bytes than those that were posted.
    OtherBytes { page: u8 },
    /// A message goes out through a registration that does not exist.
    NotRegistered { region: RegionId },
    /// A message goes out through a registration that is too short.
    NotCovered { region: RegionId, page: u8 },
    /// A registration is to be deregistered while a message is read through it.
    DeregisteredInUse { region: RegionId },
    /// The machine says that the driver has miscounted.
    RegionError(RegionError),
}

impl MemoryViolation {
    /// The promise.
    pub(super) fn check(self) -> &'static str {
        match self {
            Self::OtherBytes { .. } => "buffer-safety",
            _ => "registration-safety",
        }
    }
}

/// One state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MemoryState<C, R> {
    pub(super) machine: RegistrationCache<C, R>,
    /// The frame of each page that is mapped.
    pub(super) pages: Vec<Option<u8>>,
    /// The token in each frame.
    pub(super) frames: Vec<u8>,
    /// By index of the registration, as a driver keeps its keys.
    pub(super) translations: Vec<Option<Translation>>,
    pub(super) sending: Vec<Sending>,
    pub(super) transmissions: Vec<Transmission>,
    /// Unmapped pages that the kernel has not reported yet. Empty if the kernel keeps its rule.
    pub(super) untold: Vec<u8>,
    /// What may still happen.
    pub(super) sends: u8,
    pub(super) unmaps: u8,
    pub(super) moves: u8,
    pub(super) writes: u8,
    /// The last token that was written.
    pub(super) token: u8,
    pub(super) violation: Option<MemoryViolation>,
}

impl<C: CacheRules, R: ReuseRules> MemoryState<C, R> {
    pub(super) fn new(bounds: &MemoryBounds) -> Self {
        let limits = Limits {
            page_bits: PAGE.trailing_zeros(),
            entries: bounds.entries,
            bytes: bounds.registered_pages * PAGE,
        };
        let policy = Policy {
            thresholds: Thresholds::uniform(bounds.uses),
            speculation_percent: 100,
            bucket_bits_min: 0,
            bucket_bits_max: if bounds.one_chain { 0 } else { 4 },
            ..Policy::default()
        };
        Self {
            machine: RegistrationCache::new(limits, policy),
            pages: (0..bounds.pages).map(Some).collect(),
            frames: (1..=bounds.pages).collect(),
            translations: Vec::new(),
            sending: Vec::new(),
            transmissions: Vec::new(),
            untold: Vec::new(),
            sends: bounds.sends,
            unmaps: bounds.unmaps,
            moves: bounds.moves,
            writes: bounds.writes,
            token: bounds.pages,
            violation: None,
        }
    }

    /// The content of a page.
    pub(super) fn content(&self, page: u8) -> u8 {
        let frame = self.pages.get(usize::from(page)).copied().flatten();
        frame.and_then(|frame| self.frames.get(usize::from(frame))).copied().unwrap_or(FOREIGN)
    }

    pub(super) fn is_mapped(&self, page: u8) -> bool {
        self.pages.get(usize::from(page)).is_some_and(Option::is_some)
    }

    /// Whether a page is being sent, so that the application must not touch it.
    pub(super) fn is_being_sent(&self, page: u8) -> bool {
        self.sending.iter().any(|sending| sending.buffer.has(page))
            || self
                .transmissions
                .iter()
                .any(|transmission| !transmission.is_complete && transmission.buffer.has(page))
    }

    pub(super) fn fail(&mut self, violation: MemoryViolation) {
        self.violation = self.violation.or(Some(violation));
    }

    fn is_free(&self, frame: u8) -> bool {
        let pins = |at: &Option<Translation>| {
            at.as_ref().is_some_and(|at| at.is_pinned && at.frames.contains(&frame))
        };
        !self.pages.contains(&Some(frame)) && !self.translations.iter().any(pins)
    }

    /// Takes a free frame.
    pub(super) fn take_frame(&mut self, token: u8) -> u8 {
        let frames = self.frames.len() as u8;
        let frame = (0..frames).find(|frame| self.is_free(*frame)).unwrap_or(frames);
        self.frames.resize(self.frames.len().max(usize::from(frame) + 1), FOREIGN);
        self.frames[usize::from(frame)] = token;
        frame
    }

    /// Gives free frames to another process.
    pub(super) fn free_frames(&mut self) {
        for frame in 0..self.frames.len() as u8 {
            if self.is_free(frame) {
                self.frames[usize::from(frame)] = FOREIGN;
            }
        }
        while self.frames.last() == Some(&FOREIGN) {
            self.frames.pop();
        }
    }

    pub(super) fn translation(&self, region: RegionId) -> Option<&Translation> {
        self.translations.get(region.index as usize)?.as_ref()
    }
}
