//! Lines that are not statements of a rank: declarations, `rank`, `repeat`, `end`.

use super::cursor::{Cursor, Kind, LocatedProblem};
use super::expression::{NamesInside, Quantity, expression, group};
use super::names::Names;
use super::statement::end_of_line;
use crate::ast::{Expr, Item, Name, Ranks, Setting, Split, Value};
use crate::checks::Check;
use crate::limits::ITEMS_MAX;
use crate::problem::{Problem, clip, did_you_mean};
use crate::span::Span;

/// The keyword of a line that is not a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    Scenario,
    Ranks,
    Nodes,
    Window,
    Comm,
    Option,
    Expect,
    Rank,
    Repeat,
    End,
}

impl Keyword {
    pub(crate) const ALL: [Keyword; 10] = [
        Keyword::Scenario,
        Keyword::Ranks,
        Keyword::Nodes,
        Keyword::Window,
        Keyword::Comm,
        Keyword::Option,
        Keyword::Expect,
        Keyword::Rank,
        Keyword::Repeat,
        Keyword::End,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Keyword::Scenario => "scenario",
            Keyword::Ranks => "ranks",
            Keyword::Nodes => "nodes",
            Keyword::Window => "window",
            Keyword::Comm => "comm",
            Keyword::Option => "option",
            Keyword::Expect => "expect",
            Keyword::Rank => "rank",
            Keyword::Repeat => "repeat",
            Keyword::End => "end",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Keyword> {
        Keyword::ALL.into_iter().find(|keyword| keyword.name() == name)
    }

    /// Whether the line stands outside of blocks and ends the one before it.
    pub(crate) const fn is_declaration(self) -> bool {
        !matches!(self, Keyword::Rank | Keyword::Repeat | Keyword::End)
    }
}

/// Parses the part of the line behind `keyword`.
pub(crate) fn line(
    cursor: &mut Cursor<'_>,
    names: &mut Names,
    keyword: Keyword,
) -> Result<Item, LocatedProblem> {
    let item = match keyword {
        Keyword::Scenario => Item::Title(title(cursor)?),
        Keyword::Ranks => Item::Ranks(expression(cursor, None, Quantity::Number, "a number of ranks")?),
        Keyword::Nodes => nodes(cursor)?,
        Keyword::Window => {
            let name = names.name(cursor, "the name of a window")?;
            let size = expression(cursor, None, Quantity::Size, "a size like 64 or 16KiB")?;
            cursor.take_list::<(Name, Expr)>(1)?;
            Item::Window(Box::new((name, size)))
        }
        Keyword::Comm => {
            cursor.take_list::<Split>(1)?;
            Item::Split(Box::new(split(cursor, names)?))
        }
        Keyword::Option => {
            cursor.take_list::<Setting>(1)?;
            Item::Setting(Box::new(setting(cursor, names)?))
        }
        Keyword::Expect => expect(cursor)?,
        Keyword::Rank => Item::Block(ranks(cursor)?),
        Keyword::Repeat => {
            let names = Some(NamesInside { names, received: false });
            Item::Repeat(expression(cursor, names, Quantity::Number, "a number of rounds")?)
        }
        Keyword::End => Item::End,
    };
    let left_out: &[&str] = match &item {
        Item::Split(split) => match (&split.key, &split.parent) {
            (None, None) => &["key", "on"],
            (Some(_), None) => &["on"],
            (_, Some(_)) => &[],
        },
        _ => &[],
    };
    end_of_line(cursor, left_out, None)?;
    Ok(item)
}

/// `NAME = split color K [key K] [on PARENT]`.
fn split(cursor: &mut Cursor<'_>, names: &mut Names) -> Result<Split, LocatedProblem> {
    const USAGE: &str = "the line is `comm NAME = split color K [key K] [on NAME]`";
    let name = names.name(cursor, "the name of a communicator")?;
    let mark = cursor.peek();
    if !cursor.eat('=') {
        return Err(mark.unexpected("`= split color` and a color", Some(USAGE.to_owned())));
    }
    for (word, expected) in [("split", "`split color` and a color"), ("color", "`color` and a color")] {
        let token = cursor.peek();
        if !cursor.eat_word(word) {
            let meant = match token.kind {
                Kind::Word(found) => did_you_mean(found, [word]),
                _ => None,
            };
            return Err(token.unexpected(expected, Some(meant.unwrap_or_else(|| USAGE.to_owned()))));
        }
    }
    let number = |cursor: &mut Cursor<'_>, names: &mut Names, expected| {
        expression(cursor, Some(NamesInside { names, received: false }), Quantity::Number, expected)
    };
    let color = number(cursor, names, "a color")?;
    let key = match cursor.eat_word("key") {
        true => Some(number(cursor, names, "a key")?),
        false => None,
    };
    let parent = match cursor.eat_word("on") {
        true => Some(names.name(cursor, "the name of a communicator")?),
        false => None,
    };
    Ok(Split { name, color, key, parent })
}

