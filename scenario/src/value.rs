//! The values of expressions, and their ranges.

use std::sync::Arc;

use crate::ast::{Field, Local, Operator, Tree};
use crate::limits::{COLOR_MAX, TAG_MAX};
use crate::problem::{Problem, clip};
use crate::units::Unit;

/// The values of the names in an expression.
pub(crate) trait Leaves {
    /// The value of `me`.
    fn me(&self) -> Result<i64, Problem>;

    /// The value of `size`.
    fn size(&self) -> Result<i64, Problem>;

    /// The value of `source(NAME)` or `tag(NAME)`; `None` before the program runs.
    fn received(&self, field: Field, name: &str) -> Result<Option<i64>, Problem>;

    /// The value of `me(NAME)` or `size(NAME)`.
    fn local(&self, local: Local, name: &str) -> Result<i64, Problem>;

    /// Counts this number of operations.
    fn spend(&mut self, work: u64);
}

/// The value of an expression; `None` if it depends on a message that is not there yet. Errors in the other parts are
/// found all the same.
///
/// Depth is at most a few times [`NESTING_MAX`](crate::limits::NESTING_MAX).
pub(crate) fn evaluate(tree: &Tree, leaves: &mut impl Leaves) -> Result<Option<i64>, Problem> {
    match tree {
        Tree::Number(value, unit) => {
            let value = i64::try_from(*value).map_err(|_| Problem::Overflow)?;
            in_unit(value, *unit).map(Some)
        }
        Tree::Me => leaves.me().map(Some),
        Tree::Size => leaves.size().map(Some),
        Tree::Received(field, name) => leaves.received(*field, name),
        Tree::Local(local, name) => leaves.local(*local, name).map(Some),
        Tree::Minus(inner) => {
            leaves.spend(1);
            match **inner {
                // The only number that fits only with its minus.
                Tree::Number(value, Unit::None) if value == 1 << 63 => Ok(Some(i64::MIN)),
                ref inner => match evaluate(inner, leaves)? {
                    Some(value) => value.checked_neg().map(Some).ok_or(Problem::Overflow),
                    None => Ok(None),
                },
            }
        }
        Tree::Parentheses(inner, unit) => {
            leaves.spend(1);
            evaluate(inner, leaves)?.map(|value| in_unit(value, *unit)).transpose()
        }
        Tree::Chain(chain) => {
            let (first, rest) = &**chain;
            let mut value = evaluate(first, leaves)?;
            leaves.spend(rest.len() as u64);
            for (operator, operand) in rest {
                value = apply(*operator, value, evaluate(operand, leaves)?)?;
            }
            Ok(value)
        }
    }
}

/// A rank that exists, of `ranks`.
pub(crate) fn rank(value: i64, ranks: u32) -> Result<u32, Problem> {
    u32::try_from(value).ok().filter(|rank| *rank < ranks).ok_or_else(|| {
        let last = ranks.saturating_sub(1);
        let expected = if last == 0 { "0".to_owned() } else { format!("0 to {last}") };
        let help =
            "`%` has the sign of its left side: in a ring, the rank before this one is `(me+size-1)%size`";
        Problem::NoSuchRank { value, expected, help: (value < 0).then(|| help.to_owned()) }
    })
}

/// The ranks that a statement may name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Within {
    /// The communicator; `None` for all ranks.
    pub(crate) name: Option<Arc<str>>,
    /// The number of its ranks.
    pub(crate) ranks: u32,
}

impl Within {
    /// A rank that exists there.
    pub(crate) fn rank(&self, value: i64) -> Result<u32, Problem> {
        rank(value, self.ranks).map_err(|problem| match (problem, &self.name) {
            (Problem::NoSuchRank { value, expected, .. }, Some(name)) => {
                Problem::NoSuchRankIn { value, name: clip(name), expected }
            }
            (problem, _) => problem,
        })
    }
}

/// A color; `None` if it is negative: no communicator.
pub(crate) fn color(value: i64) -> Result<Option<u32>, Problem> {
    match u32::try_from(value) {
        Ok(color) if value <= COLOR_MAX => Ok(Some(color)),
        Err(_) if value < 0 => Ok(None),
        _ => Err(Problem::ColorRange { value }),
    }
}

/// A key.
pub(crate) fn key(value: i64) -> Result<i32, Problem> {
    i32::try_from(value).map_err(|_| Problem::KeyRange { value })
}

/// A tag.
pub(crate) fn tag(value: i64) -> Result<u32, Problem> {
    let tag = u32::try_from(value).ok().filter(|tag| i64::from(*tag) <= TAG_MAX);
    tag.ok_or(Problem::TagRange { value })
}

/// A number of something, 0 or more; `what` is "a size" or the like.
pub(crate) fn count(value: i64, what: &'static str) -> Result<u64, Problem> {
    u64::try_from(value).map_err(|_| Problem::Negative { what, value })
}

fn in_unit(value: i64, unit: Unit) -> Result<i64, Problem> {
    value.checked_mul(unit.factor()).ok_or(Problem::Overflow)
}

fn apply(operator: Operator, left: Option<i64>, right: Option<i64>) -> Result<Option<i64>, Problem> {
    if matches!(operator, Operator::Divide | Operator::Remainder) && right == Some(0) {
        return Err(Problem::ZeroDivisor);
    }
    let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
    let value = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide => left.checked_div(right),
        // Wrapping concerns i64::MIN % -1 only, which is 0.
        Operator::Remainder => Some(left.wrapping_rem(right)),
    };
    value.map(Some).ok_or(Problem::Overflow)
}
