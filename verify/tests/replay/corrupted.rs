//! A trace that is not as it was written is no evidence, and brings nothing down.

use crate::pair::{Place, parts, replay_of, replay_of_bytes, text_of, trace};
use proptest::prelude::*;

/// Ways in which a line of a file goes wrong, by its position.
type Corruption = (&'static str, fn(&mut Vec<Vec<u8>>, usize));

const CORRUPTIONS: [Corruption; 5] = [
    ("is deleted", |lines, at| drop(lines.remove(at))),
    ("is doubled", |lines, at| lines.insert(at, lines[at].clone())),
    ("changes places with the next one", |lines, at| lines.swap(at, at + 1)),
    ("has another digit first", |lines, at| {
        let digit = lines[at].iter_mut().find(|byte| byte.is_ascii_digit());
        *digit.expect("every line has a number") ^= 1;
    }),
    ("has another digit last", |lines, at| {
        let digit = lines[at].iter_mut().rfind(|byte| byte.is_ascii_digit());
        *digit.expect("every line has a number") ^= 1;
    }),
];

/// A trace is evidence only if it is what was recorded: whatever happens to a line, the rest is not taken for the
/// whole.
#[test]
fn a_trace_with_a_corrupted_line_is_never_allowed() {
    let place = Place::new();
    trace(&place);
    let whole = [0, 1].map(|rank| text_of(&place, rank).into_bytes());
    let mut accepted = String::new();
    for (rank, part) in whole.iter().enumerate() {
        let lines: Vec<Vec<u8>> = part.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        // The last line says how the part ends. Without it, the part is one that was cut short.
        for at in 0..lines.len() - 1 {
            for (what, corrupt) in &CORRUPTIONS {
                let mut lines = lines.clone();
                corrupt(&mut lines, at);
                let mut parts = whole.clone();
                parts[rank] = lines.concat();
                match replay_of_bytes(&parts) {
                    Ok(report) => {
                        accepted += &format!("rank {rank}: line {} {what}: {:?}\n", at + 1, report.verdict)
                    }
                    Err(error) => {
                        let found = at + 1 + usize::from(*what == "is doubled");
                        let place = format!("rank-{rank}.trace:{found}: ");
                        assert!(error.to_string().contains(&place), "line {} {what}: {error}", at + 1);
                    }
                }
            }
        }
    }
    assert_eq!(accepted, "");
}

/// A number in a line of JSON becomes another one.
fn with_number(line: &str, which: usize, number: u64) -> String {
    let starts: Vec<usize> = line
        .char_indices()
        .filter(|(at, c)| {
            c.is_ascii_digit() && !line[..*at].ends_with(|before: char| before.is_ascii_digit())
        })
        .map(|(at, _)| at)
        .collect();
    let Some(start) = starts.get(which % starts.len().max(1)) else { return line.to_owned() };
    let rest = line[*start..].trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{}{number}{rest}", &line[..*start])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn no_trace_brings_it_down(
        edits in prop::collection::vec((0..5u8, any::<(bool, prop::sample::Index, prop::sample::Index)>(),
            prop::sample::select(vec![0, 1, 2, 3, 64, 65_535, 65_536, 1 << 30, 1 << 31, u64::from(u32::MAX), 1 << 63, u64::MAX]))
            , 1..5),
    ) {
        let mut parts = parts();
        for (kind, (second, one, other), number) in edits {
            let lines = &mut parts[usize::from(second)];
            let (one, other) = (1 + one.index(lines.len() - 1), 1 + other.index(lines.len() - 1));
            match kind {
                0 => lines.swap(one, other),
                1 if lines.len() > 2 => drop(lines.remove(one)),
                2 => lines.insert(other, lines[one].clone()),
                _ => lines[one] = with_number(&lines[one], other, number),
            }
        }
        // An error names the part; a verdict is one.
        if let Err(error) = replay_of(&parts) {
            prop_assert!(error.to_string().contains("rank-"), "{error}");
        }
    }
}
