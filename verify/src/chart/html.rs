//! A page for one counterexample: its summary, its chart, its steps.

use super::Chart;
use super::svg::escape;
use crate::report::Counterexample;

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.5 system-ui,sans-serif;color:#24292f;background:#fff;margin:2em}\
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}\
p.summary{background:#fff8f8;border-left:4px solid #cf222e;padding:.7em 1em;max-width:70em}\
.chart{overflow-x:auto}\
code{font:13px ui-monospace,Menlo,Consolas,monospace;background:#f3f4f6;border-radius:3px;padding:.1em .3em}\
ol{padding-left:2.5em;max-width:70em}li{margin:.15em 0}.who{color:#57606a}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}p.summary{background:#2a1518}\
code{background:#2b3036}.who{color:#9198a1}}";

impl Chart {
    /// A page with the chart and its explanation, which needs no other file.
    pub fn html(&self, title: &str, counterexample: &Counterexample) -> String {
        let title = escape(title);
        let mut steps = String::new();
        for step in &counterexample.told {
            let line = step.line.map_or_else(String::new, |line| format!(", line {line}"));
            let who = match &*step.who {
                "network" => String::new(),
                who => format!("<span class=\"who\">{who}{line}:</span> "),
            };
            steps.push_str(&format!("<li>{who}{}</li>\n", code(&step.what)));
        }
        let summary = code(&counterexample.sentences);
        let svg = self.svg();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p class=\"summary\">{summary}</p>\n\
         <div class=\"chart\" tabindex=\"0\">\n{svg}</div>\n<h2>Step by step</h2>\n<ol>\n{steps}</ol>\n</body>\n</html>\n"
        )
    }
}

/// Escaped text in which what stands between backquotes is code.
fn code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut out = String::with_capacity(text.len());
    for (index, part) in parts.iter().enumerate() {
        let part = escape(part);
        if index % 2 == 1 && index + 1 < parts.len() {
            out.push_str(&format!("<code>{part}</code>"));
        } else {
            out.push_str(&part);
        }
    }
    out
}
