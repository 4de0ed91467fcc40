//! A file as it was written: one [`Line`] for each line, with comments and places.
//!
//! The tree is flat on purpose. A statement is one line, so blocks and `repeat` need no nested values:
//! [`Item::Block`], [`Item::Repeat`] and [`Item::End`] are lines like others, and the parser has checked that they
//! pair.

use std::sync::Arc;

use crate::assertions::Assertions;
use crate::checks::Check;
use crate::combine::Combine;
use crate::span::Span;
use crate::units::Unit;
use crate::verb::Verb;

/// A parsed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ast {
    /// The name of the file, for messages.
    pub file: String,
    /// Its text; spans are places in it.
    pub source: Arc<str>,
    /// Its lines. Every `Repeat` has its `End` in the same block, nesting is at most 64, and
    /// statements are inside of blocks.
    pub lines: Vec<Line>,
    /// About how many bytes of memory the tree takes. [`check`](crate::check()) may use only the rest of the limit
    /// for the programs.
    pub memory: u64,
}

/// One line, or a run of blank lines and comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its place, without the comment.
    pub at: Span,
    /// The content of the line.
    pub item: Item,
    /// The comment behind it, from its `#` on, without blanks at its end.
    pub comment: Option<Box<str>>,
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A run of comment lines and blank lines, trimmed and joined by `\n`; several blank lines in
    /// sequence are one. A lone blank line is the empty text. Two never follow each other.
    Remark(Box<str>),
    /// `scenario "TITLE"`.
    Title(Box<str>),
    /// `ranks N`.
    Ranks(Expr),
    /// `nodes [R...]...`.
    Nodes(Box<[Group]>),
    /// `window NAME SIZE`.
    Window(Box<(Name, Expr)>),
    /// `comm NAME = split color K [key K] [on PARENT]`.
    Split(Box<Split>),
    /// `option NAME VALUE`.
    Setting(Box<Setting>),
    /// `expect CHECK violated`.
    Expect(Check),
    /// `rank R`, `rank R..S`, `rank *`: the lines up to the next block are theirs.
    Block(Ranks),
    /// `repeat N`.
    Repeat(Expr),
    /// `end`.
    End,
    /// A statement.
    Statement(Statement),
}

/// The ranks of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// `rank R`.
    One(Box<Expr>),
    /// `rank R..S`, both included.
    Range(Box<(Expr, Expr)>),
    /// `rank *`.
    All,
}

/// `comm NAME = split color K [key K] [on PARENT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The communicator that each rank gets.
    pub name: Name,
    /// Ranks of the same color get the same one; one whose color is negative gets none.
    pub color: Expr,
    /// The order of the ranks in it.
    pub key: Option<Expr>,
    /// The communicator that is split; that of all ranks, if it is not there.
    pub parent: Option<Name>,
}

/// `option NAME VALUE` or `option WINDOW.NAME VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The window, for a flag of one.
    pub window: Option<Name>,
    /// The option or flag.
    pub name: Name,
    /// The value that it is set to.
    pub value: Value,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A lone word that is no number: `on`, `adaptive`.
    Word(Name),
    /// A number, a size or a time.
    Number(Expr),
}

/// A statement of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// `LABEL:`.
    pub label: Option<Box<Name>>,
    /// `NAME =`. Only where [`Verb::binds`].
    pub bind: Option<Box<Name>>,
    /// The keyword.
    pub verb: Verb,
    /// One for each of [`Verb::slots`], in their order.
    pub args: Box<[Arg]>,
}

/// The content of one slot of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// Nothing: the slot is optional.
    Absent,
    /// A window, buffer, request or communicator.
    Name(Name),
    /// A rank, tag, size or time.
    Expr(Expr),
    /// `any`.
    Any,
    /// `[R...]`.
    Group(Group),
    /// The requests of `wait NAME...`, at least one.
    Names(Box<[Name]>),
    /// `all`.
    All,
    /// `shared`.
    Shared,
    /// `exclusive`.
    Exclusive,
    /// How atomics combine: `sum`.
    Combine(Combine),
    /// The words behind `assert`, at least one.
    Assertions(Assertions),
}

/// `[R...]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group(pub Box<[Expr]>);

/// A name, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// ASCII letters, digits and `_`, at most 255.
    pub text: Arc<str>,
    /// Its place.
    pub at: Span,
}

