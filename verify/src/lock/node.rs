//! An origin that shares the words of a lock with the host of the memory.

use super::data::LockedData;
use carrousel_lock::{
    Access, Inspection, Mode, Owner, Progress, TicketError, TicketLock, TicketRules, TicketWords, Word,
};
use carrousel_rank::RankId;

/// The first ticket: the second is 0. It is told as ticket 0.
pub(super) const FIRST: u64 = u64::MAX;

/// How far it is with its data, under the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum HolderProgress {
    /// It has done nothing yet.
    Nothing,
    /// It has read this value: an exclusive holder in both words, a shared one in the first.
    Read(u8),
    /// It has written this value to the first word.
    Wrote(u8),
    /// It has done everything.
    Over,
}

/// Data that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoilt {
    Torn,
    Lost,
}

/// One origin. Each of its steps is one access, to a word of the lock or to data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NearOrigin<R> {
    /// Locks that it has released, or begins to release.
    pub(super) done: u8,
    pub(super) lock: TicketLock<R>,
    /// The access to a word of the lock that it carries out next.
    pub(super) due: Option<Access>,
    under: HolderProgress,
    pub(super) inspection: Option<Inspection<R>>,
    pub(super) is_alive: bool,
}

impl<R: TicketRules> NearOrigin<R> {
    pub(super) fn new(rank: u8) -> Self {
        Self {
            done: 0,
            lock: TicketLock::new(RankId(rank.into())),
            due: None,
            under: HolderProgress::Nothing,
            inspection: None,
            is_alive: true,
        }
    }

    /// Whether it is about to read or write data.
    pub(super) fn has_data_step(&self) -> bool {
        self.due.is_none() && self.lock.held().is_some() && self.under != HolderProgress::Over
    }

    /// Whether it waits, and carries nothing out.
    pub(super) fn only_waits(&self) -> bool {
        self.due.is_none() && self.inspection.is_none() && self.lock.waiting_ticket().is_some()
    }

    /// Whether it waits, and would look in vain.
    pub(super) fn looks_in_vain(&self, words: &TicketWords) -> bool {
        let mut lock = self.lock.clone();
        let looked = lock.poll().filter(|_| self.only_waits());
        let answer = looked.and_then(|access| words.clone().carry_out(access));
        answer.is_some_and(|answer| lock.answer(answer) == Ok(Progress::Waits))
    }

    /// Makes the access due that comes next, if none is: it requests a lock in this mode, looks again, or releases.
    /// Returns whether it begins to release.
    pub(super) fn prepare(&mut self, mode: Option<Mode>) -> Result<bool, TicketError> {
        if self.due.is_some() {
            return Ok(false);
        }
        if self.lock.held().is_some() {
            self.done += 1;
            self.under = HolderProgress::Nothing;
            self.due = Some(self.lock.release()?);
            return Ok(true);
        }
        self.due = match mode {
            Some(mode) if self.lock.is_idle() => Some(self.lock.request(mode)?),
            _ => self.lock.poll(),
        };
        Ok(false)
    }

    /// Reads or writes under the lock.
    pub(super) fn step_data(&mut self, data: &mut LockedData) -> Result<(), Spoilt> {
        let mode = self.lock.held().unwrap_or(Mode::Shared);
        self.under = match (mode, self.under) {
            (Mode::Exclusive, HolderProgress::Nothing) if !data.is_whole() => return Err(Spoilt::Torn),
            (_, HolderProgress::Nothing) => HolderProgress::Read(data.read(0)),
            (Mode::Shared, HolderProgress::Read(first)) if data.read(1) != first => return Err(Spoilt::Torn),
            (Mode::Exclusive, HolderProgress::Read(value)) => {
                if !data.write(0, value + 1) {
                    return Err(Spoilt::Lost);
                }
                HolderProgress::Wrote(value + 1)
            }
            (Mode::Exclusive, HolderProgress::Wrote(value)) => {
                if !data.write(1, value) {
                    return Err(Spoilt::Lost);
                }
                HolderProgress::Over
            }
            (_, HolderProgress::Read(_) | HolderProgress::Wrote(_) | HolderProgress::Over) => {
                HolderProgress::Over
            }
        };
        Ok(())
    }

    /// Its next step with data, in words.
    pub(super) fn data_in_words(&self) -> &'static str {
        match (self.lock.held(), self.under) {
            (Some(Mode::Exclusive), HolderProgress::Nothing) => "reads both words",
            (_, HolderProgress::Nothing) => "reads the first word",
            (Some(Mode::Exclusive), HolderProgress::Read(_)) => "writes the first word",
            (_, HolderProgress::Read(_)) => "reads the second word",
            (_, HolderProgress::Wrote(_) | HolderProgress::Over) => "writes the second word",
        }
    }
}

/// An access to a word of the lock, in words, with its answer.
pub(super) fn access_in_words(access: Access, answer: u64) -> String {
    let from_first = |ticket: u64| ticket.wrapping_sub(FIRST);
    match access {
        Access::Store(Word::Owner(_), word) => match Owner::decode(word) {
            Some(Owner::Idle) => "says that it has no ticket".to_owned(),
            Some(Owner::Taking(mode)) => format!("says that it takes a ticket ({mode})"),
            Some(Owner::Has(..)) => "says its ticket".to_owned(),
            Some(Owner::Lost(..)) => "says that the holder has died".to_owned(),
            None => "writes nonsense".to_owned(),
        },
        Access::Increment(Word::Next) => format!("takes ticket {}", from_first(answer)),
        Access::Increment(Word::ReadServing) => "lets shared requests behind it pass".to_owned(),
        Access::Increment(_) => "counts its release".to_owned(),
        Access::Store(_, value) => format!("stores that ticket {} is served", from_first(value)),
        Access::Load(Word::WriteServing) => {
            format!("looks, and sees ticket {} served, if it is exclusive", from_first(answer))
        }
        Access::Load(_) => format!("looks, and sees ticket {} served, if it is shared", from_first(answer)),
    }
}
