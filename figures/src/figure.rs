//! A figure: its panels with their series, and what the paper says of them.

use serde::Serialize;

/// A figure of a paper, as it comes out here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The paper, and the number there: `NB 2`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The paper's set-up.
    pub setup: String,
    /// Its diagrams.
    pub panels: Vec<Panel>,
    /// Runs, and counterexamples.
    #[serde(skip)]
    pub drawings: Vec<Drawing>,
    /// What the paper says of all that.
    pub relations: Vec<Relation>,
    /// Where ours has another shape, and why.
    pub differences: Vec<String>,
}

/// A run, drawn in time, or a counterexample, step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// What it shows.
    pub title: String,
    /// The drawing, an SVG document.
    pub svg: String,
}

/// A diagram.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// What tells it from the figure's others; empty if there is one.
    pub title: String,
    /// The label of the horizontal axis.
    pub x: String,
    /// How numbers stand on it.
    pub scale: Scale,
    /// The label of the vertical axis.
    pub y: String,
    /// What is drawn.
    pub series: Vec<Series>,
}

/// How the numbers of a horizontal axis are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Numbers, in proportion.
    Linear,
    /// Bytes, by their logarithm.
    Sizes,
    /// Names, as groups of bars.
    Names,
}

/// The points of one implementation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Our name.
    pub name: String,
    /// The paper's, if it has another.
    pub in_paper: Option<String>,
    /// In the order of the axis.
    pub points: Vec<Point>,
}

/// One point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Where on the axis.
    pub x: Place,
    /// What comes out here.
    pub here: f64,
    /// What the paper's text states.
    pub paper: Option<f64>,
    /// The former by the latter.
    pub ratio: Option<f64>,
}

/// A place on a horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Place {
    /// A number.
    Number(f64),
    /// A name.
    Name(String),
}

/// A sentence of the paper, and whether it is true here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Relation {
    /// The sentence.
    pub says: String,
    /// Whether it is true.
    pub holds: bool,
    /// The numbers that decide it: of several, those that are nearest to deciding otherwise.
    pub by: String,
}

impl Figure {
    pub(crate) fn new(id: &str, title: &str, setup: &str) -> Self {
        let [id, title, setup] = [id, title, setup].map(str::to_owned);
        Self {
            id,
            title,
            setup,
            panels: Vec::new(),
            drawings: Vec::new(),
            relations: Vec::new(),
            differences: Vec::new(),
        }
    }

    /// A sentence that all of these comparisons have to bear out.
    pub(crate) fn says(&mut self, says: impl Into<String>, all: impl IntoIterator<Item = Comparison>) {
        self.relations.push(Relation::of(says.into(), all));
    }

    /// A sentence that is true or not, without a number to be near.
    pub(crate) fn fact(&mut self, says: impl Into<String>, holds: bool, by: impl Into<String>) {
        self.relations.push(Relation { says: says.into(), holds, by: by.into() });
    }

    /// Ours has another shape, and why.
    pub(crate) fn differs(&mut self, why: &str) {
        self.differences.push(why.to_owned());
    }

    /// The relations that do not hold.
    pub fn broken(&self) -> impl Iterator<Item = &Relation> {
        self.relations.iter().filter(|relation| !relation.holds)
    }

    /// All points with a number of the paper.
    pub fn ratios(&self) -> impl Iterator<Item = f64> {
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        series.flat_map(|series| &series.points).filter_map(|point| point.ratio)
    }
}

impl Panel {
    pub(crate) fn new(title: &str, x: &str, scale: Scale, y: &str) -> Self {
        let [title, x, y] = [title, x, y].map(str::to_owned);
        Self { title, x, scale, y, series: Vec::new() }
    }

    /// A further series, under our name and, in brackets, the paper's: `lazy [MVAPICH]`.
    pub(crate) fn series(&mut self, name: &str, points: Vec<Point>) {
        let (name, in_paper) = match name.split_once(" [") {
            Some((name, rest)) => (name, Some(rest.trim_end_matches(']').to_owned())),
            None => (name, None),
        };
        self.series.push(Series { name: name.to_owned(), in_paper, points });
    }
}

impl Series {
    /// `lazy [MVAPICH]`.
    pub fn full_name(&self) -> String {
        match &self.in_paper {
            Some(paper) => format!("{} [{paper}]", self.name),
            None => self.name.clone(),
        }
    }
}

impl Point {
    pub(crate) fn at(x: f64, here: f64) -> Self {
        Self { x: Place::Number(x), here, paper: None, ratio: None }
    }

    pub(crate) fn named(x: &str, here: f64) -> Self {
        Self { x: Place::Name(x.to_owned()), here, paper: None, ratio: None }
    }

    /// The same, with what the paper states.
    pub(crate) fn paper(mut self, paper: impl Into<Option<f64>>) -> Self {
        self.paper = paper.into();
        self.ratio = self.paper.filter(|paper| *paper != 0.0).map(|paper| self.here / paper);
        self
    }
}

/// A number of ours, and between which it has to be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    what: String,
    here: f64,
    least: f64,
    most: f64,
    /// As a person reads it.
    bound: String,
}

