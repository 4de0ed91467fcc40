//! Statements of a rank: label, request, keyword, and the content of its slots.

use super::cursor::{Cursor, Kind, LocatedProblem, Token};
use super::expression::{NamesInside, Quantity, expression, group};
use super::names::Names;
use crate::assertions::{Assertion, Assertions};
use crate::ast::{Arg, Name, Statement};
use crate::combine::Combine;
use crate::limits::ITEMS_MAX;
use crate::problem::{Problem, did_you_mean};
use crate::units::Unit;
use crate::verb::{Holds, Slot, Verb};

/// `LABEL:` and `NAME =`, before a keyword.
pub(crate) struct Prefix {
    pub(crate) label: Option<Box<Name>>,
    pub(crate) bind: Option<Box<Name>>,
}

/// Parses `LABEL:` and `NAME =`, if they are there.
pub(crate) fn prefix(cursor: &mut Cursor<'_>, names: &mut Names) -> Result<Prefix, LocatedProblem> {
    let mut before = |mark| -> Result<_, LocatedProblem> {
        let mut ahead = cursor.clone();
        let word = ahead.next();
        if !matches!(word.kind, Kind::Word(_)) || !ahead.eat(mark) {
            return Ok(None);
        }
        let name = names.name(cursor, "a name")?;
        cursor.next();
        cursor.take_list::<Name>(1)?;
        Ok(Some(Box::new(name)))
    };
    let label = before(':')?;
    let bind = before('=')?;
    match &bind {
        Some(name) if &*name.text == "all" => Err((name.at, Problem::RequestNamedAll)),
        _ => Ok(Prefix { label, bind }),
    }
}

/// Parses the slots behind the keyword `verb`.
pub(crate) fn statement(
    cursor: &mut Cursor<'_>,
    names: &mut Names,
    prefix: Prefix,
    verb: Verb,
) -> Result<Statement, LocatedProblem> {
    if let Some(bind) = prefix.bind.as_ref().filter(|_| !verb.binds()) {
        let expected = match verb.i_form() {
            Some(i_form) => format!("`{}`, or no `{} =`", i_form.name(), bind.text),
            None => format!("no `{} =`", bind.text),
        };
        let name = bind.text.to_string();
        return Err((bind.at, Problem::BindsNothing { verb: verb.name(), name, expected }));
    }
    cursor.take_list::<Arg>(verb.slots().len())?;
    let mut args = Vec::with_capacity(verb.slots().len());
    let mut left_out: Vec<&str> = Vec::new();
    for slot in verb.slots() {
        let token = cursor.peek();
        if !slot.word.is_empty() && !cursor.eat_word(slot.word) {
            if !slot.optional {
                return Err(missing_word(token, verb, slot));
            }
            left_out.push(slot.word);
            args.push(Arg::Absent);
            continue;
        }
        left_out.clear();
        args.push(value(cursor, names, verb, slot)?);
    }
    end_of_line(cursor, &left_out, Some(verb))?;
    Ok(Statement { label: prefix.label, bind: prefix.bind, verb, args: args.into_boxed_slice() })
}

/// Parses the content of one slot, behind its word.
fn value(cursor: &mut Cursor<'_>, names: &mut Names, verb: Verb, slot: &Slot) -> Result<Arg, LocatedProblem> {
    let expected = slot.holds.expected();
    let token = cursor.peek();
    let quantity = match slot.holds {
        Holds::Window | Holds::Buffer | Holds::Request | Holds::Communicator => {
            return Ok(Arg::Name(names.name(cursor, expected)?));
        }
        Holds::Requests => return requests(cursor, names),
        Holds::Group => return Ok(Arg::Group(group(cursor, Some(names), expected)?)),
        Holds::LockMode => return lock_mode(cursor),
        Holds::Combine => return combine(cursor),
        Holds::Assertions(of) => return assertions(cursor, of),
        Holds::RankOrAny | Holds::TagOrAny if token.kind == Kind::Word("any") => {
            cursor.next();
            return Ok(Arg::Any);
        }
        Holds::Rank | Holds::RankOrAny | Holds::Tag | Holds::TagOrAny | Holds::Count => Quantity::Number,
        Holds::Size => Quantity::Size,
        Holds::Time => Quantity::Time,
    };
    let names = Some(NamesInside { names, received: verb.defers() });
    Ok(Arg::Expr(expression(cursor, names, quantity, expected)?))
}

fn lock_mode(cursor: &mut Cursor<'_>) -> Result<Arg, LocatedProblem> {
    choice(cursor, Holds::LockMode, [("shared", Arg::Shared), ("exclusive", Arg::Exclusive)], || None)
}

