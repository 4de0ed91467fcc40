//! The drawing in a page of its own.

use super::draw::svg;
use super::text::escape;
use crate::Report;

/// The timeline as a page that needs nothing else.
pub fn html(report: &Report) -> String {
    let title = escape(&report.scenario);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\n\
         <body style=\"margin:1em\">\n{}\n</body></html>\n",
        svg(report)
    )
}
