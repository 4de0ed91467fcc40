//! Times, rates and ratios over the size of messages, drawn.

use crate::{Benchmark, Case, Measured, Results};
use carrousel_scenario::units;
use plotters::coord::Shift;
use plotters::coord::combinators::WithKeyPoints;
use plotters::prelude::*;
use std::ops::Range;
use thiserror::Error;

/// The benchmarks that a plot has lines for.
pub const PLOTTED: [Benchmark; 11] = [
    Benchmark::Latency,
    Benchmark::ReuseNone,
    Benchmark::ReuseHalf,
    Benchmark::ReuseFull,
    Benchmark::ReuseRatio,
    Benchmark::MultiLatency,
    Benchmark::Bandwidth,
    Benchmark::Bibandwidth,
    Benchmark::MultiPair,
    Benchmark::MultiBandwidth,
    Benchmark::Overlap,
];

/// Width and height of a panel, in pixels.
const PANEL: (u32, u32) = (680, 440);
const FONT: &str = "sans-serif";
/// Colours that the colour-blind tell apart, by lightness too (Okabe and Ito).
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(240, 228, 66),
];

/// Why there is no plot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlotError {
    /// Nothing that has a line.
    #[error(
        "nothing to plot: measure latency, bandwidth, bibandwidth, overlap, reuse_* or multi_*, of more than 0 bytes"
    )]
    Nothing,
    /// The library that draws refused.
    #[error("cannot plot: {0}")]
    Drawing(String),
}

/// One diagram.
struct Panel<'a> {
    title: &'static str,
    unit: &'static str,
    /// The name of each, and its points.
    lines: Vec<(String, Vec<&'a Measured>)>,
}

/// Draws what was measured, as an SVG document: one diagram for times, one for rates, one for ratios and one for each
/// case of an overlap, with logarithmic axes; at each point a bar from quartile to quartile.
///
/// # Errors
/// When none of [`PLOTTED`] was measured.
pub fn svg(results: &Results) -> Result<String, PlotError> {
    let panels = [
        Panel::new("Latency: half a round trip", "us", None, results),
        Panel::new("Bandwidth: 64 messages at a time", "MB/s", None, results),
        Panel::new("Buffers: time in new ones by that in used ones", "ratio", None, results),
    ];
    let overlaps = Case::ALL.map(|case| {
        let title = match case {
            Case::ReceiverEarly => "Overlap, receiver early: calls, and waits after computing",
            Case::ReceiverEarlyTwo => "Overlap, receiver early, two messages",
            Case::SenderEarly => "Overlap, sender early: calls, and waits after computing",
            Case::SenderEarlyTwo => "Overlap, sender early, two messages",
        };
        Panel::new(title, "us", Some(case), results)
    });
    let panels: Vec<Panel<'_>> = panels.into_iter().chain(overlaps).collect();
    let panels: Vec<&Panel<'_>> = panels.iter().filter(|panel| !panel.lines.is_empty()).collect();
    if panels.is_empty() {
        return Err(PlotError::Nothing);
    }
    let mut text = String::new();
    {
        let size = (PANEL.0, PANEL.1 * panels.len() as u32);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        for (panel, area) in panels.iter().zip(area.split_evenly((panels.len(), 1))) {
            panel.draw(results, &area)?;
        }
        area.present().map_err(failed)?;
    }
    Ok(text)
}

fn failed(error: impl std::fmt::Display) -> PlotError {
    PlotError::Drawing(error.to_string())
}

