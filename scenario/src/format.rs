//! From [`Ast`] to text: the canonical layout.
//!
//! One blank between words, none in expressions; statements are indented by two, the inside of
//! `repeat` by two more; comments stay, and of several blank lines one.

use std::fmt::{self, Write};

use crate::ast::{Arg, Ast, Expr, Group, Item, Line, Name, Ranks, Setting, Split, Statement, Tree, Value};
use crate::units::Unit;

/// The file in canonical layout.
///
/// The meaning stays the same: parsing the text gives an equal tree, except for places, and formatting that tree
/// gives the same text.
pub fn format(ast: &Ast) -> String {
    let mut text = String::with_capacity(ast.source.len());
    // Writing to a string does not fail.
    let _ = lay_out(ast, &mut text);
    text
}

/// The length of [`format()`]'s text, without making it: the indentation alone can be much larger than the file.
pub(crate) fn length(ast: &Ast) -> usize {
    struct Length(usize);
    impl Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut length = Length(0);
    let _ = lay_out(ast, &mut length);
    length.0
}

fn lay_out(ast: &Ast, text: &mut impl Write) -> fmt::Result {
    let mut depth = 0_usize;
    for (index, line) in ast.lines.iter().enumerate() {
        let indent = match &line.item {
            Item::Remark(run) => {
                // Comments are indented like the line that follows them.
                let indent = ast.lines.get(index + 1).map_or(0, |next| indent_of_remark(next, depth));
                remark(text, run, indent, index == 0, index + 1 == ast.lines.len())?;
                continue;
            }
            Item::Statement(_) => depth + 1,
            Item::Repeat(_) => {
                depth += 1;
                depth
            }
            Item::End => {
                depth = depth.saturating_sub(1);
                depth + 1
            }
            _ => {
                depth = 0;
                0
            }
        };
        indentation(text, indent)?;
        write!(text, "{}", line.item)?;
        if let Some(comment) = &line.comment {
            write!(text, "  {comment}")?;
        }
        text.write_char('\n')?;
    }
    Ok(())
}

fn indentation(text: &mut impl Write, indent: usize) -> fmt::Result {
    (0..indent).try_for_each(|_| text.write_str("  "))
}

/// The indentation of a comment before `next`, inside of `depth` repeats.
fn indent_of_remark(next: &Line, depth: usize) -> usize {
    match next.item {
        Item::Statement(_) | Item::Repeat(_) | Item::End => depth + 1,
        _ => 0,
    }
}

/// Writes a run of comments and blank lines; blank lines at the ends of the file are dropped.
fn remark(text: &mut impl Write, run: &str, indent: usize, first: bool, last: bool) -> fmt::Result {
    let run = if first { run.trim_start_matches('\n') } else { run };
    let run = if last { run.trim_end_matches('\n') } else { run };
    if run.is_empty() && (last || first) {
        return Ok(());
    }
    for comment in run.split('\n') {
        if !comment.is_empty() {
            indentation(text, indent)?;
            text.write_str(comment)?;
        }
        text.write_char('\n')?;
    }
    Ok(())
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Remark(text) => f.write_str(text),
            Item::Title(title) => {
                f.write_str("scenario \"")?;
                for character in title.chars() {
                    if matches!(character, '"' | '\\') {
                        f.write_str("\\")?;
                    }
                    f.write_char(character)?;
                }
                f.write_str("\"")
            }
            Item::Ranks(count) => write!(f, "ranks {count}"),
            Item::Nodes(groups) => {
                f.write_str("nodes")?;
                groups.iter().try_for_each(|group| write!(f, " {group}"))
            }
            Item::Window(window) => write!(f, "window {} {}", window.0, window.1),
            Item::Split(split) => split.fmt(f),
            Item::Setting(setting) => write!(f, "option {setting}"),
            Item::Expect(check) => write!(f, "expect {check} violated"),
            Item::Block(ranks) => write!(f, "rank {ranks}"),
            Item::Repeat(rounds) => write!(f, "repeat {rounds}"),
            Item::End => f.write_str("end"),
            Item::Statement(statement) => statement.fmt(f),
        }
    }
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ranks::All => f.write_str("*"),
            Ranks::One(rank) => rank.fmt(f),
            Ranks::Range(range) => write!(f, "{}..{}", range.0, range.1),
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "comm {} = split color {}", self.name, self.color)?;
        self.key.iter().try_for_each(|key| write!(f, " key {key}"))?;
        self.parent.iter().try_for_each(|parent| write!(f, " on {parent}"))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(window) = &self.window {
            write!(f, "{window}.")?;
        }
        match &self.value {
            Value::Word(word) => write!(f, "{} {word}", self.name),
            Value::Number(number) => write!(f, "{} {number}", self.name),
        }
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = &self.label {
            write!(f, "{label}: ")?;
        }
        if let Some(bind) = &self.bind {
            write!(f, "{bind} = ")?;
        }
        f.write_str(self.verb.name())?;
        for (slot, arg) in self.verb.slots().iter().zip(&self.args) {
            if *arg == Arg::Absent {
                continue;
            }
            if !slot.word.is_empty() {
                write!(f, " {}", slot.word)?;
            }
            write!(f, " {arg}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Absent => Ok(()),
            Arg::Name(name) => name.fmt(f),
            Arg::Expr(expr) => expr.fmt(f),
            Arg::Any => f.write_str("any"),
            Arg::Group(group) => group.fmt(f),
            Arg::Names(names) => separated(f, names),
            Arg::All => f.write_str("all"),
            Arg::Shared => f.write_str("shared"),
            Arg::Exclusive => f.write_str("exclusive"),
            Arg::Combine(combine) => combine.fmt(f),
            Arg::Assertions(assertions) => assertions.fmt(f),
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        separated(f, &self.0)?;
        f.write_str("]")
    }
}

fn separated(f: &mut fmt::Formatter<'_>, items: &[impl fmt::Display]) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        let blank = if index == 0 { "" } else { " " };
        write!(f, "{blank}{item}")?;
    }
    Ok(())
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tree.fmt(f)
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Number(value, unit) => write!(f, "{value}{unit}"),
            Tree::Me => f.write_str("me"),
            Tree::Size => f.write_str("size"),
            Tree::Received(field, name) => write!(f, "{}({name})", field.name()),
            Tree::Local(local, name) => write!(f, "{}({name})", local.name()),
            Tree::Minus(inner) => write!(f, "-{inner}"),
            Tree::Parentheses(inner, unit) => write!(f, "({inner}){unit}"),
            Tree::Chain(chain) => {
                write!(f, "{}", chain.0)?;
                let mut rest = chain.1.iter();
                rest.try_for_each(|(operator, tree)| write!(f, "{}{tree}", operator.symbol()))
            }
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