fn combine(cursor: &mut Cursor<'_>) -> Result<Arg, LocatedProblem> {
    let all = || Some(format!("operations are {}", Combine::ALL.map(|one| format!("`{one}`")).join(", ")));
    choice(cursor, Holds::Combine, Combine::ALL.map(|one| (one.name(), Arg::Combine(one))), all)
}

/// One of some words. `help` is for a word that is like none of them.
fn choice<const N: usize>(
    cursor: &mut Cursor<'_>,
    holds: Holds,
    all: [(&'static str, Arg); N],
    help: impl FnOnce() -> Option<String>,
) -> Result<Arg, LocatedProblem> {
    let token = cursor.next();
    let Kind::Word(word) = token.kind else { return Err(token.unexpected(holds.expected(), None)) };
    let meant = did_you_mean(word, all.each_ref().map(|(name, _)| *name));
    let found = all.into_iter().find(|(name, _)| *name == word);
    found.map(|(_, arg)| arg).ok_or_else(|| token.unexpected(holds.expected(), meant.or_else(help)))
}

/// Some of these words, each once, up to the end of the line.
fn assertions(cursor: &mut Cursor<'_>, of: &'static [Assertion]) -> Result<Arg, LocatedProblem> {
    let expected = |said: Assertions| {
        let words: Vec<String> =
            of.iter().filter(|one| !said.has(**one)).map(|one| format!("`{}`", one.name())).collect();
        let end = if said.is_empty() { "" } else { " or the end of the line" };
        format!("{}{end}", words.join(", "))
    };
    let mut said = Assertions::default();
    while said.is_empty() || cursor.peek().kind != Kind::End {
        let token = cursor.next();
        let Kind::Word(word) = token.kind else { return Err(token.unexpected(expected(said), None)) };
        let allowed = of.iter().copied().filter(|one| !said.has(*one));
        let Some(assertion) = allowed.clone().find(|one| one.name() == word) else {
            return Err(token.unexpected(expected(said), did_you_mean(word, allowed.map(Assertion::name))));
        };
        said = said.with(assertion);
    }
    Ok(Arg::Assertions(said))
}

/// `all`, or names up to the end of the line.
fn requests(cursor: &mut Cursor<'_>, names: &mut Names) -> Result<Arg, LocatedProblem> {
    if cursor.eat_word("all") {
        return Ok(Arg::All);
    }
    let mut list = vec![names.name(cursor, Holds::Requests.expected())?];
    cursor.take_list::<Name>(1)?;
    while cursor.peek().kind != Kind::End {
        if list.len() == ITEMS_MAX {
            return Err((cursor.peek().at, Problem::TooManyItems));
        }
        let token = cursor.peek();
        if token.kind == Kind::Word("all") {
            return Err(token.unexpected("`wait all` alone, or names only", None));
        }
        cursor.take_item::<Name>()?;
        list.push(names.name(cursor, "the name of a request or the end of the line")?);
    }
    Ok(Arg::Names(list.into_boxed_slice()))
}

fn missing_word(token: Token<'_>, verb: Verb, slot: &Slot) -> LocatedProblem {
    let meant = match token.kind {
        Kind::Word(word) => did_you_mean(word, [slot.word]),
        _ => None,
    };
    let help = meant.or_else(|| Some(format!("the statement is `{}`", verb.usage())));
    let behind = match slot.holds {
        Holds::Group => "a group",
        Holds::Size => "a size",
        Holds::Buffer => "the name of a buffer",
        other => other.expected(),
    };
    token.unexpected(format!("`{}` and {behind}", slot.word), help)
}

/// Expects the end of the line. `left_out` has the words that could have stood here.
pub(crate) fn end_of_line(
    cursor: &Cursor<'_>,
    left_out: &[&str],
    verb: Option<Verb>,
) -> Result<(), LocatedProblem> {
    let token = cursor.peek();
    let word = match token.kind {
        Kind::End => return Ok(()),
        Kind::Word(word) => word,
        _ => "",
    };
    let words: Vec<String> = left_out.iter().map(|word| format!("`{word}`")).collect();
    let or = if words.is_empty() { "" } else { " or " };
    let expected = format!("{}{or}the end of the line", words.join(", "));
    let help = if Unit::from_name(word).is_some() {
        Some(format!("a unit stands behind its number without a blank, as in `4{word}`"))
    } else {
        did_you_mean(word, left_out.iter().copied())
            .or_else(|| verb.map(|verb| format!("the statement is `{}`", verb.usage())))
    };
    Err(token.unexpected(expected, help))
}