impl<'a> Panel<'a> {
    /// The results with this unit, of this case of an overlap or without one.
    fn new(title: &'static str, unit: &'static str, case: Option<Case>, results: &'a Results) -> Self {
        let mut lines: Vec<(String, Vec<&'a Measured>)> = Vec::new();
        for benchmark in PLOTTED.into_iter().filter(|benchmark| benchmark.unit() == unit) {
            // Neither nothing nor a message of nothing has a place on a logarithmic axis.
            let can = |measured: &&Measured| {
                let about = measured.record.overlapped.map(|overlapped| overlapped.case);
                about == case && measured.record.size > 0 && measured.record.value > 0.0
            };
            for measured in results.of(benchmark).filter(can) {
                let name = match (measured.record.connections, measured.record.overlapped) {
                    (_, Some(overlapped)) => overlapped.call.name().to_owned(),
                    (Some(1), _) => format!("{}, 1 partner", benchmark.name()),
                    (Some(partners), _) => format!("{}, {partners} partners", benchmark.name()),
                    (None, None) => benchmark.name().to_owned(),
                };
                match lines.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, points)) => points.push(measured),
                    None => lines.push((name, vec![measured])),
                }
            }
        }
        lines.iter_mut().for_each(|(_, points)| points.sort_by_key(|measured| measured.record.size));
        Self { title, unit, lines }
    }

    fn draw(&self, results: &Results, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), PlotError> {
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let sizes = points().map(|measured| measured.record.size as f64);
        let values = points().flat_map(|measured| [measured.low(), measured.record.value, measured.high()]);
        let (x, y) = (around(sizes.clone(), 1.3), around(values, 1.5));
        let (x_marks, y_marks) = (marks_of_sizes(sizes), marks_of_values(&y));
        let title = format!("{} ({} ranks on {} cores)", self.title, results.ranks, results.cores);
        let mut chart = ChartBuilder::on(area)
            .margin(14)
            .caption(title, (FONT, 18))
            .x_label_area_size(46)
            .y_label_area_size(74)
            .build_cartesian_2d(marked(x, x_marks), marked(y, y_marks))
            .map_err(failed)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .axis_desc_style((FONT, 14))
            .label_style((FONT, 13))
            .x_desc("bytes of a message")
            .y_desc(self.unit)
            // As many as there are marks.
            .x_labels(32)
            .y_labels(32)
            .x_label_formatter(&|size| units::size(*size as u64))
            .y_label_formatter(&|value| plain(*value))
            .draw()
            .map_err(failed)?;
        for ((name, points), color) in self.lines.iter().zip(COLORS.into_iter().cycle()) {
            let at = |measured: &&Measured| (measured.record.size as f64, measured.record.value);
            chart
                .draw_series(LineSeries::new(points.iter().map(at), color.stroke_width(2)))
                .map_err(failed)?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
            let dots = points.iter().map(|measured| Circle::new(at(measured), 3, color.filled()));
            chart.draw_series(dots).map_err(failed)?;
            let spreads = points.iter().map(|measured| {
                let size = measured.record.size as f64;
                PathElement::new([(size, measured.low()), (size, measured.high())], color.mix(0.6))
            });
            chart.draw_series(spreads).map_err(failed)?;
        }
        if self.lines.len() > 1 {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::LowerRight)
                .background_style(WHITE)
                .border_style(BLACK.mix(0.2))
                .label_font((FONT, 13))
                .draw()
                .map_err(failed)?;
        }
        Ok(())
    }
}

impl Measured {
    /// The lower quartile, if it has a place on a logarithmic axis.
    fn low(&self) -> f64 {
        self.quartiles.map_or(self.record.value, |[low, _]| low).max(self.record.value / 1e3)
    }

    fn high(&self) -> f64 {
        self.quartiles.map_or(self.record.value, |[_, high]| high)
    }
}

/// A logarithmic axis with these marks.
fn marked(range: Range<f64>, marks: Vec<f64>) -> WithKeyPoints<plotters::coord::combinators::LogCoord<f64>> {
    let coord: plotters::coord::combinators::LogCoord<f64> = range.log_scale().into();
    coord.with_key_points(marks)
}

/// From the least to the greatest of some values above 0, and a little more on both sides.
fn around(values: impl Iterator<Item = f64>, more: f64) -> Range<f64> {
    let (least, greatest) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(least, greatest), value| {
        (least.min(value), greatest.max(value))
    });
    least / more..greatest * more
}

/// The sizes themselves; of many, some.
fn marks_of_sizes(sizes: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sizes: Vec<f64> = sizes.collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let every = sizes.len().div_ceil(10).max(1);
    sizes.into_iter().step_by(every).collect()
}

/// 1, 2 and 5 in each decade; of many decades, 1 only.
fn marks_of_values(range: &Range<f64>) -> Vec<f64> {
    let decades = range.start.log10().floor() as i32..=range.end.log10().ceil() as i32;
    let digits: &[f64] = if range.end / range.start > 1e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let marks = decades.flat_map(|decade| digits.iter().map(move |digit| digit * 10f64.powi(decade)));
    marks.filter(|mark| range.contains(mark)).collect()
}

