//! Charts as SVG.

mod arrows;
mod bars;
mod legend;
mod margins;
mod page;
mod style;

use super::Chart;
use page::Page;
pub(super) use page::escape;

impl Chart {
    /// The chart as an SVG document.
    pub fn svg(&self) -> String {
        render(self, None)
    }

    /// The chart as an SVG document that says what it shows.
    pub fn titled_svg(&self, title: &str) -> String {
        render(self, Some(title))
    }
}

/// The drawing, below `heading` where nothing else says what it shows.
fn render(chart: &Chart, heading: Option<&str>) -> String {
    let mut page = Page::new(chart);
    page.keep_clear_of_bars();
    page.lanes();
    page.bars();
    chart.arrows.iter().for_each(|arrow| page.arrow(arrow));
    chart.arrows.iter().for_each(|arrow| page.label(arrow));
    (0..chart.rows.len()).for_each(|row| page.row(row));
    page.ends();
    page.legend();
    page.finish(heading)
}