/// `"TITLE"`; a `"` in it is written `\"`, a `\` is written `\\`.
fn title(cursor: &mut Cursor<'_>) -> Result<Box<str>, LocatedProblem> {
    let quote = cursor.peek();
    if !cursor.eat('"') {
        return Err(quote.unexpected("a title like \"late post\"", None));
    }
    let rest = cursor.rest();
    let inside = quote.at.end();
    let mut text = String::new();
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                cursor.skip(at + 1);
                cursor.take_list::<u8>(text.len())?;
                return Ok(text.into_boxed_str());
            }
            '\\' => match characters.next() {
                Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                other => {
                    let end = other.map_or(at + 1, |(next, c)| next + c.len_utf8());
                    return Err((Span::new(inside + at, inside + end), Problem::UnknownEscape));
                }
            },
            // A terminal would obey it, and the title stands in the first line of a report.
            control if control.is_control() && control != '\t' => {
                let end = at + control.len_utf8();
                return Err((Span::new(inside + at, inside + end), Problem::ControlInTitle));
            }
            other => text.push(other),
        }
    }
    Err((quote.at, Problem::OpenTitle))
}

fn nodes(cursor: &mut Cursor<'_>) -> Result<Item, LocatedProblem> {
    let mut groups = vec![group(cursor, None, "the ranks of a node, like [0 1]")?];
    while cursor.peek().kind != Kind::End {
        if groups.len() == ITEMS_MAX {
            return Err((cursor.peek().at, Problem::TooManyItems));
        }
        groups.push(group(cursor, None, "the ranks of a node, like [0 1], or the end of the line")?);
    }
    Ok(Item::Nodes(groups.into_boxed_slice()))
}

fn setting(cursor: &mut Cursor<'_>, names: &mut Names) -> Result<Setting, LocatedProblem> {
    let mut name = names.name(cursor, "the name of an option")?;
    let mut window = None;
    if cursor.eat('.') {
        window = Some(name);
        name = names.name(cursor, "the name of a flag")?;
    }
    let mut ahead = cursor.clone();
    let value = match ahead.next().kind {
        Kind::Word("me" | "size") => None,
        Kind::Word(word) if word.starts_with(|c: char| c.is_ascii_digit()) => None,
        Kind::Word(_) => Some(names.name(cursor, "a value")?),
        _ => None,
    };
    let value = match value {
        Some(word) => Value::Word(word),
        None => Value::Number(expression(cursor, None, Quantity::Unknown, "a value")?),
    };
    Ok(Setting { window, name, value })
}

fn expect(cursor: &mut Cursor<'_>) -> Result<Item, LocatedProblem> {
    let token = cursor.peek();
    if token.kind == Kind::End {
        return Err(token.unexpected("the name of a check, like deadlock-freedom", None));
    }
    let (name, at) = cursor.next_run();
    let check = name.parse::<Check>().map_err(|_| {
        let help = did_you_mean(name, Check::ALL.map(Check::name))
            .or_else(|| Some(format!("the checks are {}", Check::ALL.map(Check::name).join(", "))));
        (at, Problem::UnknownCheck { name: clip(name), help })
    })?;
    let verdict = cursor.peek();
    if !cursor.eat_word("violated") {
        let help = match verdict.kind {
            Kind::Word(word) => did_you_mean(word, ["violated"]),
            _ => None,
        };
        return Err(verdict.unexpected("`violated`", help));
    }
    Ok(Item::Expect(check))
}

fn ranks(cursor: &mut Cursor<'_>) -> Result<Ranks, LocatedProblem> {
    if cursor.eat('*') {
        return Ok(Ranks::All);
    }
    cursor.take_list::<(Expr, Expr)>(1)?;
    let first = expression(cursor, None, Quantity::Number, "a rank, a range like 0..3, or `*`")?;
    if cursor.peek().kind != Kind::Range {
        return Ok(Ranks::One(Box::new(first)));
    }
    cursor.next();
    let last = expression(cursor, None, Quantity::Number, "the last rank of the range")?;
    Ok(Ranks::Range(Box::new((first, last))))
}
