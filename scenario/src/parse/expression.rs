//! Expressions, sizes and times.

use std::sync::Arc;

use super::cursor::{Cursor, Kind, LocatedProblem, Token};
use super::names::Names;
use crate::ast::{Expr, Field, Group, Local, Operator, Tree};
use crate::limits::{ITEMS_MAX, NESTING_MAX, OPERANDS_MAX};
use crate::problem::{Problem, clip, did_you_mean};
use crate::span::Span;
use crate::units::Unit;

/// The quantity that an expression measures; it decides which units are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// A plain number: no units.
    Number,
    /// Bytes: units of size, or none.
    Size,
    /// A time: units of time.
    Time,
    /// Not known yet: the value of an option.
    Unknown,
}

impl Quantity {
    fn units(self) -> &'static str {
        match self {
            Quantity::Number => "a plain number",
            Quantity::Size => "a unit of size: `B`, `KiB`, `MiB` or `GiB`",
            Quantity::Time => "a unit of time: `ns`, `us`, `ms` or `s`",
            Quantity::Unknown => "a unit of size or of time",
        }
    }

    fn takes(self, unit: Unit) -> bool {
        match self {
            Quantity::Number => unit == Unit::None,
            Quantity::Size => !unit.is_time(),
            Quantity::Time => !unit.is_size(),
            Quantity::Unknown => true,
        }
    }
}

/// The names that an expression of a statement may use.
pub(crate) struct NamesInside<'n> {
    pub(crate) names: &'n mut Names,
    /// Whether `source(NAME)` and `tag(NAME)` are allowed, not only `me(NAME)` and `size(NAME)`.
    pub(crate) received: bool,
}

/// Parses one expression; `expected` names it in errors. `names` is given in statements.
pub(crate) fn expression(
    cursor: &mut Cursor<'_>,
    names: Option<NamesInside<'_>>,
    quantity: Quantity,
    expected: &'static str,
) -> Result<Expr, LocatedProblem> {
    read(cursor, names, quantity, expected, false)
}

/// Reads `[R...]`: items are separated by blanks or commas and contain no blanks.
pub(crate) fn group(
    cursor: &mut Cursor<'_>,
    mut names: Option<&mut Names>,
    expected: &'static str,
) -> Result<Group, LocatedProblem> {
    let open = cursor.peek();
    if !cursor.eat('[') {
        return Err(open.unexpected(expected, None));
    }
    cursor.take_list::<Group>(1)?;
    let mut items = Vec::new();
    let mut comma = false;
    loop {
        let token = cursor.peek();
        if token.kind == Kind::Mark(']') && !comma {
            cursor.next();
            return Ok(Group(items.into_boxed_slice()));
        }
        if items.len() == ITEMS_MAX {
            return Err((token.at, Problem::TooManyItems));
        }
        if !items.is_empty() && !comma && !token.spaced {
            return Err(token.unexpected("a blank, a comma or `]` behind the rank", None));
        }
        let what = if items.is_empty() { "a rank or `]`" } else { "a rank" };
        cursor.take_item::<Expr>()?;
        let names = names.as_deref_mut().map(|names| NamesInside { names, received: false });
        items.push(read(cursor, names, Quantity::Number, what, true)?);
        comma = cursor.eat(',');
    }
}

fn read(
    cursor: &mut Cursor<'_>,
    names: Option<NamesInside<'_>>,
    quantity: Quantity,
    expected: &'static str,
    tight: bool,
) -> Result<Expr, LocatedProblem> {
    let start = cursor.peek().at;
    let mut reader = ExpressionReader { cursor, names, quantity, expected, tight, depth: 0, operands: 0 };
    let tree = reader.sum()?;
    let at = start.to(cursor.here());
    if quantity == Quantity::Time {
        measure_time(&tree, at)?;
    }
    Ok(Expr { at, tree })
}

struct ExpressionReader<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    names: Option<NamesInside<'c>>,
    quantity: Quantity,
    expected: &'static str,
    /// Whether it is an item of a group, which ends at a blank.
    tight: bool,
    depth: usize,
    operands: usize,
}

