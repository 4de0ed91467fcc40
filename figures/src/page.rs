//! All figures on a page that needs nothing else.

use crate::chart::{COLORS, svg};
use crate::figure::{Figure, Panel, Place, Scale, short};
use crate::measure::{FigureError, size};
use crate::summary::Reproduction;
use std::fmt::Write;

const STYLE: &str = ":root{color-scheme:light dark;--line:#d0d7de;--soft:#59636e;--good:#1a7f37;--bad:#cf222e;--paper:#fff;--ink:#1f2328}\
@media(prefers-color-scheme:dark){:root{--line:#3d444d;--soft:#9198a1;--good:#3fb950;--bad:#f85149;--paper:#0d1117;--ink:#f0f6fc}}\
body{margin:2em auto;max-width:1200px;padding:0 1em;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}\
h1{font-size:1.6em}h2{margin-top:2.5em;border-bottom:1px solid var(--line)}h3{margin:2em 0 .3em}h4{margin:0;min-height:1.5em;font-size:.95em;font-weight:600}\
a{color:inherit}table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.1em 1em .1em 0;text-align:left;vertical-align:top}\
td.n,th.n{text-align:right}th{font-weight:600;border-bottom:1px solid var(--line)}.soft{color:var(--soft)}\
.panels{display:flex;flex-wrap:wrap;gap:1.2em;margin:.8em 0}.panel{width:560px;max-width:100%}.panel svg,img{max-width:100%;height:auto}\
.key{display:flex;flex-wrap:wrap;gap:.1em 1em;font-size:.9em}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.4em;border-radius:2px}\
ul{margin:.3em 0;padding-left:1.2em}li.good{list-style:\"✓  \"}li.bad{list-style:\"✗  \";color:var(--bad);font-weight:600}li.good::marker{color:var(--good)}\
details{margin:.3em 0}summary{cursor:pointer;color:var(--soft)}details table{font-size:.85em}";

