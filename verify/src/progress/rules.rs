//! The obligation with one rule off, by name. Only the checker has them.

use super::bounds::ProgressBounds;
use super::pair::{PairModel, REACHED};
use crate::explore::Limits;
use crate::machine;
use crate::outcome::Outcome;
use carrousel_rank::{Mirror, MirrorRules};

/// The name of the set of rules, in the register.
pub const SET: &str = "progress";

/// A rule of the driver: initial progress takes in all arrivals, not only the first.
const PROGRESS_TAKES_ALL: &str = "PROGRESS_TAKES_ALL";
const SEND_PROGRESSES_FIRST: &str = "SEND_PROGRESSES_FIRST";
const RECEIVE_PROGRESSES_FIRST: &str = "RECEIVE_PROGRESSES_FIRST";
const EAGER_FITS_WINDOW: &str = "EAGER_FITS_WINDOW";
const TAKEN_IS_TOLD: &str = "TAKEN_IS_TOLD";

/// The rules that can be switched off.
pub const RULES: &[&str] =
    &[SEND_PROGRESSES_FIRST, RECEIVE_PROGRESSES_FIRST, PROGRESS_TAKES_ALL, EAGER_FITS_WINDOW, TAKEN_IS_TOLD];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WithoutSend {}
impl MirrorRules for WithoutSend {
    const SEND_PROGRESSES_FIRST: bool = false;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WithoutReceive {}
impl MirrorRules for WithoutReceive {
    const RECEIVE_PROGRESSES_FIRST: bool = false;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WithoutWindow {}
impl MirrorRules for WithoutWindow {
    const EAGER_FITS_WINDOW: bool = false;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WithoutTelling {}
impl MirrorRules for WithoutTelling {
    const TAKEN_IS_TOLD: bool = false;
}

impl ProgressBounds {
    /// The situations that an exploration within these bounds has to cover.
    pub(crate) fn must_reach(&self) -> Vec<&'static str> {
        let can = |what: &&str| match *what {
            // One message cannot be behind another.
            "behind others" => self.sends > 1,
            "no room" => self.window.is_some(),
            _ => true,
        };
        REACHED.into_iter().filter(can).collect()
    }
}

/// Explores all programs within `bounds` with a rule off. None if there is no such rule.
pub fn explore_without(rule: &str, bounds: ProgressBounds, limits: &Limits<'_>) -> Option<Outcome> {
    Some(match rule {
        SEND_PROGRESSES_FIRST => {
            machine::explore(PairModel::<Mirror<WithoutSend>>::new(bounds, false), limits)
        }
        RECEIVE_PROGRESSES_FIRST => {
            machine::explore(PairModel::<Mirror<WithoutReceive>>::new(bounds, false), limits)
        }
        EAGER_FITS_WINDOW => machine::explore(PairModel::<Mirror<WithoutWindow>>::new(bounds, false), limits),
        TAKEN_IS_TOLD => machine::explore(PairModel::<Mirror<WithoutTelling>>::new(bounds, false), limits),
        PROGRESS_TAKES_ALL => machine::explore(PairModel::<Mirror>::new(bounds, true), limits),
        _ => return None,
    })
}

/// Explores all programs within `bounds`, with the rules as they are in production.
pub fn explore(bounds: ProgressBounds, limits: &Limits<'_>) -> Outcome {
    machine::explore(PairModel::<Mirror>::new(bounds, false), limits)
}
