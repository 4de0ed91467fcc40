//! The values of expressions.

use std::collections::HashMap;
use std::sync::Arc;

use super::places::{Declared, Place};
use crate::ast::{Expr, Field, Group, Local, Operator, Tree};
use crate::limits::{ITEM_WORK, MEMORY_MAX, WORK_MAX};
use crate::parse::LocatedProblem;
use crate::problem::Problem;
use crate::room::Room;
use crate::value::{self, Leaves, evaluate};

/// Evaluates expressions, and counts the work of that and the memory that checking takes.
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
    /// The communicators that are declared so far.
    pub(super) communicators: Declared,
    /// Copies of trees that programs keep, by the place of the tree: one for all ranks.
    kept: HashMap<*const Tree, Arc<Tree>>,
}

impl Values {
    /// For a file whose tree takes `memory` bytes.
    pub(super) fn new(memory: u64) -> Self {
        let (room, kept) = (Room::new(memory, MEMORY_MAX), HashMap::new());
        Values {
            size: None,
            me: None,
            work: 0,
            room,
            entries_max: 0,
            communicators: Declared::default(),
            kept,
        }
    }

    /// For a second evaluation of a file that has passed.
    pub(super) fn again(self) -> Self {
        Values { work: 0, room: Room::new(0, u64::MAX), ..self }
    }

    pub(super) fn set_size(&mut self, ranks: u32) {
        self.size = Some(ranks);
    }

    pub(super) fn set_me(&mut self, me: Option<u32>) {
        self.me = me;
    }

    /// Counts `work`; fails once it is too much for one file.
    pub(super) fn spend(&mut self, work: u64) -> Result<(), Problem> {
        self.work = self.work.saturating_add(work);
        if self.work > WORK_MAX { Err(Problem::TooMuchWork) } else { Ok(()) }
    }

    /// Takes memory for `count` values of type `T` in one piece.
    pub(super) fn take_list<T>(&self, count: usize) -> Result<(), Problem> {
        self.room.take_list::<T>(count).map_err(|_| Problem::TooMuchMemory)
    }

    /// Takes memory for a table of the names of one rank. The table is gone before that of the next rank, so only the
    /// part beyond the largest table so far counts.
    pub(super) fn take_table(&mut self, entries: usize) -> Result<(), Problem> {
        /// An entry of a table that has just doubled, while the old table still exists, and the value in a list to
        /// which the entry leads.
        const ENTRY_BYTES: usize = 96;
        let more = entries.saturating_sub(self.entries_max);
        self.entries_max += more;
        self.room.take(more * ENTRY_BYTES).map_err(|_| Problem::TooMuchMemory)
    }

    /// The value of `expr`; `None` if it depends on a message.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<Option<i64>, LocatedProblem> {
        let value = evaluate(&expr.tree, self).and_then(|value| self.spend(1).map(|()| value));
        value.map_err(|problem| (expr.at, problem))
    }

    /// The value of `expr`, which must not depend on a message.
    pub(super) fn number(&mut self, expr: &Expr) -> Result<i64, LocatedProblem> {
        let late = (expr.at, Problem::KnownTooLate { field: Field::Source.name() });
        self.value(expr)?.ok_or(late)
    }

    /// The number of ranks; 0 while `ranks` itself is evaluated.
    pub(super) fn ranks(&self) -> u32 {
        self.size.unwrap_or(0)
    }

    /// The communicator that this rank has under `name`.
    pub(super) fn place(&self, name: &str) -> Result<Place, Problem> {
        self.communicators.place(name, self.me.ok_or(Problem::MeOutsideProgram)?)
    }

    /// This rank, if `tree` depends on it.
    pub(super) fn me_of(&self, tree: &Tree) -> Option<u32> {
        self.me.filter(|_| tree.uses_me())
    }

    /// The value as an existing rank.
    pub(super) fn rank(&mut self, expr: &Expr) -> Result<u32, LocatedProblem> {
        let value = self.number(expr)?;
        value::rank(value, self.ranks()).map_err(|problem| (expr.at, problem))
    }

    /// The value as a number, 0 or more; `what` is "a size" or the like.
    pub(super) fn count(&mut self, expr: &Expr, what: &'static str) -> Result<u64, LocatedProblem> {
        let value = self.number(expr)?;
        value::count(value, what).map_err(|problem| (expr.at, problem))
    }

    /// A copy of `tree` for a program to keep, the same one for all ranks.
    pub(super) fn keep(&mut self, tree: &Tree) -> Result<Arc<Tree>, Problem> {
        if let Some(kept) = self.kept.get(&std::ptr::from_ref(tree)) {
            return Ok(Arc::clone(kept));
        }
        // Each operand has a place in a list, an operator and, at worst, a parenthesis of its own.
        self.take_list::<[(Operator, Tree); 3]>(tree.operands())?;
        let kept = Arc::new(tree.clone());
        self.kept.insert(tree, Arc::clone(&kept));
        Ok(kept)
    }

    /// The ranks of a group in the order of the file, repetitions included.
    pub(super) fn group(&mut self, group: &Group) -> Result<Vec<u32>, LocatedProblem> {
        let mut ranks = Vec::with_capacity(group.0.len());
        for item in &group.0 {
            self.spend(ITEM_WORK).map_err(|problem| (item.at, problem))?;
            ranks.push(self.rank(item)?);
        }
        Ok(ranks)
    }
}

impl Leaves for Values {
    fn me(&self) -> Result<i64, Problem> {
        self.me.map(i64::from).ok_or(Problem::MeOutsideProgram)
    }

    fn size(&self) -> Result<i64, Problem> {
        self.size.map(i64::from).ok_or(Problem::SizeInRanks)
    }

    fn local(&self, local: Local, name: &str) -> Result<i64, Problem> {
        let place = self.place(name)?;
        Ok(match local {
            Local::Me => place.me.into(),
            Local::Size => place.size.into(),
        })
    }

    /// No message is there yet.
    fn received(&self, _field: Field, _name: &str) -> Result<Option<i64>, Problem> {
        Ok(None)
    }

    fn spend(&mut self, work: u64) {
        self.work = self.work.saturating_add(work);
    }
}
