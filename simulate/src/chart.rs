//! The events of a job for a person: a list with a column for each actor, and a chart of who ran when.

use crate::trace::TraceEvent;
use std::fmt::Write;

/// Columns of the chart.
const WIDTH: usize = 96;
/// Letters of a column of the list.
const COLUMN: usize = 30;

fn name(actor: usize, ranks: usize) -> String {
    if actor == ranks { "launcher".to_owned() } else { format!("rank {actor}") }
}

/// One line for each actor: `#` where it ran much, `+` where it ran, `z` where it slept, `s` where it stalled, `x` from its
/// end on, `!` where something was wrong.
pub(crate) fn chart(events: &[TraceEvent], ranks: usize) -> String {
    let Some(last) = events.last() else { return String::new() };
    let place = |event: &TraceEvent| {
        let (at, all) = (event.time.as_nanos(), last.time.as_nanos().max(1));
        ((at * WIDTH as u128 / all) as usize).min(WIDTH - 1)
    };
    let mut text = format!("virtual time, 0 to {:?}: each column is 1/{WIDTH} of it\n", last.time);
    for actor in 0..=ranks {
        let (mut counts, mut marks) = ([0_usize; WIDTH], [None; WIDTH]);
        let mut over = false;
        for event in events.iter().filter(|event| event.actor == actor) {
            let at = place(event);
            counts[at] += 1;
            let mark = match event.text.as_str() {
                text if text.starts_with("WRONG") => Some('!'),
                text if text.starts_with("stalls") => Some('s'),
                text if text.starts_with("ends") => Some('x'),
                text if text.starts_with("is about to wait") => Some('z'),
                _ => None,
            };
            over |= mark == Some('x');
            marks[at] = match (marks[at], mark) {
                (Some('!'), _) => Some('!'),
                (before, None) => before,
                (_, new) => new,
            };
        }
        let end = if over { events.iter().rev().find(|event| event.actor == actor).map(place) } else { None };
        let line: String = (0..WIDTH)
            .map(|at| match (marks[at], counts[at]) {
                (Some(mark), _) => mark,
                (None, 0) if end.is_some_and(|end| at > end) => ' ',
                (None, 0) => '.',
                (None, 1..20) => '+',
                (None, _) => '#',
            })
            .collect();
        let _ = writeln!(text, "{:>9} |{line}|", name(actor, ranks));
    }
    text
}

/// The events, each in the column of its actor.
pub(crate) fn list(events: &[TraceEvent], ranks: usize) -> String {
    let mut text = format!("{:>9} {:>14} ", "step", "time");
    for actor in 0..=ranks {
        let _ = write!(text, "| {:<COLUMN$}", name(actor, ranks));
    }
    text.push('\n');
    for event in events {
        let time = format!("{:.3?}", event.time);
        let indent = event.actor * (COLUMN + 2);
        let _ = writeln!(text, "{:>9} {time:>14} {:indent$}| {}", event.step, "", event.text);
    }
    text
}
