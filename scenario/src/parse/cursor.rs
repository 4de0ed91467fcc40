//! Words and marks of one line.

use crate::problem::{Problem, clip};
use crate::room::Room;
use crate::span::Span;

/// An error, and its place.
pub(crate) type LocatedProblem = (Span, Problem);

/// A word or mark, and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) at: Span,
    /// Whether a blank stands before it.
    pub(crate) spaced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// ASCII letters, digits and `_`.
    Word(&'a str),
    /// Another character.
    Mark(char),
    /// `..`
    Range,
    /// The line, or what is left of it before a comment, ends.
    End,
}

impl Token<'_> {
    /// The name of the token in messages.
    pub(crate) fn found(&self) -> String {
        match self.kind {
            Kind::Word(word) => format!("`{}`", clip(word)),
            Kind::Mark(mark) if mark.is_control() => format!("the character U+{:04X}", mark as u32),
            Kind::Mark(mark) => format!("`{mark}`"),
            Kind::Range => "`..`".to_owned(),
            Kind::End => "the end of the line".to_owned(),
        }
    }

    /// The error that this token stands where another one was expected.
    pub(crate) fn unexpected(&self, expected: impl Into<String>, help: Option<String>) -> LocatedProblem {
        (self.at, Problem::Unexpected { found: self.found(), expected: expected.into(), help })
    }
}

/// A place in one line.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    /// Where the line begins in the file.
    base: usize,
    /// The position in the line from which the next token is read.
    position: usize,
    /// The memory that is left for the tree.
    room: &'a Room,
}

impl<'a> Cursor<'a> {
    /// At the beginning of `text`, which begins at `base` in the file and has no line end.
    pub(crate) fn new(text: &'a str, base: usize, room: &'a Room) -> Self {
        Cursor { text, base, position: 0, room }
    }

    /// Takes room for `count` values of the tree in one piece.
    pub(crate) fn take_list<T>(&self, count: usize) -> Result<(), LocatedProblem> {
        self.room.take_list::<T>(count).map_err(|_| self.full())
    }

    /// Takes room for one more value of a list.
    pub(crate) fn take_item<T>(&self) -> Result<(), LocatedProblem> {
        self.room.take(size_of::<T>()).map_err(|_| self.full())
    }

    fn full(&self) -> LocatedProblem {
        (self.here(), Problem::TooMuchText)
    }

    /// The next token, without taking it.
    pub(crate) fn peek(&self) -> Token<'a> {
        let rest = &self.text[self.position..];
        let trimmed = rest.trim_start_matches([' ', '\t', '\r']);
        let start = self.text.len() - trimmed.len();
        let (kind, len) = match trimmed.chars().next() {
            None | Some('#') => (Kind::End, 0),
            Some(c) if is_word(c) => {
                let len = trimmed.find(|c| !is_word(c)).unwrap_or(trimmed.len());
                (Kind::Word(&trimmed[..len]), len)
            }
            Some('.') if trimmed.starts_with("..") => (Kind::Range, 2),
            Some(c) => (Kind::Mark(c), c.len_utf8()),
        };
        Token { kind, at: self.span(start, start + len), spaced: start > self.position }
    }

    /// Takes the next token.
    pub(crate) fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.position = token.at.end() - self.base;
        token
    }

    /// Takes the next token if it is `mark`.
    pub(crate) fn eat(&mut self, mark: char) -> bool {
        let found = self.peek().kind == Kind::Mark(mark);
        if found {
            self.next();
        }
        found
    }

    /// Takes the next token if it is `word`.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek().kind == Kind::Word(word);
        if found {
            self.next();
        }
        found
    }

    /// Takes everything up to the next blank or comment.
    pub(crate) fn next_run(&mut self) -> (&'a str, Span) {
        let start = self.peek().at.start as usize - self.base;
        let rest = &self.text[start..];
        let len = rest.find([' ', '\t', '\r', '#']).unwrap_or(rest.len());
        self.position = start + len;
        (&rest[..len], self.span(start, start + len))
    }

    /// Moves on to the next token.
    pub(crate) fn skip_blanks(&mut self) {
        self.position = self.peek().at.start as usize - self.base;
    }

    /// What is left of the line, blanks and comment included.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    /// Moves on by `bytes`.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.position += bytes;
    }

    /// The place that the cursor is at, behind the last token.
    pub(crate) fn here(&self) -> Span {
        self.span(self.position, self.position)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.base + start, self.base + end)
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