/// The page.
///
/// # Errors
/// If a diagram cannot be drawn.
pub fn html(reproduction: &Reproduction) -> Result<String, FigureError> {
    let mut page = Page::default();
    let (held, all) = reproduction.relations();
    page.add(format_args!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Figures of the papers</title>\n\
         <style>{STYLE}</style></head>\n<body>\n<h1>The papers' figures in virtual time</h1>\n\
         <p>{held} of {all} relations hold. A filled mark or a bar is what comes out here; a hollow mark, or a line across a bar, \
         is the number that the paper's text states. Where a paper only draws a curve, there is none. Relations are the paper's \
         sentences about shapes; each says by which numbers it is decided. Series are the simulator's, with the ranks that ship.</p>"
    ));
    page.contents(reproduction);
    for family in &reproduction.families {
        page.add(format_args!("<h2>{}</h2>", escape(&family.title)));
        for figure in &family.figures {
            page.figure(figure)?;
        }
    }
    page.add(format_args!("</body></html>"));
    Ok(page.0)
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(text);
        self.0.push('\n');
    }

    fn contents(&mut self, reproduction: &Reproduction) {
        self.add(format_args!(
            "<table><tr><th>figure</th><th></th><th class=\"n\">relations</th><th class=\"n\">here / paper</th></tr>"
        ));
        for figure in reproduction.figures() {
            let row = figure.row();
            let (id, title) = (escape(&figure.id), escape(&figure.title));
            let mark = if row.held == row.relations { "" } else { " style=\"color:var(--bad)\"" };
            self.add(format_args!(
                "<tr{mark}><td><a href=\"#{}\">{id}</a></td><td>{title}</td><td class=\"n\">{} / {}</td><td class=\"n\">{}</td></tr>",
                anchor(&figure.id), row.held, row.relations, row.ratios
            ));
        }
        self.add(format_args!("</table>"));
    }

    fn figure(&mut self, figure: &Figure) -> Result<(), FigureError> {
        let (id, title) = (escape(&figure.id), escape(&figure.title));
        self.add(format_args!("<section id=\"{}\">\n<h3>{id}: {title}</h3>", anchor(&figure.id)));
        self.add(format_args!("<p class=\"soft\">{}</p>\n<div class=\"panels\">", escape(&figure.setup)));
        for panel in &figure.panels {
            self.panel(panel)?;
        }
        self.add(format_args!("</div>"));
        if !figure.drawings.is_empty() {
            self.add(format_args!("<details><summary>{} drawings</summary>", figure.drawings.len()));
            for drawing in &figure.drawings {
                // As an image: its style sheet is its own.
                let (title, address) = (escape(&drawing.title), data_address(&drawing.svg));
                self.add(format_args!("<img alt=\"{title}\" src=\"{address}\">"));
            }
            self.add(format_args!("</details>"));
        }
        self.add(format_args!("<ul>"));
        for relation in &figure.relations {
            self.add(format_args!(
                "<li class=\"{}\">{} <span class=\"soft\">({})</span></li>",
                if relation.holds { "good" } else { "bad" },
                escape(&relation.says),
                escape(&relation.by)
            ));
        }
        self.add(format_args!("</ul>"));
        for difference in &figure.differences {
            self.add(format_args!("<p><b>Different here.</b> {}</p>", escape(difference)));
        }
        self.add(format_args!("</section>"));
        Ok(())
    }

    fn panel(&mut self, panel: &Panel) -> Result<(), FigureError> {
        self.add(format_args!("<div class=\"panel\"><h4>{}</h4>\n{}", escape(&panel.title), svg(panel)?));
        self.add(format_args!("<div class=\"key\">"));
        for (series, color) in panel.series.iter().zip(COLORS.into_iter().cycle()) {
            let plotters::style::RGBColor(red, green, blue) = color;
            self.add(format_args!(
                "<span><i style=\"background:rgb({red},{green},{blue})\"></i>{}</span>",
                escape(&series.full_name())
            ));
        }
        self.add(format_args!(
            "</div>\n<details><summary>numbers</summary><table><tr><th>series</th><th>{}</th><th class=\"n\">here</th>\
             <th class=\"n\">paper</th><th class=\"n\">ratio</th></tr>",
            escape(&panel.x)
        ));
        for series in &panel.series {
            for point in &series.points {
                let x = match &point.x {
                    Place::Name(name) => name.clone(),
                    Place::Number(number) if panel.scale == Scale::Sizes => size(*number as u64),
                    Place::Number(number) => short(*number),
                };
                let [paper, ratio] =
                    [point.paper, point.ratio].map(|number| number.map_or(String::new(), short));
                self.add(format_args!(
                    "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{paper}</td><td class=\"n\">{ratio}</td></tr>",
                    escape(&series.full_name()),
                    escape(&x),
                    short(point.here)
                ));
            }
        }
        self.add(format_args!("</table></details></div>"));
        Ok(())
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An SVG document as the address of an image.
fn data_address(svg: &str) -> String {
    let mut address = "data:image/svg+xml,".to_owned();
    for byte in svg.bytes() {
        match byte {
            // Neither ends the attribute, nor means something in an address.
            b' ' | b'!' | b'\'' | b'('..=b';' | b'=' | b'?'..=b'Z' | b'_' | b'a'..=b'z' => {
                address.push(char::from(byte))
            }
            _ => address += &format!("%{byte:02X}"),
        }
    }
    address
}

/// A name for links.
fn anchor(id: &str) -> String {
    id.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Comparison, Drawing, Point};
    use crate::summary::FamilyDrawn;

    #[test]
    fn a_page_has_every_figure_and_needs_nothing_else() {
        let mut figure = Figure::new("XX <1>", "a & b", "set up");
        let mut panel = Panel::new("", "n", Scale::Names, "us");
        panel.series("ours [theirs]", vec![Point::named("x", 3.0).paper(2.0)]);
        figure.panels.push(panel);
        figure.says("it holds", [Comparison::near("x", 1.0, 1.0, 1.0)]);
        figure.says("it does not", [Comparison::near("x", 1.0, 2.0, 1.0)]);
        figure.differs("because");
        let svg = "<svg>100 %\n</svg>".to_owned();
        figure.drawings.push(Drawing { title: "run".to_owned(), svg });
        let family = FamilyDrawn { title: "family".to_owned(), figures: vec![figure] };
        let html = html(&Reproduction { version: 1, families: vec![family] }).expect("it can be drawn");
        for part in [
            "XX &lt;1&gt;: a &amp; b",
            "1 of 2 relations hold",
            "<li class=\"good\">it holds",
            "<li class=\"bad\">it does not",
            "<b>Different here.</b> because",
            "<td class=\"n\">1.500</td>",
            "ours [theirs]",
            "<img alt=\"run\" src=\"data:image/svg+xml,%3Csvg%3E100 %25%0A%3C/svg%3E\">",
        ] {
            assert!(html.contains(part), "{part} is missing: {html}");
        }
        // No network: the only address is the name space of the drawings.
        let addresses = html.matches("://").count();
        assert_eq!(addresses, html.matches("http://www.w3.org/2000/svg").count(), "{html}");
        assert!(!html.contains("<script"), "{html}");
    }
}
