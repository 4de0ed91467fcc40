//! Colours, where a person reads.

use anstyle::{AnsiColor, Style as Ansi};
use clap::ValueEnum;
use console::Term;
use std::env;
use std::io::{IsTerminal, stderr, stdout};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set; elsewhere only if CLICOLOR_FORCE is.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The meaning of a piece of text, which decides its look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// A heading, a name.
    Strong,
    /// Less important.
    Faint,
    /// As it should be.
    Good,
    /// As it should not be.
    Bad,
    /// A remark, not an error.
    Note,
    /// Advice.
    Hint,
}

/// How to write for one reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Whether escape sequences may be used.
    pub(crate) color: bool,
    /// Whether it is a terminal.
    pub(crate) terminal: bool,
}

impl Style {
    /// For standard output.
    pub(crate) fn of_stdout(color: Color) -> Self {
        Self::decide(color, stdout().is_terminal())
    }

    /// For standard error.
    pub(crate) fn of_stderr(color: Color) -> Self {
        Self::decide(color, stderr().is_terminal())
    }

    /// By NO_COLOR, CLICOLOR_FORCE and TERM. `anstream` is no substitute: it takes `CLICOLOR_FORCE=0` for a yes.
    fn decide(color: Color, terminal: bool) -> Self {
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let color = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if set("NO_COLOR") => false,
            Color::Auto if env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            Color::Auto => terminal && env::var_os("TERM").is_none_or(|term| term != "dumb"),
        };
        Self { color, terminal }
    }

    /// `text` in the look of `paint`.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let style = match paint {
            Paint::Strong => Ansi::new().bold(),
            Paint::Faint => Ansi::new().dimmed(),
            Paint::Good => AnsiColor::Green.on_default(),
            Paint::Bad => AnsiColor::Red.on_default().bold(),
            Paint::Note => AnsiColor::Yellow.on_default(),
            Paint::Hint => AnsiColor::Cyan.on_default(),
        };
        format!("{style}{text}{style:#}")
    }

    /// `text` in lines that fit, each behind `indent`, broken between words.
    pub(crate) fn wrapped(self, indent: &str, text: &str) -> String {
        let options = Options::new(self.width())
            .initial_indent(indent)
            .subsequent_indent(indent)
            .break_words(false)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation)
            .wrap_algorithm(WrapAlgorithm::FirstFit);
        textwrap::fill(text, options)
    }

    /// Columns that a line of standard output may have.
    pub(crate) fn width(self) -> usize {
        let columns = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let of_terminal = || Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
        match columns {
            Some(columns) => columns,
            None if self.terminal => of_terminal().unwrap_or(100),
            None => 100,
        }
        .clamp(40, 240)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_text_is_only_text() {
        let plain = Style { color: false, terminal: false };
        assert_eq!(plain.paint(Paint::Bad, "violated"), "violated");
        let painted = Style { color: true, ..plain }.paint(Paint::Good, "proven");
        assert_eq!(painted, "\u{1b}[32mproven\u{1b}[0m");
    }
}