/// An expression, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// The place of the whole expression.
    pub at: Span,
    /// Its tree.
    pub tree: Tree,
}

/// The inside of an expression, parentheses kept. At most 64 deep, so recursion over it is safe.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tree {
    /// `64`, `16KiB`, `5us`.
    Number(u64, Unit),
    /// `me`.
    Me,
    /// `size`.
    Size,
    /// `source(NAME)`, `tag(NAME)`: a value of the message that a receive or a probe has found. Allowed only where
    /// [`Verb::defers`].
    Received(Field, Box<Arc<str>>),
    /// `me(NAME)`, `size(NAME)`: a number of a communicator, at this rank.
    Local(Local, Box<Arc<str>>),
    /// `-X`.
    Minus(Box<Tree>),
    /// `(X)`, or `(X)KiB`.
    Parentheses(Box<Tree>, Unit),
    /// Operands of one precedence from left to right: `X + Y - Z`, or `X * Y / Z`.
    Chain(Box<(Tree, Vec<(Operator, Tree)>)>),
}

/// A value of a message that an expression may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// `source`: the rank that sent it.
    Source,
    /// `tag`: its tag.
    Tag,
}

impl Field {
    /// The word for it in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Field::Source => "source",
            Field::Tag => "tag",
        }
    }

    /// The field with this name.
    pub fn from_name(name: &str) -> Option<Field> {
        [Field::Source, Field::Tag].into_iter().find(|field| field.name() == name)
    }
}

/// A number of a communicator that an expression may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Local {
    /// `me`: this rank's number in it.
    Me,
    /// `size`: the number of its ranks.
    Size,
}

impl Local {
    /// The word for it in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Local::Me => "me",
            Local::Size => "size",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Local> {
        [Local::Me, Local::Size].into_iter().find(|local| local.name() == name)
    }
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, truncating.
    Divide,
    /// `%`, with the sign of the dividend.
    Remainder,
}

impl Operator {
    /// The character for it in a file.
    pub const fn symbol(self) -> char {
        match self {
            Operator::Add => '+',
            Operator::Subtract => '-',
            Operator::Multiply => '*',
            Operator::Divide => '/',
            Operator::Remainder => '%',
        }
    }
}

impl Tree {
    /// Whether the value differs between ranks: `me` occurs, or a communicator.
    pub fn uses_me(&self) -> bool {
        match self {
            Tree::Number(..) | Tree::Size | Tree::Received(..) => false,
            Tree::Me | Tree::Local(..) => true,
            Tree::Minus(inner) | Tree::Parentheses(inner, _) => inner.uses_me(),
            Tree::Chain(chain) => chain.0.uses_me() || chain.1.iter().any(|(_, operand)| operand.uses_me()),
        }
    }

    /// The number of operands, parentheses and minus signs.
    pub(crate) fn operands(&self) -> usize {
        match self {
            Tree::Number(..) | Tree::Size | Tree::Me | Tree::Received(..) | Tree::Local(..) => 1,
            Tree::Minus(inner) | Tree::Parentheses(inner, _) => 1 + inner.operands(),
            Tree::Chain(chain) => {
                chain.1.iter().map(|(_, operand)| operand.operands()).sum::<usize>() + chain.0.operands()
            }
        }
    }

    /// Tells `found` of every `source(NAME)` and `tag(NAME)`, from left to right.
    pub fn received<'t>(&'t self, found: &mut impl FnMut(Field, &'t Arc<str>)) {
        match self {
            Tree::Number(..) | Tree::Size | Tree::Me | Tree::Local(..) => {}
            Tree::Received(field, name) => found(*field, name),
            Tree::Minus(inner) | Tree::Parentheses(inner, _) => inner.received(found),
            Tree::Chain(chain) => {
                chain.0.received(found);
                chain.1.iter().for_each(|(_, operand)| operand.received(found));
            }
        }
    }

    /// Tells `found` of the name of each communicator, from left to right.
    pub fn communicators<'t>(&'t self, found: &mut impl FnMut(&'t Arc<str>)) {
        match self {
            Tree::Number(..) | Tree::Size | Tree::Me | Tree::Received(..) => {}
            Tree::Local(_, name) => found(name),
            Tree::Minus(inner) | Tree::Parentheses(inner, _) => inner.communicators(found),
            Tree::Chain(chain) => {
                chain.0.communicators(found);
                chain.1.iter().for_each(|(_, operand)| operand.communicators(found));
            }
        }
    }
}
