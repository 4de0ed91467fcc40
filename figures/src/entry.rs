//! A figure that can be drawn.

use crate::figure::Figure;
use crate::measure::FigureError;

/// A figure that can be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its number.
    pub id: &'static str,
    /// Runs its scenarios.
    pub draw: fn(Points) -> Result<Figure, FigureError>,
}

/// How many points of its axes a figure has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Points {
    /// All, and those of the largest jobs, which take half an hour.
    Large,
    /// All that take minutes.
    All,
    /// As many as its relations need: what the tests take.
    Few,
}

impl Points {
    /// All of these, or those at both ends and in the middle.
    pub(crate) fn of<T: Copy>(self, all: &[T]) -> Vec<T> {
        match self {
            Self::Few if all.len() > 3 => vec![all[0], all[all.len() / 2], all[all.len() - 1]],
            _ => all.to_vec(),
        }
    }
}
