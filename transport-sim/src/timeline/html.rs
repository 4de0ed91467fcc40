//! The drawing in a page of its own.

use super::draw::svg;
use super::text::escape;
use crate::Report;

const STYLE: &str = ":root{color-scheme:light dark}body{margin:1em;background:#fff}\
@media(prefers-color-scheme:dark){body{background:#0d1117}}";

/// The timeline as a page that needs nothing else.
pub fn html(report: &Report) -> String {
    let title = escape(&report.scenario);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>{STYLE}</style></head>\n\
         <body>\n{}\n</body></html>\n",
        svg(report)
    )
}
