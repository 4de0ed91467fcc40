//! The bars of epochs: where each stands beside its lane, and how it looks in a row.

use carrousel_rank::epoch::EpochKind;

/// An epoch of a window, beside the lane of its rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochBar {
    /// The lane, as an index into [`Chart::lanes`](super::Chart::lanes).
    pub lane: usize,
    /// Its place beside the lane: 0 is the nearest. Bars of a lane that share a row have different ones.
    pub column: usize,
    /// What kind of epoch.
    pub kind: EpochKind,
    /// A few words: `access to 1`.
    pub label: String,
    /// The same in full: `access epoch of window w to rank 1`.
    pub name: String,
    /// It was opened before the first row.
    pub is_cut: bool,
    /// How it stands from which row on, ascending; the first is the row of the call that opens it.
    pub parts: Vec<BarPart>,
    /// The row in which it completes; none if it does not.
    pub completes: Option<usize>,
}

/// A part of a bar, up to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarPart {
    /// The row in which it begins.
    pub from: usize,
    /// Whether the epoch is active; until then it is deferred.
    pub is_active: bool,
    /// Whether the program has closed it.
    pub is_closed: bool,
}

impl EpochBar {
    /// The row in which it begins.
    pub(crate) fn begins(&self) -> usize {
        self.parts.first().map_or(0, |part| part.from)
    }

    /// Whether it is there in a row.
    pub(super) fn covers(&self, row: usize) -> bool {
        self.begins() <= row && self.completes.is_none_or(|end| row <= end)
    }

    /// How it stands in a row, and below it until the next.
    pub(super) fn part_at(&self, row: usize) -> Option<BarPart> {
        self.parts.iter().rev().find(|part| part.from <= row).copied()
    }

    /// The epoch and its steps in words: `fence epoch of window w: opened in step 1, active from step 4 on`. `step` gives
    /// the number of a row's step, which is none behind the last row.
    pub(super) fn story(&self, step: impl Fn(usize) -> Option<u32>) -> String {
        let step =
            |row: usize| step(row).map_or("a step behind the last".to_owned(), |step| format!("step {step}"));
        let first = |is_it: fn(&BarPart) -> bool| self.parts.iter().find(|part| is_it(part));
        let mut events = Vec::new();
        if !self.is_cut {
            events.push(format!("opened in {}", step(self.begins())));
        }
        match first(|part| part.is_active) {
            None => events.push("deferred".to_owned()),
            Some(part) if part.from > self.begins() => {
                events.push(format!("active from {} on", step(part.from)));
            }
            Some(_) => {}
        }
        if let Some(part) = first(|part| part.is_closed).filter(|part| !self.is_cut || part.from > 0) {
            events.push(format!("closed in {}", step(part.from)));
        }
        events.push(match self.completes {
            Some(row) => format!("complete in {}", step(row)),
            None => "not complete".to_owned(),
        });
        format!("{}: {}", self.name, events.join(", "))
    }

    /// Its kind as one letter.
    pub(super) fn letter(&self) -> &'static str {
        match self.kind {
            EpochKind::Access => "A",
            EpochKind::Exposure => "E",
            EpochKind::Fence => "F",
            EpochKind::Lock | EpochKind::LockAll => "L",
        }
    }

    /// Its kind as a word.
    pub(super) fn word(&self) -> &'static str {
        match self.kind {
            EpochKind::Access => "access",
            EpochKind::Exposure => "exposure",
            EpochKind::Fence => "fence",
            EpochKind::Lock => "lock",
            EpochKind::LockAll => "lock_all",
        }
    }
}

/// Gives each bar the nearest place beside its lane that no other bar has in any of its rows. Bars come in the order in
/// which they begin.
pub(crate) fn place(bars: &mut [EpochBar]) {
    for at in 0..bars.len() {
        let (before, rest) = bars.split_at_mut(at);
        let bar = &mut rest[0];
        let meets = |other: &&EpochBar| {
            other.lane == bar.lane && other.completes.is_none_or(|end| bar.begins() <= end)
        };
        let taken: Vec<usize> = before.iter().filter(meets).map(|other| other.column).collect();
        bar.column = (0..).find(|column| !taken.contains(column)).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(lane: usize, begins: usize, completes: Option<usize>) -> EpochBar {
        EpochBar {
            lane,
            column: 9,
            kind: EpochKind::Access,
            label: String::new(),
            name: String::new(),
            is_cut: false,
            parts: vec![BarPart { from: begins, is_active: true, is_closed: false }],
            completes,
        }
    }

    fn columns(bars: &[(usize, usize, Option<usize>)]) -> Vec<usize> {
        let mut bars: Vec<EpochBar> =
            bars.iter().map(|(lane, begins, completes)| bar(*lane, *begins, *completes)).collect();
        place(&mut bars);
        bars.iter().map(|bar| bar.column).collect()
    }

    #[test]
    fn epochs_at_once_stand_beside_each_other() {
        assert_eq!(columns(&[(0, 0, Some(5)), (0, 2, Some(3)), (0, 3, None)]), [0, 1, 2]);
        assert_eq!(columns(&[(0, 0, Some(5)), (0, 5, None)]), [0, 1], "a row shows both");
        assert_eq!(
            columns(&[(0, 0, None), (0, 7, None)]),
            [0, 1],
            "what does not complete is there to the end"
        );
    }

    #[test]
    fn a_bar_tells_its_steps() {
        let bar = EpochBar {
            name: "fence epoch of window w".to_owned(),
            parts: vec![
                BarPart { from: 0, is_active: false, is_closed: false },
                BarPart { from: 2, is_active: true, is_closed: false },
                BarPart { from: 3, is_active: true, is_closed: true },
            ],
            ..bar(0, 0, Some(5))
        };
        let told = bar.story(|row| (row < 5).then_some(row as u32 + 11));
        let steps = "opened in step 11, active from step 13 on, closed in step 14, complete in a step behind the last";
        assert_eq!(told, format!("fence epoch of window w: {steps}"));
    }

    #[test]
    fn epochs_in_turn_and_of_other_lanes_share_a_place() {
        assert_eq!(columns(&[(0, 0, Some(4)), (1, 1, Some(3)), (0, 5, Some(8)), (0, 6, None)]), [0, 0, 0, 1]);
    }
}
