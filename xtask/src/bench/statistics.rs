//! Medians and spreads.

use serde::Serialize;

/// Many values in three.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// How many values there were.
    pub(crate) rounds: usize,
}

impl Summary {
    /// Of any values, if there are some.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let rounds = values.len();
        let (min, max) = (*values.first()?, *values.last()?);
        let median = f64::midpoint(values[(rounds - 1) / 2], values[rounds / 2]);
        Some(Self { median, min, max, rounds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_odd_number_is_the_one_in_the_middle() {
        let summary = Summary::of([3.0, 1.0, 100.0]).unwrap();
        assert_eq!(summary, Summary { median: 3.0, min: 1.0, max: 100.0, rounds: 3 });
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_two() {
        assert_eq!(Summary::of([4.0, 1.0, 2.0, 8.0]).unwrap().median, 3.0);
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(Summary::of([]), None);
    }
}
