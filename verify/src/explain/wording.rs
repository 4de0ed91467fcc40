//! Numbers, sizes, lists and ranks in words.

use carrousel_scenario::units;

/// The most ranks, or runs of ranks, that a list names.
const PARTS_MAX: usize = 8;

/// `line 8`, or `line 8, 2nd time`.
pub(crate) fn place_of(line: u32, time: Option<u32>) -> String {
    let time = time.map_or_else(String::new, |time| format!(", {} time", nth(time)));
    format!("line {line}{time}")
}

/// `1st`, `2nd`, `13th`.
fn nth(number: u32) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// `64KiB`, `3 bytes`.
pub(super) fn bytes(count: u64) -> String {
    let size = units::size(count);
    match (count, size.ends_with(|last: char| last.is_ascii_digit())) {
        (1, _) => "1 byte".to_owned(),
        (_, true) => format!("{size} bytes"),
        (_, false) => size,
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `rank 1`, `ranks 1 and 3`, `ranks 0 to 6 and 9`; past a few, a count.
pub(super) fn ranks(ranks: &[u16]) -> String {
    // Runs of consecutive ranks, by their ends.
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for rank in ranks.iter().copied() {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let mut parts: Vec<(String, usize)> = Vec::new();
    for (first, last) in runs {
        match last - first {
            0 => parts.push((first.to_string(), 1)),
            1 => parts.extend([first, last].map(|rank| (rank.to_string(), 1))),
            more => parts.push((format!("{first} to {last}"), usize::from(more) + 1)),
        }
    }
    let s = if ranks.len() == 1 { "" } else { "s" };
    if parts.len() <= PARTS_MAX {
        return format!("rank{s} {}", list(&parts.into_iter().map(|(part, _)| part).collect::<Vec<_>>()));
    }
    let named = &parts[..PARTS_MAX - 2];
    let more = ranks.len() - named.iter().map(|(_, count)| count).sum::<usize>();
    let named: Vec<&str> = named.iter().map(|(part, _)| part.as_str()).collect();
    format!("rank{s} {} and {more} more", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ranks_are_named_by_their_ends() {
        assert_eq!(ranks(&[4]), "rank 4");
        assert_eq!(ranks(&[4, 5]), "ranks 4 and 5");
        assert_eq!(ranks(&[0, 1, 2, 5, 7, 8, 9]), "ranks 0 to 2, 5 and 7 to 9");
        let even: Vec<u16> = (0..12).map(|rank| 2 * rank).collect();
        assert_eq!(ranks(&even), "ranks 0, 2, 4, 6, 8, 10 and 6 more");
    }

    #[test]
    fn numbers_of_rounds_are_words() {
        let all = [1, 2, 3, 4, 11, 12, 13, 21, 101, 111, 122].map(nth);
        let words = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "101st", "111th", "122nd"];
        assert_eq!(all, words);
    }
}
