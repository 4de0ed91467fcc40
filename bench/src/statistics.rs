//! The middle of many values, and how far they spread.

use serde::Serialize;

/// Many values in four numbers. Medians and quartiles, because a machine that does something else for a
/// moment makes values that are many times too large, and a mean would be about these.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Half of the values are smaller.
    pub median: f64,
    /// A quarter of the values are smaller.
    pub lower: f64,
    /// A quarter of the values are greater.
    pub upper: f64,
    /// How many values there are.
    pub count: usize,
}

impl Summary {
    /// Of no values.
    pub(crate) const NONE: Self = Self { median: 0.0, lower: 0.0, upper: 0.0, count: 0 };

    /// Of any values, if there are some; sorts them.
    pub fn of(values: &mut [f64]) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let quantile = |share| quantile(values, share);
        Some(Self {
            median: quantile(0.5)?,
            lower: quantile(0.25)?,
            upper: quantile(0.75)?,
            count: values.len(),
        })
    }

    /// Between which two values the median of ever more values would be, by 95 in 100, if about the median they are spread
    /// as normal ones: as the notches of box plots (McGill, Tukey and Larsen, "Variations of box plots", The American
    /// Statistician 32, 1978), but of one median by itself. Of few values it is wide.
    pub fn sure(self) -> [f64; 2] {
        // A median is as sure as 1.253 standard deviations by the root of the number; the quartiles are 1.349 of them apart.
        const SHARE: f64 = 1.96 * 1.253 / 1.349;
        let to_either_side = SHARE * (self.upper - self.lower) / (self.count.max(1) as f64).sqrt();
        [self.median - to_either_side, self.median + to_either_side]
    }

    /// The values seen through a function that never turns back: quartiles stay quartiles, and change
    /// their places if it falls.
    pub(crate) fn map(self, through: impl Fn(f64) -> f64) -> Self {
        let (a, b) = (through(self.lower), through(self.upper));
        Self { median: through(self.median), lower: a.min(b), upper: a.max(b), count: self.count }
    }
}

/// Between the two nearest of sorted values, by distance.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share * last as f64;
    let below = (at.floor() as usize).min(last);
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (at - below as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_that_is_far_off_does_not_show() {
        let summary = Summary::of(&mut [3.0, 1.0, 2.0, 900.0, 2.5]).expect("there are values");
        assert_eq!(summary, Summary { median: 2.5, lower: 2.0, upper: 3.0, count: 5 });
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_two() {
        let summary = Summary::of(&mut [4.0, 1.0, 2.0, 8.0]).expect("there are values");
        assert_eq!((summary.median, summary.lower, summary.upper), (3.0, 1.75, 5.0));
    }

    #[test]
    fn of_more_values_the_median_is_surer() {
        let of = |count| {
            let [least, most] = Summary { median: 2.0, lower: 1.0, upper: 3.0, count }.sure();
            [(least * 1e3).round(), (most * 1e3).round()]
        };
        assert_eq!(of(4), [179.0, 3821.0]);
        assert_eq!(of(400), [1818.0, 2182.0]);
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(Summary::of(&mut []), None);
    }

    #[test]
    fn a_rate_falls_as_the_time_grows() {
        let times = Summary { median: 2.0, lower: 1.0, upper: 4.0, count: 3 };
        assert_eq!(times.map(|time| 8.0 / time), Summary { median: 4.0, lower: 2.0, upper: 8.0, count: 3 });
    }
}
