//! The program of each rank; one allocation for ranks with the same blocks, if none of these uses `me`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::blocks::Blocks;
use super::collectives::{Call, Collectives};
use super::communicators::Splits;
use super::lower::{Lowered, Rank, Windows};
use super::values::Values;
use crate::ast::{Ast, Item, Statement};
use crate::error::Faults;
use crate::model::{Program, Step};

/// The results of earlier steps, before statements are checked.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    pub(super) ast: &'a Ast,
    /// By line of the tree, the line of the text.
    pub(super) numbers: &'a [u32],
    pub(super) blocks: &'a Blocks,
    pub(super) windows: &'a Windows<'a>,
}

/// Checks every statement for every rank, and keeps the collectives that they call.
pub(super) fn check(file: &File<'_>, ranks: u32, values: &mut Values, faults: &mut Faults) -> Collectives {
    let mut found = Collectives::default();
    let mut seen: HashSet<&[u32]> = HashSet::new();
    let mut walk = Walk { file, values, faults, wrong: HashSet::new() };
    for rank in 0..ranks {
        if walk.faults.full() {
            break;
        }
        let blocks = file.blocks.of(rank);
        if file.blocks.is_shared(rank) && !seen.insert(blocks) {
            continue;
        }
        let called = |line: &StatementLine<'_>, Lowered { on, op, .. }| Call::of(line.index, on, &op);
        let (calls, _) = walk.program(rank, Vec::new(), called);
        found.add(file.ast, file.numbers, rank, &calls);
    }
    found
}

/// Builds the program of every rank of a file that has been checked.
pub(super) fn build(
    file: &File<'_>,
    mut splits: Splits,
    values: &mut Values,
    faults: &mut Faults,
) -> Vec<Arc<Program>> {
    let ranks = values.ranks();
    let mut by_blocks: HashMap<&[u32], Arc<Program>> = HashMap::new();
    let mut programs = Vec::with_capacity(ranks as usize);
    let mut walk = Walk { file, values, faults, wrong: HashSet::new() };
    for rank in 0..ranks {
        let shared = splits.is_empty() && file.blocks.is_shared(rank);
        if let Some(program) = by_blocks.get(file.blocks.of(rank)).filter(|_| shared) {
            programs.push(Arc::clone(program));
            continue;
        }
        let mut steps = splits.take(rank);
        steps.reserve_exact(file.blocks.statements(rank));
        let step = |line: &StatementLine<'_>, Lowered { bind, on, op }| {
            let label = line.statement.label.as_ref().map(|label| Arc::clone(&label.text));
            Some(Step { line: file.numbers[line.index as usize], label, bind, on, op })
        };
        let (steps, names) = walk.program(rank, steps, step);
        let program = Arc::new(names.into_program(steps));
        if shared {
            by_blocks.insert(file.blocks.of(rank), Arc::clone(&program));
        }
        programs.push(program);
    }
    programs
}

/// A line with a statement.
struct StatementLine<'a> {
    /// Its index in the tree.
    index: u32,
    statement: &'a Statement,
}

/// Goes through the statements of ranks, in file order.
struct Walk<'a, 'v> {
    file: &'v File<'a>,
    values: &'v mut Values,
    faults: &'v mut Faults,
    /// Lines of the tree with an error: they are not checked again for later ranks.
    wrong: HashSet<usize>,
}

impl<'a> Walk<'a, '_> {
    /// Adds to `list` what `keep` returns for the statements of `rank`, `repeat` unrolled. Also returns the names
    /// that they use.
    fn program<T: Clone>(
        &mut self,
        rank: u32,
        mut list: Vec<T>,
        keep: impl Fn(&StatementLine<'a>, Lowered) -> Option<T>,
    ) -> (Vec<T>, Rank<'a>) {
        let File { ast, numbers, blocks, windows } = *self.file;
        self.values.set_me(Some(rank));
        let mut state = Rank::default();
        // The beginning of each open `repeat`, and its remaining rounds.
        let mut open: Vec<(usize, u64)> = Vec::new();
        for &block in blocks.of(rank) {
            let block = &blocks.all[block as usize];
            let mut index = block.lines.start;
            while index < block.lines.end && !self.faults.full() {
                let line = &ast.lines[index];
                let found = match &line.item {
                    Item::Repeat(rounds) => match self.values.count(rounds, "a number of rounds") {
                        Ok(0) => {
                            index = blocks.end_of(index);
                            Ok(())
                        }
                        Ok(rounds) => {
                            open.push((list.len(), rounds));
                            state.messages.begin_rounds(rounds);
                            Ok(())
                        }
                        Err(wrong) => Err(wrong),
                    },
                    Item::End => {
                        if let Some((start, rounds)) = open.pop() {
                            repeat(&mut list, start, rounds);
                        }
                        state.messages.end_rounds(self.values)
                    }
                    Item::Statement(statement) => {
                        let label = statement.label.as_ref();
                        let labelled =
                            label.map_or(Ok(()), |label| state.label(label, numbers[index], self.values));
                        let seen_wrong = self.wrong.contains(&index);
                        let lowered = state.lower(statement, line.at, seen_wrong, windows, self.values);
                        labelled.and(lowered).map(|lowered| {
                            let line = StatementLine { index: index as u32, statement };
                            list.extend(lowered.and_then(|lowered| keep(&line, lowered)));
                        })
                    }
                    _ => Ok(()),
                };
                if let Err((at, problem)) = found {
                    let several = block.several && !problem.ends_reading();
                    self.faults.add(at, problem, several.then_some(rank));
                    self.wrong.insert(index);
                }
                index += 1;
            }
        }
        self.values.set_me(None);
        (list, state)
    }
}

/// Repeats one round, the part of `list` from `start` on, so that there are `rounds` of it.
fn repeat<T: Clone>(list: &mut Vec<T>, start: usize, rounds: u64) {
    let end = list.len();
    if start == end {
        return; // However many rounds of nothing.
    }
    for _ in 1..rounds {
        list.extend_from_within(start..end);
    }
}
