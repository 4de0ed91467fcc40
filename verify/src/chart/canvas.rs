//! Lines of characters with colours.

/// How a character looks where there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ink {
    /// As any text.
    #[default]
    Plain,
    /// The names of the lanes.
    Bold,
    /// Lanes, step numbers.
    Faint,
    /// Packets.
    Control,
    /// Data.
    Data,
    /// Data of windows.
    Transfer,
    /// Epochs.
    Epoch,
    /// Waits for late ranks.
    Late,
    /// What is wrong.
    Wrong,
}

impl Ink {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "1",
            Self::Faint => "2",
            Self::Control => "36",
            Self::Data => "32",
            Self::Transfer => "35",
            Self::Epoch => "34",
            Self::Late => "33",
            Self::Wrong => "1;31",
        }
    }
}

/// One line.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    cells: Vec<(char, Ink)>,
}

impl Line {
    /// Writes `text` from column `at` on, over what is there.
    pub(super) fn put(&mut self, at: usize, text: &str, ink: Ink) {
        for (column, character) in (at..).zip(text.chars()) {
            if column >= self.cells.len() {
                self.cells.resize(column + 1, (' ', Ink::Plain));
            }
            self.cells[column] = (character, ink);
        }
    }

    /// What stands in a column.
    pub(super) fn at(&self, column: usize) -> Option<char> {
        self.cells.get(column).map(|(character, _)| *character)
    }

    /// The line as text, without blanks at its end.
    pub(super) fn finish(mut self, colour: bool, out: &mut String) {
        while self.cells.last().is_some_and(|(character, _)| *character == ' ') {
            self.cells.pop();
        }
        let mut now = Ink::Plain;
        for (character, ink) in self.cells {
            let ink = if character == ' ' { now } else { ink };
            if colour && ink != now {
                out.push_str("\x1b[0m");
                if ink != Ink::Plain {
                    out.push_str(&format!("\x1b[{}m", ink.code()));
                }
                now = ink;
            }
            out.push(character);
        }
        if colour && now != Ink::Plain {
            out.push_str("\x1b[0m");
        }
        out.push('\n');
    }
}
