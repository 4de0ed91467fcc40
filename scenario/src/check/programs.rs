//! The program of each rank; one allocation for ranks with the same blocks, if none of these uses `me`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::blocks::Blocks;
use super::lower::{Rank, Windows};
use super::values::Values;
use crate::ast::{Ast, Item};
use crate::error::Faults;
use crate::model::{Program, Scenario, Step};
use crate::problem::{Problem, clip};
use crate::span::Span;

/// Builds the program of every rank. They are incomplete when there are faults.
pub(super) fn build(
    ast: &Ast,
    numbers: &[u32],
    blocks: &Blocks,
    scenario: &Scenario,
    values: &mut Values,
    faults: &mut Faults,
) -> Vec<Arc<Program>> {
    let windows = Windows::new(scenario);
    let mut builder =
        Builder { ast, numbers, blocks, windows: &windows, values, faults, wrong: HashSet::new() };
    let mut by_blocks: HashMap<&[u32], Arc<Program>> = HashMap::new();
    let mut programs = Vec::with_capacity(scenario.ranks as usize);
    for rank in 0..scenario.ranks {
        if builder.faults.full() {
            break;
        }
        let shared = blocks.is_shared(rank);
        if let Some(program) = by_blocks.get(blocks.of(rank)).filter(|_| shared) {
            programs.push(Arc::clone(program));
            continue;
        }
        let program = Arc::new(builder.program(rank));
        if shared {
            by_blocks.insert(blocks.of(rank), Arc::clone(&program));
        }
        programs.push(program);
    }
    programs
}

struct Builder<'a> {
    ast: &'a Ast,
    numbers: &'a [u32],
    blocks: &'a Blocks,
    windows: &'a Windows<'a>,
    values: &'a mut Values,
    faults: &'a mut Faults,
    /// Lines of the tree that a fault was found in: what is wrong for one rank is not worth
    /// another look for the next.
    wrong: HashSet<usize>,
}

impl Builder<'_> {
    fn program(&mut self, rank: u32) -> Program {
        self.values.set_me(Some(rank));
        let statements = self.blocks.statements(rank);
        let taken = self.values.take_list::<Program>(1).and(self.values.take_list::<Step>(statements));
        if let Err(problem) = taken {
            let block = self.blocks.of(rank).first().map(|&block| &self.blocks.all[block as usize]);
            let at = block.map_or(Span::default(), |block| self.ast.lines[block.lines.start].at);
            self.faults.add(at, problem, None);
            return Program::default();
        }
        let mut steps: Vec<Step> = Vec::with_capacity(statements);
        let mut state = Rank::default();
        let mut labels: HashMap<&str, u32> = HashMap::new();
        // Where each open `repeat` began, and its rounds.
        let mut open: Vec<(usize, u64)> = Vec::new();
        for &block in self.blocks.of(rank) {
            let block = &self.blocks.all[block as usize];
            let mut index = block.lines.start;
            while index < block.lines.end && !self.faults.full() {
                let line = &self.ast.lines[index];
                let number = self.numbers[index];
                let found = match &line.item {
                    Item::Repeat(rounds) => match self.values.count(rounds, "a number of rounds") {
                        Ok(0) => {
                            index = self.blocks.end_of(index);
                            Ok(())
                        }
                        Ok(rounds) => {
                            open.push((steps.len(), rounds));
                            Ok(())
                        }
                        Err(wrong) => Err(wrong),
                    },
                    Item::End => {
                        if let Some((start, rounds)) = open.pop() {
                            repeat(&mut steps, start, rounds);
                        }
                        Ok(())
                    }
                    Item::Statement(statement) => {
                        let label = statement.label.as_ref();
                        let known = label.and_then(|label| labels.insert(&label.text, number));
                        let seen_wrong = self.wrong.contains(&index);
                        let room = self.values.take_table(labels.len()).map_err(|problem| (line.at, problem));
                        let lowered = room.and_then(|()| {
                            state.lower(statement, line.at, seen_wrong, self.windows, self.values)
                        });
                        match (label, known) {
                            (Some(label), Some(line)) => {
                                let name = clip(&label.text);
                                Err((label.at, Problem::LabelTwice { name, line }))
                            }
                            _ => lowered.map(|lowered| {
                                let label = label.map(|label| Arc::clone(&label.text));
                                let step = |(bind, op)| Step { line: number, label, bind, op };
                                steps.extend(lowered.map(step));
                            }),
                        }
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
        state.into_program(steps)
    }
}

/// Makes of one round, the steps from `start` on, `rounds` of them.
fn repeat(steps: &mut Vec<Step>, start: usize, rounds: u64) {
    let end = steps.len();
    if start == end {
        return; // However many rounds of nothing.
    }
    for _ in 1..rounds {
        steps.extend_from_within(start..end);
    }
}
