//! The progress suite: what a driver owes to a rank before a call, and that data then moves while both ranks compute.

use super::bounded::{BoundedFamily, bounded};
use super::{SuiteReport, SuiteSettings};
use crate::progress::ProgressBounds;

/// The bounds.
fn families(full: bool) -> Vec<ProgressBounds> {
    let bounds = |sends, receives, tags| ProgressBounds { sends, receives, tags, window: None };
    let room = |window, bounds| ProgressBounds { window: Some(window), ..bounds };
    let mut families = vec![bounds(1, 1, 2), bounds(2, 2, 1), bounds(2, 2, 2), bounds(3, 3, 1)];
    families.extend([room(1, bounds(2, 2, 2)), room(1, bounds(3, 3, 1)), room(2, bounds(3, 3, 1))]);
    if full {
        families.extend([bounds(3, 2, 2), bounds(2, 3, 2), bounds(4, 4, 1)]);
        families.extend([room(2, bounds(4, 4, 1)), room(3, bounds(4, 4, 1))]);
    }
    families
}

/// Explores initial progress with every rule on.
pub fn progress(settings: &SuiteSettings<'_>) -> SuiteReport {
    let family = |bounds: ProgressBounds| BoundedFamily {
        name: bounds.name(),
        bounds,
        must_reach: bounds.must_reach(),
    };
    let families: Vec<_> = families(settings.full).into_iter().map(family).collect();
    bounded("progress", &families, settings)
}
