//! A panel, drawn.

use crate::figure::{Panel, Place, Point, Scale, Series};
use crate::measure::{FigureError, size};
use plotters::coord::Shift;
use plotters::coord::combinators::LogCoord;
use plotters::prelude::*;
use std::ops::Range;

/// Width and height of a panel, in pixels.
const PANEL: (u32, u32) = (560, 330);
const FONT: &str = "sans-serif";
/// Colours that the colour-blind tell apart (Okabe and Ito), without those that vanish on white or on black.
pub(crate) const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
/// The colour of the text around the drawing: stands for it until the drawing is finished.
const INK: RGBColor = RGBColor(1, 2, 3);
const INK_WRITTEN: &str = "#010203";
/// What a group of bars takes of its place.
const GROUP: f64 = 0.8;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A panel as an SVG document that takes on the colour of the text around it; without a legend. A filled mark or a bar is
/// ours, a hollow mark or a line across a bar the paper's.
///
/// # Errors
/// If the library that draws refuses.
pub fn svg(panel: &Panel) -> Result<String, FigureError> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, PANEL).into_drawing_area();
        match panel.scale {
            Scale::Names => bars(panel, &area)?,
            Scale::Linear => lines(panel, &area, around(panel))?,
            Scale::Sizes => {
                let axis: LogCoord<f64> = around(panel).log_scale().into();
                lines(panel, &area, axis.with_key_points(marks(panel)))?;
            }
        }
        area.present().map_err(failed)?;
    }
    Ok(text.replace(INK_WRITTEN, "currentColor"))
}

fn failed(error: impl std::fmt::Display) -> FigureError {
    FigureError::Drawing(error.to_string())
}

impl Panel {
    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }

    /// The names on its axis, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for point in self.points() {
            if let Place::Name(name) = &point.x
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        }
        names
    }

    /// From 0, or the least value below it, to a little above the greatest.
    fn values(&self) -> Range<f64> {
        let values = || self.points().flat_map(|point| [Some(point.here), point.paper].into_iter().flatten());
        let (least, most) =
            values().fold((0.0, 0.0), |(least, most): (f64, f64), value| (least.min(value), most.max(value)));
        let room = (most - least).max(1e-3) * 0.08;
        (if least < 0.0 { least - room } else { 0.0 })..most + room
    }
}

fn number(point: &Point) -> f64 {
    match point.x {
        Place::Number(number) => number,
        Place::Name(_) => 0.0,
    }
}

/// From the least number on the axis to the greatest, and a little more; of nothing, any range.
fn around(panel: &Panel) -> Range<f64> {
    let range = panel.points().map(number).fold(None, |range: Option<(f64, f64)>, at| {
        Some(range.map_or((at, at), |(least, most)| (least.min(at), most.max(at))))
    });
    let (least, most) = range.unwrap_or((1.0, 2.0));
    if panel.scale == Scale::Sizes {
        return least.max(1.0) / 1.3..most.max(2.0) * 1.3;
    }
    let room = (most - least).max(1e-3) * 0.04;
    least - room..most + room
}

/// The sizes themselves; of many, some.
fn marks(panel: &Panel) -> Vec<f64> {
    let mut sizes: Vec<f64> = panel.points().map(number).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let every = sizes.len().div_ceil(6).max(1);
    // From the greatest on down, which a figure is mostly about.
    sizes.into_iter().rev().step_by(every).collect()
}

/// The value at a mark, without the digits that arithmetic left behind.
fn plain(value: f64) -> String {
    let rounded = (value * 1e4).round() / 1e4;
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

fn lines<X>(panel: &Panel, area: &Area<'_>, x: X) -> Result<(), FigureError>
where
    X: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
    X::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(22)
        .x_label_area_size(40)
        .y_label_area_size(58)
        .build_cartesian_2d(x, panel.values())
        .map_err(failed)?;
    let is_sizes = panel.scale == Scale::Sizes;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.15))
        .axis_style(INK.mix(0.5))
        .axis_desc_style((FONT, 13, &INK))
        .label_style((FONT, 12, &INK))
        .x_desc(panel.x.as_str())
        .y_desc(panel.y.as_str())
        .x_labels(if is_sizes { 32 } else { 9 })
        .y_labels(7)
        .x_label_formatter(&|x| if is_sizes { size(x.round() as u64) } else { plain(*x) })
        .y_label_formatter(&|y| plain(*y))
        .draw()
        .map_err(failed)?;
    let count = panel.series.len() as i32;
    for (at, (Series { points, .. }, color)) in (1..).zip(panel.series.iter().zip(COLORS.into_iter().cycle()))
    {
        // Marks of several series at one place are rings around each other.
        let radius = 3 + (count - at).min(5);
        let here = points.iter().map(|point| (number(point), point.here));
        chart.draw_series(LineSeries::new(here.clone(), color.stroke_width(2))).map_err(failed)?;
        chart.draw_series(here.map(|at| Circle::new(at, radius, color.filled()))).map_err(failed)?;
        let paper = points.iter().filter_map(|point| point.paper.map(|paper| (number(point), paper)));
        chart
            .draw_series(paper.map(|at| Circle::new(at, radius + 3, color.stroke_width(2))))
            .map_err(failed)?;
    }
    Ok(())
}