impl<'a> ExpressionReader<'_, 'a> {
    fn sum(&mut self) -> Result<Tree, LocatedProblem> {
        self.chain(ExpressionReader::product, &[Operator::Add, Operator::Subtract])
    }

    fn product(&mut self) -> Result<Tree, LocatedProblem> {
        let operators = [Operator::Multiply, Operator::Divide, Operator::Remainder];
        self.chain(ExpressionReader::operand, &operators)
    }

    /// Operands that `next` reads, with `operators` between them.
    fn chain(
        &mut self,
        next: fn(&mut Self) -> Result<Tree, LocatedProblem>,
        operators: &[Operator],
    ) -> Result<Tree, LocatedProblem> {
        let first = next(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(operators)? {
            self.cursor.next();
            let operand = next(self)?;
            if rest.is_empty() {
                // Most chains are of two operands.
                rest.reserve_exact(1);
            }
            rest.push((operator, operand));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        self.cursor.take_list::<(Tree, Vec<(Operator, Tree)>)>(1)?;
        self.cursor.take_list::<(Operator, Tree)>(rest.capacity())?;
        Ok(Tree::Chain(Box::new((first, rest))))
    }

    /// The next token, if it is one of `operators`. Behind a blank, an item of a group ends.
    fn operator(&self, operators: &[Operator]) -> Result<Option<Operator>, LocatedProblem> {
        let token = self.cursor.peek();
        let Kind::Mark(mark) = token.kind else { return Ok(None) };
        if self.tight && token.spaced {
            let inside = self.depth > 0;
            return if inside { Err((token.at, Problem::BlankInItem)) } else { Ok(None) };
        }
        Ok(operators.iter().copied().find(|operator| operator.symbol() == mark))
    }

    fn operand(&mut self) -> Result<Tree, LocatedProblem> {
        let token = self.cursor.peek();
        if self.tight && token.spaced && self.operands + self.depth > 0 && token.kind != Kind::End {
            return Err((token.at, Problem::BlankInItem));
        }
        match token.kind {
            Kind::Mark('-') => {
                self.descend(token)?;
                let inner = self.operand()?;
                self.depth -= 1;
                Ok(Tree::Minus(Box::new(inner)))
            }
            Kind::Mark('(') => {
                self.descend(token)?;
                let inner = self.sum()?;
                let close = self.cursor.peek();
                if self.tight && close.spaced && close.kind != Kind::End {
                    return Err((close.at, Problem::BlankInItem));
                }
                if !self.cursor.eat(')') {
                    return Err(close.unexpected("an operator or `)`", None));
                }
                self.depth -= 1;
                let unit = self.unit_behind_parenthesis()?;
                Ok(Tree::Parentheses(Box::new(inner), unit))
            }
            Kind::Word(word) => self.word(word, token),
            _ => Err(token.unexpected(self.expected, None)),
        }
    }

    fn word(&mut self, word: &'a str, token: Token<'a>) -> Result<Tree, LocatedProblem> {
        self.operands += 1;
        if self.operands > OPERANDS_MAX {
            return Err((token.at, Problem::TooManyOperands));
        }
        if let Some(field) = Field::from_name(word)
            && self.is_before_parenthesis()
        {
            return self.received(field, token);
        }
        if let Some(local) = Local::from_name(word)
            && self.is_before_parenthesis()
        {
            return self.local(local, token);
        }
        let tree = match word {
            "me" => Tree::Me,
            "size" => Tree::Size,
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => self.number(word, token.at)?,
            _ => {
                let help = did_you_mean(word, ["me", "size", "any"]);
                return Err(token.unexpected(self.expected, help));
            }
        };
        self.cursor.next();
        Ok(tree)
    }

    /// Whether the next but one token is `(`. In a group, one behind a blank begins the next item.
    fn is_before_parenthesis(&self) -> bool {
        let mut ahead = self.cursor.clone();
        ahead.next();
        let next = ahead.peek();
        next.kind == Kind::Mark('(') && !(self.tight && next.spaced)
    }

    /// `source(NAME)`, `tag(NAME)`.
    fn received(&mut self, field: Field, token: Token<'a>) -> Result<Tree, LocatedProblem> {
        self.cursor.next();
        self.cursor.next();
        let Some(NamesInside { names, received: true }) = &mut self.names else {
            return Err((token.at, Problem::KnownTooLate { field: field.name() }));
        };
        let name = name_in_parenthesis(self.cursor, names, "the name of a receive or a probe")?;
        Ok(Tree::Received(field, name))
    }

    /// `me(NAME)`, `size(NAME)`.
    fn local(&mut self, local: Local, token: Token<'a>) -> Result<Tree, LocatedProblem> {
        self.cursor.next();
        self.cursor.next();
        let Some(NamesInside { names, .. }) = &mut self.names else {
            return Err((token.at, Problem::CommunicatorOutsideProgram { local: local.name() }));
        };
        let name = name_in_parenthesis(self.cursor, names, "the name of a communicator")?;
        Ok(Tree::Local(local, name))
    }

    fn number(&self, word: &str, at: Span) -> Result<Tree, LocatedProblem> {
        let len = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let (digits, unit) = word.split_at(len);
        // 2^63 itself passes: there may be a minus before it.
        let value = digits.parse().ok().filter(|&value: &u64| value <= 1 << 63);
        let too_large = || (at, Problem::IntegerTooLarge { digits: clip(digits) });
        let value = value.ok_or_else(too_large)?;
        let unit_at = Span::new(at.start as usize + len, at.end());
        Ok(Tree::Number(value, if unit.is_empty() { Unit::None } else { self.unit(unit, unit_at)? }))
    }

    /// `(X)KiB`: a unit that stands immediately behind a parenthesis.
    fn unit_behind_parenthesis(&mut self) -> Result<Unit, LocatedProblem> {
        let token = self.cursor.peek();
        match token.kind {
            Kind::Word(word) if !token.spaced && Unit::from_name(word).is_some() => {
                self.cursor.next();
                self.unit(word, token.at)
            }
            _ => Ok(Unit::None),
        }
    }

    fn unit(&self, name: &str, at: Span) -> Result<Unit, LocatedProblem> {
        let expected = self.quantity.units();
        match Unit::from_name(name) {
            Some(unit) if self.quantity.takes(unit) => Ok(unit),
            Some(unit) => Err((at, Problem::WrongUnit { unit: unit.name(), expected })),
            None => {
                let fitting = Unit::WRITTEN.into_iter().filter(|&unit| self.quantity.takes(unit));
                let help = did_you_mean(name, fitting.map(Unit::name));
                Err((at, Problem::UnknownUnit { unit: clip(name), expected, help }))
            }
        }
    }

    fn descend(&mut self, token: Token<'_>) -> Result<(), LocatedProblem> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err((token.at, Problem::Nesting { what: "parentheses and minus signs" }));
        }
        self.cursor.take_list::<Tree>(1)?;
        self.cursor.next();
        Ok(())
    }
}

