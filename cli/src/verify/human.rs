//! A report for a person: the verdicts, then each counterexample.

use super::args::{Protocol, VerifyArgs};
use super::verdict::Conclusion;
use crate::failure::Failure;
use crate::numbers::{count, seconds};
use crate::out::Out;
use crate::status::Status;
use crate::style::{Paint, Style};
use crate::table::{Align, Cell, Table};
use carrousel_scenario::{Check, Scenario};
use carrousel_verify::explore::Stopped;
use carrousel_verify::report::{CheckReport, Counterexample, Report, Verdict};
use carrousel_verify::words::words_of;

/// Prints a report.
pub(crate) fn print(
    args: &VerifyArgs,
    scenario: &Scenario,
    report: &Report,
    conclusion: &Conclusion,
    out: &mut Out,
) -> Result<(), Failure> {
    let style = out.style;
    out.line(&heading(args, scenario, report, style))?;
    let mut table = Table::plain(&[Align::Left, Align::Left, Align::Left]);
    for check in &report.checks {
        let remark = remark(scenario, report, check);
        table.row([
            check.name.into(),
            verdict_cell(check.verdict, check.check.is_note()),
            Cell::painted(remark, Paint::Faint),
        ]);
    }
    out.text(&table.render(2, style))?;
    out.line(&format!("  {}", effort(report)))?;
    let mut words = Words::default();
    let mut sections: Vec<Section> = Vec::new();
    let mut lines = HEAD_LINES + report.checks.len();
    for check in &report.checks {
        let Some(counterexample) = &check.counterexample else { continue };
        let other = report.checks.iter().take_while(|other| other.check != check.check);
        let mut others = other.filter_map(|other| other.counterexample.as_ref());
        let telling = if args.full {
            Telling::Steps
        } else if check.check.is_note() && report.verdict == Verdict::Violated {
            Telling::Sentences
        } else if others.any(|other| same_steps(other, counterexample)) {
            Telling::AsAbove
        } else {
            Telling::Steps
        };
        let before = words.clone();
        let mut section = Section::new(check, counterexample, telling, &mut words, style);
        // The steps of a second violation are told if there is room: the first one mends most.
        if !args.full && !sections.is_empty() && lines + section.lines() > LINES_MAX {
            words = before;
            let telling = if telling == Telling::Steps { Telling::NoRoom } else { telling };
            section = Section::new(check, counterexample, telling, &mut words, style);
        }
        lines += section.lines();
        sections.push(section);
    }
    let mut room = if args.full { usize::MAX } else { LINES_MAX.saturating_sub(lines) };
    for section in &sections {
        out.line("")?;
        out.text(&section.text)?;
        let lines = section.chart.lines().count();
        if section.chart.is_empty() {
            continue;
        }
        if lines <= room {
            room -= lines;
            out.line("")?;
            out.text(&section.chart)?;
        } else {
            out.line(&style.paint(Paint::Faint, NOT_DRAWN))?;
        }
    }
    expectations(scenario, report, conclusion, out)
}

/// What is told of a counterexample beside its sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    /// Its steps, and a chart.
    Steps,
    /// Nothing: what a note is about is said in its sentences, and something else is wrong.
    Sentences,
    /// That they are those of the violation above.
    AsAbove,
    /// Where they are told.
    NoRoom,
}

/// Lines of a report that a reader takes in. What is told takes precedence over what is drawn.
const LINES_MAX: usize = 60;
/// Lines beside the checks and their counterexamples: the heading, what the search took, and what was expected.
const HEAD_LINES: usize = 4;
/// Instead of a chart for which there is no room.
const NOT_DRAWN: &str =
    "  (a chart of these steps would be long: `--full` prints it, `--chart OUT.svg` writes it to a file)";

/// What is said of a violated check.
struct Section {
    text: String,
    /// Empty if nothing is to be drawn.
    chart: String,
}

