//! Medians, spreads and intervals.

use serde::Serialize;

/// How sure an interval is.
const CONFIDENCE: f64 = 0.95;

/// Many values in a few.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The median of all values that there might have been lies in between, with a probability of 95 %: whatever their
    /// distribution is. With fewer than 6 values this is what they span, and less sure.
    pub(crate) interval: [f64; 2],
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
        let outside = outside(rounds);
        let interval = [values[outside], values[rounds - 1 - outside]];
        Some(Self { median, min, max, interval, rounds })
    }
}

/// How many of so many values lie outside the interval at each end. With `k` outside, the median is below the interval only
/// if at most `k` values are below the median; each of them is with a probability of one half.
fn outside(count: usize) -> usize {
    // The probabilities that 0, 1, .. values are below the median.
    let (mut exactly, mut at_most) = (0.5_f64.powi(count as i32), 0.0);
    for below in 0..count / 2 {
        at_most += exactly;
        if 1.0 - 2.0 * at_most < CONFIDENCE {
            return below.saturating_sub(1);
        }
        exactly *= (count - below) as f64 / (below + 1) as f64;
    }
    (count / 2).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_odd_number_is_the_one_in_the_middle() {
        let summary = Summary::of([3.0, 1.0, 100.0]).unwrap();
        let interval = [1.0, 100.0];
        assert_eq!(summary, Summary { median: 3.0, min: 1.0, max: 100.0, interval, rounds: 3 });
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_two() {
        assert_eq!(Summary::of([4.0, 1.0, 2.0, 8.0]).unwrap().median, 3.0);
    }

    /// From tables of the binomial distribution: 14 values below and above, the third is 98.7 % sure, the fourth 94.3 %.
    #[test]
    fn an_interval_leaves_out_as_many_values_as_are_improbable() {
        let of = |count: u32| Summary::of((1..=count).map(f64::from)).unwrap().interval;
        assert_eq!([of(1), of(5), of(6), of(8)], [[1.0, 1.0], [1.0, 5.0], [1.0, 6.0], [1.0, 8.0]]);
        assert_eq!([of(9), of(14), of(100)], [[2.0, 8.0], [3.0, 12.0], [40.0, 61.0]]);
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(Summary::of([]), None);
    }
}