/// Reads `NAME)`.
fn name_in_parenthesis(
    cursor: &mut Cursor<'_>,
    names: &mut Names,
    expected: &'static str,
) -> Result<Box<Arc<str>>, LocatedProblem> {
    let name = names.name(cursor, expected)?;
    let close = cursor.peek();
    if !cursor.eat(')') {
        return Err(close.unexpected("`)`", None));
    }
    cursor.take_list::<Arc<str>>(1)?;
    Ok(Box::new(name.text))
}

/// Fails unless `tree` is a time: `5us`, `me*5us`, `1ms+5us` are, `5` and `5us+1` are not.
pub(crate) fn measure_time(tree: &Tree, at: Span) -> Result<(), LocatedProblem> {
    match is_time(tree) {
        Some(true) => Ok(()),
        Some(false) => Err((at, Problem::TimeWithoutUnit)),
        None => Err((at, Problem::MixedUnits)),
    }
}

/// True for a time, false for a plain number, `None` if the two are mixed.
fn is_time(tree: &Tree) -> Option<bool> {
    match tree {
        Tree::Number(_, unit) => Some(unit.is_time()),
        Tree::Me | Tree::Size | Tree::Received(..) | Tree::Local(..) => Some(false),
        Tree::Minus(inner) => is_time(inner),
        Tree::Parentheses(inner, Unit::None) => is_time(inner),
        Tree::Parentheses(inner, unit) => (!is_time(inner)?).then_some(unit.is_time()),
        Tree::Chain(chain) => {
            let mut so_far = is_time(&chain.0)?;
            for (operator, operand) in &chain.1 {
                so_far = match (operator, so_far, is_time(operand)?) {
                    (Operator::Multiply, left, right) => (!(left && right)).then_some(left || right)?,
                    (Operator::Divide, true, true) => false,
                    (Operator::Divide, left, false) => left,
                    (_, left, right) if left == right => left,
                    _ => return None,
                };
            }
            Some(so_far)
        }
    }
}
