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
        let remark = remark(scenario, check);
        table.row([
            check.name.into(),
            verdict_cell(check.verdict, check.check.is_note()),
            Cell::painted(remark, Paint::Faint),
        ]);
    }
    out.text(&table.render(2, style))?;
    out.line(&format!("  {}", effort(report)))?;
    for check in &report.checks {
        if let Some(counterexample) = &check.counterexample {
            out.line("")?;
            let paint = if check.check.is_note() { Paint::Note } else { Paint::Bad };
            out.line(&style.paint(paint, &format!("{} is violated", check.name)))?;
            out.line(&style.wrapped("  ", &counterexample.summary))?;
            out.line("")?;
            out.text(&steps(scenario, counterexample, style))?;
            let chart = counterexample.chart.text(style.width(), style.color);
            if !chart.is_empty() {
                out.line("")?;
                out.text(&chart)?;
                if !chart.ends_with('\n') {
                    out.line("")?;
                }
            }
        }
    }
    expectations(scenario, report, conclusion, out)
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

fn remark(scenario: &Scenario, check: &CheckReport) -> String {
    let expected = scenario.expects.iter().find(|expect| expect.check == check.check);
    match (check.verdict, expected) {
        (Verdict::Violated, Some(expect)) => format!("as line {} expects", expect.line),
        (Verdict::Proven | Verdict::NotApplicable, Some(expect)) => {
            format!("but line {} expects a violation", expect.line)
        }
        (Verdict::Violated, None) if check.check.is_note() => "a note".to_owned(),
        _ => String::new(),
    }
}

fn steps(scenario: &Scenario, counterexample: &Counterexample, style: Style) -> String {
    let mut table = Table::plain(&[Align::Right, Align::Left, Align::Left, Align::Left]);
    for (at, step) in counterexample.steps.iter().enumerate() {
        let who = step.rank.map_or_else(|| "network".to_owned(), |rank| format!("rank {rank}"));
        let place = step.line.map_or_else(String::new, |line| format!("{}:{line}", scenario.file));
        table.row([
            Cell::painted((at + 1).to_string(), Paint::Faint),
            who.into(),
            Cell::painted(place, Paint::Faint),
            step.what.as_str().into(),
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