impl Section {
    fn new(
        check: &CheckReport,
        counterexample: &Counterexample,
        telling: Telling,
        words: &mut Words,
        style: Style,
    ) -> Self {
        let paint = if check.check.is_note() { Paint::Note } else { Paint::Bad };
        let mut text = style.paint(paint, &format!("{} is violated", check.name));
        text.push('\n');
        text.push_str(&style.wrapped("  ", &counterexample.sentences));
        text.push('\n');
        let mut told = counterexample.sentences.clone();
        let mut faint = |line: &str| {
            text.push_str(&style.paint(Paint::Faint, &style.wrapped("  ", line)));
            text.push('\n');
        };
        match telling {
            Telling::Sentences => {}
            Telling::AsAbove => faint("(the steps that lead to it are those above)"),
            Telling::NoRoom => faint("(`--full` prints the steps that lead to it, too)"),
            Telling::Steps => {
                text.push_str(&format!("\n{}", steps(counterexample, style)));
                for folded in &counterexample.folded {
                    text.push_str(&style.paint(Paint::Faint, &format!("  {folded}")));
                    text.push('\n');
                }
                counterexample.told.iter().for_each(|step| told.push_str(&format!(" {}", step.what)));
            }
        }
        for (word, meaning) in words.new_in(&told) {
            text.push_str(&style.paint(Paint::Faint, &style.wrapped("  ", &format!("{word}: {meaning}"))));
            text.push('\n');
        }
        // Of one rank alone, a chart shows no more than the steps.
        let drawn = (telling == Telling::Steps && counterexample.chart.lanes.len() > 1)
            .then(|| counterexample.chart.text(style.width(), style.color));
        let mut chart = drawn.unwrap_or_default();
        if !chart.is_empty() && !chart.ends_with('\n') {
            chart.push('\n');
        }
        Self { text, chart }
    }

    /// Lines of the report without the chart. A line that announces the chart, or says why it is missing, is one of them.
    fn lines(&self) -> usize {
        self.text.lines().count() + 1 + usize::from(!self.chart.is_empty())
    }
}

/// The words that a report has explained.
#[derive(Clone, Default)]
struct Words {
    explained: Vec<&'static str>,
}

impl Words {
    /// The library's own words of a text that stand there for the first time.
    fn new_in(&mut self, text: &str) -> Vec<(&'static str, &'static str)> {
        let mut found = words_of(text);
        found.retain(|(word, _)| !self.explained.contains(word));
        self.explained.extend(found.iter().map(|(word, _)| *word));
        found
    }
}

fn heading(args: &VerifyArgs, scenario: &Scenario, report: &Report, style: Style) -> String {
    let mut how = Vec::new();
    if args.portable {
        how.push("under every MPI".to_owned());
    }
    if args.protocol == Protocol::Published {
        how.push("published rules".to_owned());
    }
    if let Some(rule) = &args.without {
        how.push(format!("without {rule}"));
    }
    let mut text = style.paint(Paint::Strong, &scenario.file);
    if let Some(title) = &scenario.title {
        text += &format!(" \"{title}\"");
    }
    if !how.is_empty() {
        text += &format!(" ({})", how.join(", "));
    }
    format!("{text}: {}", style.paint(paint(report.verdict), report.verdict.name()))
}

fn effort(report: &Report) -> String {
    let raise = |bound: &str| {
        format!("; a bound was hit before all was explored: raise {bound}, or make the pattern smaller")
    };
    let end = match report.stopped {
        None => String::new(),
        Some(Stopped::States) => raise("--max-states"),
        Some(Stopped::Memory) => raise("--max-memory or the limits of this process"),
        Some(Stopped::Interrupted) => "; interrupted before all was explored".to_owned(),
    };
    format!(
        "{}, {}, depth {}, {}{}",
        count(report.states, "state"),
        count(report.transitions, "transition"),
        report.depth,
        seconds(report.seconds),
        end
    )
}

fn paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Proven => Paint::Good,
        Verdict::Violated => Paint::Bad,
        Verdict::Inconclusive => Paint::Note,
        Verdict::NotApplicable => Paint::Faint,
    }
}

/// A verdict in its colour; that of a note is never alarming.
pub(crate) fn verdict_cell(verdict: Verdict, note: bool) -> Cell {
    let paint = match verdict {
        Verdict::Violated if note => Paint::Note,
        other => paint(other),
    };
    Cell::painted(verdict.name(), paint)
}

fn remark(scenario: &Scenario, report: &Report, check: &CheckReport) -> String {
    let expected = scenario.expects.iter().find(|expect| expect.check == check.check);
    let is_stuck =
        |other: &CheckReport| other.check == Check::DeadlockFreedom && other.verdict == Verdict::Violated;
    match (check.verdict, expected) {
        (Verdict::Violated, Some(expect)) => format!("expected (line {})", expect.line),
        (Verdict::Proven | Verdict::NotApplicable, Some(expect)) => {
            format!("but a violation is expected (line {})", expect.line)
        }
        (Verdict::Violated, None) if check.check.is_note() => "a note".to_owned(),
        // A deadlock may leave a message without a receive, too.
        (Verdict::Proven, None) if is_of_end(check.check) && report.checks.iter().any(is_stuck) => {
            let looked_at =
                if report.ends { "looks only at executions that end" } else { "no execution ends" };
            looked_at.to_owned()
        }
        _ => String::new(),
    }
}