impl Comparison {
    /// As far as `percent` from it.
    pub(crate) fn near(what: impl Into<String>, here: f64, expected: f64, percent: f64) -> Self {
        let far = expected.abs() * percent / 100.0;
        let bound = format!("{} (± {percent} %)", short(expected));
        Self { what: what.into(), here, least: expected - far, most: expected + far, bound }
    }

    /// And so much further: what calls and packets take, which does not grow with the sizes.
    pub(crate) fn or_by(mut self, far: f64) -> Self {
        self.least -= far;
        self.most += far;
        self.bound += &format!(" and {}", short(far));
        self
    }

    pub(crate) fn at_most(what: impl Into<String>, here: f64, most: f64) -> Self {
        let bound = format!("at most {}", short(most));
        Self { what: what.into(), here, least: f64::NEG_INFINITY, most, bound }
    }

    pub(crate) fn at_least(what: impl Into<String>, here: f64, least: f64) -> Self {
        let bound = format!("at least {}", short(least));
        Self { what: what.into(), here, least, most: f64::INFINITY, bound }
    }

    pub(crate) fn between(what: impl Into<String>, here: f64, least: f64, most: f64) -> Self {
        let bound = format!("{} to {}", short(least), short(most));
        Self { what: what.into(), here, least, most, bound }
    }

    fn holds(&self) -> bool {
        (self.least..=self.most).contains(&self.here)
    }

    /// How far it is from the nearer bound, as a part of that; below 0 outside of them.
    fn margin(&self) -> f64 {
        let of = |room: f64, bound: f64| room / bound.abs().max(1e-9);
        of(self.here - self.least, self.least).min(of(self.most - self.here, self.most))
    }
}

impl Relation {
    fn of(says: String, all: impl IntoIterator<Item = Comparison>) -> Self {
        let all: Vec<Comparison> = all.into_iter().collect();
        let margin = |comparison: &Comparison| {
            let margin = comparison.margin();
            // What is no number is worse than all numbers.
            if margin.is_nan() && !comparison.holds() { f64::NEG_INFINITY } else { margin }
        };
        let Some(worst) = all.iter().min_by(|a, b| margin(a).total_cmp(&margin(b))) else {
            return Self { says, holds: false, by: "nothing was compared".to_owned() };
        };
        let Comparison { what, here, bound, .. } = worst;
        let of =
            if all.len() > 1 { format!(", of {} the nearest to failing", all.len()) } else { String::new() };
        let by = format!("{what}: {}, expected {bound}{of}", short(*here));
        Self { says, holds: all.iter().all(Comparison::holds), by }
    }
}

/// A number with three digits, or all before the point.
pub(crate) fn short(number: f64) -> String {
    match number.abs() {
        100.0.. => format!("{number:.0}"),
        10.0.. => format!("{number:.1}"),
        _ if number == number.trunc() => format!("{number:.0}"),
        0.01.. => format!("{number:.3}"),
        _ => format!("{number:.5}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_shows_the_comparison_that_is_nearest_to_failing() {
        let relation = Relation::of(
            "all are near".to_owned(),
            [Comparison::near("a", 101.0, 100.0, 2.0), Comparison::near("b", 101.9, 100.0, 2.0)],
        );
        assert!(relation.holds);
        assert_eq!(relation.by, "b: 102, expected 100 (± 2 %), of 2 the nearest to failing");
    }

    #[test]
    fn one_comparison_outside_breaks_a_relation() {
        let holds = |comparison| Relation::of(String::new(), [comparison]).holds;
        assert!(holds(Comparison::at_least("", 0.8, 0.8)) && !holds(Comparison::at_least("", 0.79, 0.8)));
        assert!(holds(Comparison::at_most("", 0.8, 0.8)) && !holds(Comparison::at_most("", 0.81, 0.8)));
        assert!(
            holds(Comparison::between("", -1.0, -2.0, 0.0)) && !holds(Comparison::between("", 1.0, 0.0, 0.5))
        );
        assert!(!holds(Comparison::near("", f64::NAN, 1.0, 2.0)));
        let two = [Comparison::at_most("", 1.0, 0.5), Comparison::at_most("", 0.0, 0.5)];
        assert!(!Relation::of(String::new(), two).holds);
        assert!(!Relation::of(String::new(), []).holds, "nothing is no evidence");
    }

    #[test]
    fn a_point_with_a_number_of_the_paper_has_their_ratio() {
        assert_eq!(Point::at(1.0, 3.0).paper(2.0).ratio, Some(1.5));
        assert_eq!(Point::at(1.0, 3.0).ratio, None);
    }

    #[test]
    fn the_papers_name_stands_in_brackets() {
        let mut panel = Panel::new("", "", Scale::Names, "");
        panel.series("lazy [MVAPICH]", Vec::new());
        let series = &panel.series[0];
        assert_eq!((series.name.as_str(), series.in_paper.as_deref()), ("lazy", Some("MVAPICH")));
        assert_eq!(series.full_name(), "lazy [MVAPICH]");
    }
}