fn bars(panel: &Panel, area: &Area<'_>) -> Result<(), FigureError> {
    let names = panel.names();
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(40)
        .y_label_area_size(58)
        .build_cartesian_2d(-0.5..names.len() as f64 - 0.5, panel.values())
        .map_err(failed)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.15))
        .axis_style(INK.mix(0.5))
        .axis_desc_style((FONT, 13, &INK))
        .label_style((FONT, 12, &INK))
        .x_desc(panel.x.as_str())
        .y_desc(panel.y.as_str())
        .x_labels(0)
        .y_labels(7)
        .y_label_formatter(&|y| plain(*y))
        .draw()
        .map_err(failed)?;
    let width = GROUP / panel.series.len().max(1) as f64;
    let left = |name: &str, series: usize| {
        let group = names.iter().position(|known| *known == name).unwrap_or_default();
        group as f64 - GROUP / 2.0 + width * series as f64
    };
    for (at, (series, color)) in panel.series.iter().zip(COLORS.into_iter().cycle()).enumerate() {
        for point in &series.points {
            let Place::Name(name) = &point.x else { continue };
            let left = left(name, at);
            let bar = [(left + width * 0.05, 0.0), (left + width * 0.95, point.here)];
            chart.draw_series([Rectangle::new(bar, color.filled())]).map_err(failed)?;
            if let Some(paper) = point.paper {
                let across = vec![(left, paper), (left + width, paper)];
                chart.draw_series([PathElement::new(across, INK.stroke_width(3))]).map_err(failed)?;
            }
        }
    }
    // The axis has marks at numbers; names stand below the middle of their groups.
    let style = (FONT, 12, &INK).into_text_style(area).pos(plotters::style::text_anchor::Pos::new(
        plotters::style::text_anchor::HPos::Center,
        plotters::style::text_anchor::VPos::Top,
    ));
    let bottom = PANEL.1 as i32 - 8 - 40 + 5;
    for (at, name) in names.iter().enumerate() {
        let (x, _) = chart.backend_coord(&(at as f64, 0.0));
        area.draw(&Text::new(*name, (x, bottom), style.clone())).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(scale: Scale, series: &[&[Point]]) -> String {
        let mut panel = Panel::new("", "x", scale, "us");
        series.iter().for_each(|points| panel.series("ours [theirs]", points.to_vec()));
        svg(&panel).expect("it can be drawn")
    }

    /// Elements with this tag whose attributes have this text.
    fn count(svg: &str, tag: &str, attribute: &str) -> usize {
        let document = roxmltree::Document::parse(svg).expect("it is well-formed");
        let has = |node: &roxmltree::Node<'_, '_>| node.attributes().any(|it| it.value() == attribute);
        document.descendants().filter(|node| node.has_tag_name(tag) && has(node)).count()
    }

    #[test]
    fn ours_is_filled_and_the_papers_is_hollow() {
        let points = [Point::at(4.0, 1.0), Point::at(1024.0, 2.0).paper(2.5)];
        for scale in [Scale::Linear, Scale::Sizes] {
            let svg = drawn(scale, &[&points]);
            assert_eq!(count(&svg, "circle", "#0072B2"), 3, "{svg}");
            assert_eq!(count(&svg, "circle", "none"), 1 + 2, "{svg}");
        }
    }

    #[test]
    fn each_name_has_its_group_of_bars() {
        let points = [Point::named("a & b", 1.0), Point::named("c", -2.0).paper(-1.0)];
        let svg = drawn(Scale::Names, &[&points, &points]);
        assert_eq!((count(&svg, "rect", "#0072B2"), count(&svg, "rect", "#D55E00")), (2, 2), "{svg}");
        let document = roxmltree::Document::parse(&svg).expect("it is well-formed");
        let has = |name: &str| {
            document.descendants().any(|node| node.text().is_some_and(|text| text.trim() == name))
        };
        assert!(has("a & b") && has("c"), "{svg}");
    }

    #[test]
    fn a_drawing_takes_on_the_colour_of_the_text() {
        let svg = drawn(Scale::Linear, &[&[Point::at(1.0, 1.0), Point::at(2.0, 1.0)]]);
        assert!(svg.contains("currentColor") && !svg.contains(INK_WRITTEN), "{svg}");
    }

    #[test]
    fn a_panel_of_nothing_can_be_drawn() {
        for scale in [Scale::Linear, Scale::Sizes, Scale::Names] {
            drawn(scale, &[]);
            drawn(scale, &[&[]]);
        }
    }
}