/// Whether a check is about what is left when all ranks have ended.
fn is_of_end(check: Check) -> bool {
    matches!(check, Check::RequestLeak | Check::UnmatchedMessage)
}

/// Whether the same steps are told of two violations.
fn same_steps(one: &Counterexample, other: &Counterexample) -> bool {
    let steps = |of: &Counterexample| -> Vec<_> {
        of.told.iter().map(|step| (step.who.clone(), step.line, step.what.clone())).collect()
    };
    steps(one) == steps(other)
}

/// The steps that are told. The file stands in the heading.
fn steps(counterexample: &Counterexample, style: Style) -> String {
    let mut table = Table::plain(&[Align::Right, Align::Left, Align::Left, Align::Left]);
    for (at, step) in counterexample.told.iter().enumerate() {
        let place = step.place();
        let what = match &step.wrong {
            Some(wrong) => Cell::painted(format!("{}  ✗ {wrong}", step.what), Paint::Bad),
            None => step.what.as_str().into(),
        };
        table.row([
            Cell::painted((at + 1).to_string(), Paint::Faint),
            step.who.as_str().into(),
            Cell::painted(place, Paint::Faint),
            what,
        ]);
    }
    table.render(2, style)
}

fn expectations(
    scenario: &Scenario,
    report: &Report,
    conclusion: &Conclusion,
    out: &mut Out,
) -> Result<(), Failure> {
    if scenario.expects.is_empty() {
        return Ok(());
    }
    let style = out.style;
    let names = |checks: &[Check]| checks.iter().map(|check| check.name()).collect::<Vec<_>>().join(", ");
    out.line("")?;
    if conclusion.status == Status::Fine {
        return out.line(&style.paint(Paint::Good, &as_expected(scenario, &report.checks)));
    }
    if !conclusion.open.is_empty() {
        let why = if report.interrupted { "interrupted" } else { "not as expected: a bound was hit" };
        let text = format!("{why} before {} was decided", names(&conclusion.open));
        out.line(&style.paint(Paint::Bad, &text))?;
    }
    if !conclusion.missing.is_empty() {
        let text = format!("not as expected: {} should be violated", names(&conclusion.missing));
        out.line(&style.paint(Paint::Bad, &text))?;
    }
    if !conclusion.surprising.is_empty() {
        let text = format!("not as expected: {} should not be violated", names(&conclusion.surprising));
        out.line(&style.paint(Paint::Bad, &text))?;
    }
    Ok(())
}

/// That what the file expects is so, and which notes, violated too, that does not count.
fn as_expected(scenario: &Scenario, checks: &[CheckReport]) -> String {
    let is_named = |check: &CheckReport| scenario.expects.iter().any(|expect| expect.check == check.check);
    let notes: Vec<&str> = checks
        .iter()
        .filter(|check| check.check.is_note() && check.verdict == Verdict::Violated && !is_named(check))
        .map(|check| check.name)
        .collect();
    let mut text = "as expected: exactly the checks that the file names are violated".to_owned();
    if !notes.is_empty() {
        text += &format!(" (notes are not counted: {})", notes.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_scenario::load;

    #[test]
    fn a_note_that_the_file_does_not_name_is_said_not_to_count() {
        let said = |expects: &str| {
            let text = format!("ranks 1\n{expects}");
            let scenario = load("f", text.as_bytes()).map_err(|error| error.to_string())?;
            let violated = [Check::DeadlockFreedom, Check::MatchDeterminism];
            let checks = Check::ALL.map(|check| CheckReport {
                name: check.name(),
                verdict: if violated.contains(&check) { Verdict::Violated } else { Verdict::Proven },
                counterexample: None,
                check,
            });
            Ok::<_, String>(as_expected(&scenario, &checks))
        };
        let exactly = "as expected: exactly the checks that the file names are violated";
        let deadlock = "expect deadlock-freedom violated\n";
        let both = format!("{deadlock}expect match-determinism violated\n");
        assert_eq!(said(&both), Ok(exactly.to_owned()));
        assert_eq!(said(deadlock), Ok(format!("{exactly} (notes are not counted: match-determinism)")));
    }
}
