//! The values of expressions.

use crate::ast::{Expr, Group, Operator, Tree};
use crate::limits::{ITEM_WORK, MEMORY_MAX, TAG_MAX, WORK_MAX};
use crate::parse::Wrong;
use crate::problem::Problem;
use crate::room::Room;
use crate::units::Unit;

/// Evaluates expressions, and keeps count of the work that they are, and of the memory that checking
/// takes.
#[derive(Debug)]
pub(super) struct Values {
    /// The value of `size`; `None` while `ranks` itself is evaluated.
    size: Option<u32>,
    /// The value of `me`; `None` in declarations.
    me: Option<u32>,
    work: u64,
    room: Room,
    /// The entries of the largest table of names so far.
    entries_max: usize,
}

impl Values {
    /// For a file whose tree takes `memory` bytes.
    pub(super) fn new(memory: u64) -> Self {
        Values { size: None, me: None, work: 0, room: Room::new(memory, MEMORY_MAX), entries_max: 0 }
    }

    /// For evaluating once more what has passed.
    pub(super) fn again(self) -> Self {
        Values { work: 0, room: Room::new(0, u64::MAX), ..self }
    }

    pub(super) fn set_size(&mut self, ranks: u32) {
        self.size = Some(ranks);
    }

    pub(super) fn set_me(&mut self, me: Option<u32>) {
        self.me = me;
    }

    /// Counts `work`; an error once it is too much for one file.
    pub(super) fn spend(&mut self, work: u64) -> Result<(), Problem> {
        self.work = self.work.saturating_add(work);
        if self.work > WORK_MAX { Err(Problem::TooMuchWork) } else { Ok(()) }
    }

    /// Takes memory for `count` values of type `T` in one piece.
    pub(super) fn take_list<T>(&self, count: usize) -> Result<(), Problem> {
        self.room.take_list::<T>(count).map_err(|_| Problem::TooMuchMemory)
    }

    /// Takes memory for a table of the names of one rank, which ends before that of the next begins:
    /// only what makes it the largest so far counts.
    pub(super) fn take_table(&mut self, entries: usize) -> Result<(), Problem> {
        /// An entry, in a table that has just doubled and of which the old one is still there, and what
        /// it is the entry of, in a list.
        const ENTRY_BYTES: usize = 96;
        let more = entries.saturating_sub(self.entries_max);
        self.entries_max += more;
        self.room.take(more * ENTRY_BYTES).map_err(|_| Problem::TooMuchMemory)
    }

    /// The value of `expr`.
    pub(super) fn number(&mut self, expr: &Expr) -> Result<i64, Wrong> {
        let value = self.tree(&expr.tree).and_then(|value| self.spend(1).map(|()| value));
        value.map_err(|problem| (expr.at, problem))
    }

    /// A rank that exists.
    pub(super) fn rank(&mut self, expr: &Expr) -> Result<u32, Wrong> {
        let value = self.number(expr)?;
        let ranks = self.size.unwrap_or(0);
        match u32::try_from(value) {
            Ok(rank) if rank < ranks => Ok(rank),
            _ => {
                let last = ranks.saturating_sub(1);
                let expected = if last == 0 { "0".to_owned() } else { format!("0 to {last}") };
                Err((expr.at, Problem::NoSuchRank { value, expected }))
            }
        }
    }

    /// A number of something, 0 or more; `what` is "a size" or the like.
    pub(super) fn count(&mut self, expr: &Expr, what: &'static str) -> Result<u64, Wrong> {
        let value = self.number(expr)?;
        u64::try_from(value).map_err(|_| (expr.at, Problem::Negative { what, value }))
    }

    /// A tag.
    pub(super) fn tag(&mut self, expr: &Expr) -> Result<u32, Wrong> {
        let value = self.number(expr)?;
        match u32::try_from(value) {
            Ok(tag) if i64::from(tag) <= TAG_MAX => Ok(tag),
            _ => Err((expr.at, Problem::TagRange { value })),
        }
    }

    /// The ranks of a group in the order of the file, repetitions included.
    pub(super) fn group(&mut self, group: &Group) -> Result<Vec<u32>, Wrong> {
        let mut ranks = Vec::with_capacity(group.0.len());
        for item in &group.0 {
            self.spend(ITEM_WORK).map_err(|problem| (item.at, problem))?;
            ranks.push(self.rank(item)?);
        }
        Ok(ranks)
    }

    /// Depth is at most a few times [`NESTING_MAX`](crate::limits::NESTING_MAX).
    fn tree(&mut self, tree: &Tree) -> Result<i64, Problem> {
        match tree {
            Tree::Number(value, unit) => {
                let value = i64::try_from(*value).map_err(|_| Problem::Overflow)?;
                in_unit(value, *unit)
            }
            Tree::Me => self.me.map(i64::from).ok_or(Problem::MeOutsideProgram),
            Tree::Size => self.size.map(i64::from).ok_or(Problem::SizeInRanks),
            Tree::Minus(inner) => {
                self.work += 1;
                match **inner {
                    // The only number whose negative fits where it does not.
                    Tree::Number(value, Unit::None) if value == 1 << 63 => Ok(i64::MIN),
                    ref inner => self.tree(inner)?.checked_neg().ok_or(Problem::Overflow),
                }
            }
            Tree::Parentheses(inner, unit) => {
                self.work += 1;
                in_unit(self.tree(inner)?, *unit)
            }
            Tree::Chain(chain) => {
                let (first, rest) = &**chain;
                let mut value = self.tree(first)?;
                self.work += rest.len() as u64;
                for (operator, operand) in rest {
                    value = apply(*operator, value, self.tree(operand)?)?;
                }
                Ok(value)
            }
        }
    }
}

fn in_unit(value: i64, unit: Unit) -> Result<i64, Problem> {
    value.checked_mul(unit.factor()).ok_or(Problem::Overflow)
}

fn apply(operator: Operator, left: i64, right: i64) -> Result<i64, Problem> {
    let value = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide | Operator::Remainder if right == 0 => return Err(Problem::ZeroDivisor),
        Operator::Divide => left.checked_div(right),
        // Wrapping concerns i64::MIN % -1 only, which is 0.
        Operator::Remainder => Some(left.wrapping_rem(right)),
    };
    value.ok_or(Problem::Overflow)
}