/// A mark, without the digits that arithmetic left behind.
fn plain(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{}", (value * 1e6).round() / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Summary;
    use crate::{Budget, Overlapped, Step};

    fn results(points: &[(Benchmark, u64, f64)]) -> Results {
        let mut results = Results::new(2, 4, Budget::default());
        for (benchmark, size, median) in points {
            let summary = Summary { median: *median, lower: median * 0.9, upper: median * 1.5, count: 9 };
            // Each further one of a size has a partner more.
            let same = |measured: &&Measured| measured.record.size == *size;
            let connections =
                benchmark.has_connections().then(|| 1 + results.of(*benchmark).filter(same).count() as u32);
            let step = Step { benchmark: *benchmark, size: *size, connections, case: None };
            results.results.push(Measured::new(step, summary));
        }
        results
    }

    /// All text of a plot, after a look at whether it is XML.
    fn words(results: &Results) -> Vec<String> {
        let text = svg(results).expect("it can be drawn");
        let document = roxmltree::Document::parse(&text).expect("it is XML");
        assert_eq!(document.root_element().tag_name().name(), "svg");
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        texts.filter_map(|node| node.text()).map(|text| text.trim().to_owned()).collect()
    }

    #[test]
    fn times_and_rates_have_a_diagram_each() {
        let words = words(&results(&[
            (Benchmark::Latency, 0, 0.1),
            (Benchmark::Latency, 8, 0.12),
            (Benchmark::Latency, 1 << 20, 80.0),
            (Benchmark::Bandwidth, 8, 200.0),
            (Benchmark::Bandwidth, 65536, 9000.0),
            (Benchmark::Bibandwidth, 65536, 12000.0),
        ]));
        for word in ["Latency: half a round trip (2 ranks on 4 cores)", "us", "MB/s", "8", "64KiB", "1MiB"] {
            assert!(words.iter().any(|found| found == word), "{word} is not in {words:?}");
        }
        for word in ["bibandwidth", "bandwidth", "1000", "0.1"] {
            assert!(words.iter().any(|found| found == word), "{word} is not in {words:?}");
        }
    }

    #[test]
    fn each_number_of_partners_has_a_line_and_ratios_a_diagram() {
        let points: Vec<_> =
            (0..9).map(|partner| (Benchmark::MultiBandwidth, 8, 5.0 + f64::from(partner))).collect();
        let lines = words(&results(&points));
        for word in
            ["multi_bandwidth, 1 partner", "multi_bandwidth, 2 partners", "multi_bandwidth, 9 partners"]
        {
            assert!(lines.iter().any(|found| found == word), "{word} is not in {lines:?}");
        }
        let ratios = words(&results(&[(Benchmark::ReuseRatio, 8, 1.1), (Benchmark::ReuseRatio, 64, 3.0)]));
        assert!(ratios.iter().any(|found| found.starts_with("Buffers: ")), "{ratios:?}");
        assert!(
            ratios.iter().any(|found| found == "ratio") && !ratios.iter().any(|found| found == "us"),
            "{ratios:?}"
        );
    }

    #[test]
    fn each_case_of_an_overlap_has_a_diagram_with_a_line_for_each_call() {
        let mut results = results(&[(Benchmark::Latency, 8, 0.12)]);
        let summary = Summary { median: 2.0, lower: 1.0, upper: 4.0, count: 9 };
        for case in [Case::ReceiverEarly, Case::SenderEarlyTwo] {
            for (size, call) in
                [64 << 10, 1 << 20].into_iter().flat_map(|size| case.calls().map(move |call| (size, call)))
            {
                let step = Step { benchmark: Benchmark::Overlap, size, connections: None, case: Some(case) };
                let overlapped = Overlapped { case, call, compute_us: 1000, out_of_order: 0 };
                results.results.push(Measured::of_call(step, summary, overlapped));
            }
        }
        let words = words(&results);
        let count = |word: &str| words.iter().filter(|found| found.starts_with(word)).count();
        assert_eq!(
            (count("Latency: "), count("Overlap, receiver early: "), count("Overlap, ")),
            (1, 1, 2),
            "{words:?}"
        );
        let lines =
            ["irecv", "recv_wait", "isend", "send_wait", "irecv2", "recv_wait2", "isend2", "send_wait2"];
        let found = lines.map(|line| words.iter().filter(|word| *word == line).count());
        assert_eq!(found, [2, 2, 2, 2, 1, 1, 1, 1], "{words:?}");
    }

    #[test]
    fn a_single_point_is_a_plot() {
        let words = words(&results(&[(Benchmark::Latency, 8, 0.2)]));
        assert!(!words.iter().any(|word| word == "MB/s"), "{words:?}");
        assert!(words.iter().any(|word| word == "0.2"), "{words:?}");
    }

    #[test]
    fn what_has_no_place_on_the_axes_is_left_out() {
        let none = results(&[(Benchmark::Latency, 0, 0.2), (Benchmark::Barrier, 0, 0.2)]);
        assert_eq!(svg(&none), Err(PlotError::Nothing));
        assert_eq!(svg(&results(&[(Benchmark::Bandwidth, 8, 0.0)])), Err(PlotError::Nothing));
    }

    #[test]
    fn many_decades_are_marked_less_densely() {
        assert_eq!(marks_of_values(&(0.9..60.0)), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        assert_eq!(marks_of_values(&(0.1..6000.0)), [0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(plain(0.1 * 3.0), "0.3");
        assert_eq!(plain(20000.0), "20000");
    }
}
