//! The room left of a lane for its epochs, and for what its rank sends to itself.

use crate::chart::Chart;

/// Pixels from one bar to the next.
pub(super) const COLUMN: usize = 19;
/// Pixels between a lane and its nearest bar.
pub(super) const GAP: usize = 10;
/// Pixels for what a rank sends to itself.
const LOOP: usize = 16;

/// Pixels that a lane needs at its left.
pub(super) fn margin(chart: &Chart, lane: usize) -> usize {
    let bars = match chart.columns(lane) {
        0 => 0,
        columns => columns * COLUMN + GAP,
    };
    bars + loops(chart, lane)
}

/// Pixels between a lane and its bars for what the rank sends to itself.
pub(super) fn loops(chart: &Chart, lane: usize) -> usize {
    if chart.arrows.iter().any(|arrow| arrow.is_loop() && arrow.from == lane) { LOOP } else { 0 }
}
