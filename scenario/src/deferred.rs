//! Statements whose values are known only when the program runs: those with `source(NAME)` or `tag(NAME)`.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::ast::{Field, Local, Tree};
use crate::ids::{RequestId, Source, TagSelector};
use crate::op::{Deferred, Hole, Numbers, Op, Received};
use crate::problem::Problem;
use crate::value::{self, Leaves, Within, evaluate};

/// A value that is out of its range when the program runs: the rank cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}, for `{expression}`{}", Told(told))]
pub struct ValueError {
    /// The error of the value, and what was expected.
    pub problem: Box<Problem>,
    /// The expression.
    pub expression: String,
    /// Each `source(NAME)` and `tag(NAME)` in it, with its value.
    pub told: Vec<(String, u32)>,
}

/// ` where source(r) is 2 and tag(r) is 0`.
struct Told<'a>(&'a [(String, u32)]);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (what, value)) in self.0.iter().enumerate() {
            let before = match at {
                0 => ", where",
                _ if at + 1 == self.0.len() => " and",
                _ => ",",
            };
            write!(f, "{before} `{what}` is {value}")?;
        }
        Ok(())
    }
}

impl Deferred {
    /// `names` may be in any order, and there several times.
    pub(crate) fn new(
        outline: Op,
        holes: Vec<Hole>,
        numbers: Numbers,
        mut names: Vec<(Arc<str>, RequestId)>,
    ) -> Self {
        names.sort_unstable();
        names.dedup();
        names.shrink_to_fit();
        Self { outline, holes, numbers, names }
    }

    /// The statement, with 0 for each value that is not known yet; [`Deferred::is_deferred`] says which these are.
    pub fn outline(&self) -> &Op {
        &self.outline
    }

    /// Whether the value of a slot is not known yet. Slots are numbered as in
    /// [`Verb::slots`](crate::verb::Verb::slots).
    pub fn is_deferred(&self, slot: usize) -> bool {
        self.tree(slot).is_some()
    }

    /// The expression in a slot, if its value is not known yet.
    pub(crate) fn tree(&self, slot: usize) -> Option<&Tree> {
        self.holes.iter().find(|hole| hole.slot == slot).map(|hole| &*hole.tree)
    }

    /// The receives and probes whose messages the statement uses.
    pub fn reads(&self) -> impl Iterator<Item = RequestId> {
        self.names.iter().map(|(_, id)| *id)
    }

    /// The statement with its values. `received` returns the latest message of each of the [`Deferred::reads`].
    ///
    /// # Errors
    ///
    /// If a value is out of its range, such as a rank that does not exist.
    pub fn resolve(&self, received: impl Fn(RequestId) -> Option<Received>) -> Result<Op, ValueError> {
        let mut op = self.outline.clone();
        for Hole { slot, tree } in &self.holes {
            let mut known = Known { deferred: self, received: &received };
            let value = evaluate(tree, &mut known).and_then(|value| value.ok_or(Problem::MalformedTree));
            let filled = value.and_then(|value| fill(&mut op, *slot, value, &self.numbers.within));
            filled.map_err(|problem| self.error(tree, problem, &known))?;
        }
        Ok(op)
    }

    fn error<F: Fn(RequestId) -> Option<Received>>(
        &self,
        tree: &Tree,
        problem: Problem,
        known: &Known<'_, F>,
    ) -> ValueError {
        /// The most values in a message; nobody would read more.
        const TOLD_MAX: usize = 8;
        let mut told: Vec<(String, u32)> = Vec::new();
        tree.received(&mut |field, name| {
            let what = format!("{}({name})", field.name());
            if told.len() < TOLD_MAX && told.iter().all(|(other, _)| *other != what) {
                told.extend(known.value(field, name).map(|value| (what, value)));
            }
        });
        ValueError { problem: Box::new(problem), expression: tree.to_string(), told }
    }
}

/// The names of a statement when its rank gets to it.
struct Known<'a, F> {
    deferred: &'a Deferred,
    received: &'a F,
}

impl<F: Fn(RequestId) -> Option<Received>> Known<'_, F> {
    fn value(&self, field: Field, name: &str) -> Option<u32> {
        let names = &self.deferred.names;
        let at = names.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
        let message = (self.received)(names[at].1)?;
        Some(match field {
            Field::Source => message.source,
            Field::Tag => message.tag,
        })
    }
}

impl<F: Fn(RequestId) -> Option<Received>> Leaves for Known<'_, F> {
    fn me(&self) -> Result<i64, Problem> {
        self.deferred.numbers.me.map(i64::from).ok_or(Problem::MeOutsideProgram)
    }

    fn size(&self) -> Result<i64, Problem> {
        Ok(self.deferred.numbers.ranks.into())
    }

    fn local(&self, local: Local, name: &str) -> Result<i64, Problem> {
        let locals = &self.deferred.numbers.locals;
        let found = locals.iter().find(|(other, _)| **other == *name).ok_or(Problem::MalformedTree);
        found.map(|(_, [me, size])| match local {
            Local::Me => (*me).into(),
            Local::Size => (*size).into(),
        })
    }

    fn received(&self, field: Field, name: &str) -> Result<Option<i64>, Problem> {
        let missing = || Problem::NotComplete { name: name.to_owned(), again: false };
        self.value(field, name).map(|value| Some(value.into())).ok_or_else(missing)
    }

    /// The statement's work was counted when it was checked.
    fn spend(&mut self, _work: u64) {}
}

/// Puts a value into a slot of a statement.
fn fill(op: &mut Op, slot: usize, value: i64, within: &Within) -> Result<(), Problem> {
    match (op, slot) {
        (Op::Compute { ns }, 0) => *ns = value::count(value, "a time")?,
        (Op::Send { to, .. } | Op::SendRecv { to, .. }, 0) => *to = within.rank(value)?,
        (Op::Send { tag, .. } | Op::SendRecv { send_tag: tag, .. }, 1) => *tag = value::tag(value)?,
        (Op::Send { size, .. } | Op::SendRecv { send_size: size, .. } | Op::Recv { size, .. }, 2)
        | (Op::SendRecv { recv_size: size, .. }, 5) => *size = value::count(value, "a size")?,
        (Op::Recv { from, .. } | Op::Probe { from, .. }, 0) | (Op::SendRecv { from, .. }, 3) => {
            *from = Source::Rank(within.rank(value)?);
        }
        (Op::Recv { tag, .. } | Op::Probe { tag, .. }, 1) | (Op::SendRecv { recv_tag: tag, .. }, 4) => {
            *tag = TagSelector::Tag(value::tag(value)?);
        }
        _ => return Err(Problem::MalformedTree),
    }
    Ok(())
}
