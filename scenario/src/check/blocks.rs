//! Blocks: the ranks that each is for, and the number of its statements.
//!
//! Nothing is expanded here. A `repeat` bomb costs one multiplication for each of its lines.

use std::ops::Range;

use super::values::Values;
use crate::ast::{Arg, Ast, Item, Ranks, Statement};
use crate::error::Faults;
use crate::limits::STATEMENTS_MAX;
use crate::parse::LocatedProblem;
use crate::problem::{Many, Problem};
use crate::span::Span;
use crate::verb::Holds;

/// A block of the file.
#[derive(Debug)]
pub(super) struct Block {
    /// Its lines in the tree, without the `rank` line.
    pub(super) lines: Range<usize>,
    /// Whether it is written for several ranks, so that an error in it names one of them.
    pub(super) several: bool,
    /// Whether anything in it depends on the rank: an expression with `me`, or a communicator.
    uses_me: bool,
}

/// The blocks of a file.
#[derive(Debug)]
pub(super) struct Blocks {
    pub(super) all: Vec<Block>,
    /// The blocks that have statements for a rank, in file order, rank by rank.
    of_ranks: Vec<u32>,
    /// By rank, the end of its blocks in `of_ranks`, where those of the next rank begin.
    ends_of_ranks: Vec<u32>,
    /// By rank, the number of its statements.
    statements: Vec<u32>,
    /// By line of a `repeat`, the line of its `end`; 0 for other lines.
    ends: Vec<u32>,
}

impl Blocks {
    /// Fills in the blocks of each rank. They are no more than statements, since those that have none
    /// for a rank are not in `runs`.
    fn sort_by_rank(&mut self, runs: &[(u32, Range<u32>)], ranks: u32) {
        let mut next = vec![0; ranks as usize + 1];
        for rank in runs.iter().flat_map(|(_, run)| run.clone()) {
            next[rank as usize + 1] += 1;
        }
        let mut sum = 0;
        for count in &mut next {
            sum += *count;
            *count = sum;
        }
        self.of_ranks = vec![0; sum as usize];
        for (block, run) in runs {
            for rank in run.clone() {
                let place = &mut next[rank as usize];
                self.of_ranks[*place as usize] = *block;
                *place += 1;
            }
        }
        // Each beginning has moved to its end.
        next.truncate(ranks as usize);
        self.ends_of_ranks = next;
    }

    /// The blocks that have statements for `rank`, in file order.
    pub(super) fn of(&self, rank: u32) -> &[u32] {
        let start = rank.checked_sub(1).map_or(0, |before| self.ends_of_ranks[before as usize]);
        &self.of_ranks[start as usize..self.ends_of_ranks[rank as usize] as usize]
    }

    /// The number of statements of `rank`, `repeat` unrolled.
    pub(super) fn statements(&self, rank: u32) -> usize {
        self.statements[rank as usize] as usize
    }

    /// Whether the program of `rank` is that of every rank with the same blocks.
    pub(super) fn is_shared(&self, rank: u32) -> bool {
        self.of(rank).iter().all(|&block| !self.all[block as usize].uses_me)
    }

    /// The line of the `end` of the `repeat` in `line`.
    pub(super) fn end_of(&self, line: usize) -> usize {
        (self.ends[line] as usize).max(line)
    }
}

/// Whether a block with this `rank` line is written for several ranks.
pub(super) fn is_for_several(ranks: &Ranks) -> bool {
    !matches!(ranks, Ranks::One(_))
}

/// Finds and counts the blocks. `None` if they have too many statements, or cannot be counted. `total` is the number
/// of statements before theirs, over all ranks.
pub(super) fn count(
    ast: &Ast,
    (ranks, mut total): (u32, u64),
    values: &mut Values,
    faults: &mut Faults,
) -> Option<Blocks> {
    let mut blocks = Blocks {
        all: Vec::new(),
        of_ranks: Vec::new(),
        ends_of_ranks: Vec::new(),
        statements: vec![0; ranks as usize],
        ends: ends(ast),
    };
    let mut too_many_at: Option<Span> = None;
    let mut countable = true;
    // For each block in turn, the ranks that have statements of it.
    let mut runs: Vec<(u32, Range<u32>)> = Vec::new();
    for (lines, header) in ranges(ast) {
        let several = is_for_several(header);
        let members = match members(header, ranks, values) {
            Ok(members) => members,
            Err((at, problem)) => {
                faults.add(at, problem, None);
                continue;
            }
        };
        let items = || ast.lines[lines.clone()].iter().map(|line| &line.item);
        let uses_me = items().any(|item| match item {
            Item::Repeat(rounds) => rounds.tree.uses_me(),
            Item::Statement(statement) => statement_uses_me(statement),
            _ => false,
        });
        let rounds_use_me = items().any(|item| matches!(item, Item::Repeat(rounds) if rounds.tree.uses_me()));
        let index = u32::try_from(blocks.all.len()).unwrap_or(u32::MAX);
        // Ranks that must have the same number of statements are counted together.
        let step = if rounds_use_me { 1 } else { members.len() };
        for rank in members.clone().step_by(step) {
            values.set_me(Some(rank));
            let count = match unrolled(ast, lines.clone(), &blocks.ends, values) {
                Ok(count) => count,
                Err((at, Problem::TooMuchWork)) => {
                    faults.add(at, Problem::TooMuchWork, None);
                    return None;
                }
                Err((at, problem)) => {
                    faults.add(at, problem, several.then_some(rank));
                    countable = false;
                    break;
                }
            };
            total = total.saturating_add(count.saturating_mul(step as u64));
            if total > STATEMENTS_MAX {
                too_many_at = too_many_at.or_else(|| Some(place_of_many(ast, &lines)));
            } else if count > 0 {
                let end = rank + step as u32;
                blocks.statements[rank as usize..end as usize].iter_mut().for_each(|so_far| {
                    *so_far += count as u32;
                });
                match runs.last_mut() {
                    Some((block, run)) if *block == index && run.end == rank => run.end = end,
                    _ => runs.push((index, rank..end)),
                }
            }
        }
        if let Err(problem) = values.take_list::<(Block, Range<usize>, &Ranks)>(1) {
            faults.add(ast.lines[lines.start - 1].at, problem, None);
            return None;
        }
        blocks.all.push(Block { lines, several, uses_me });
    }
    values.set_me(None);
    blocks.sort_by_rank(&runs, ranks);
    if let Some(at) = too_many_at {
        faults.add(at, Problem::TooManyStatements { count: Many(total) }, None);
    }
    (countable && too_many_at.is_none()).then_some(blocks)
}

/// The blocks, as ranges of lines behind their `rank` line.
fn ranges(ast: &Ast) -> Vec<(Range<usize>, &Ranks)> {
    let mut ranges: Vec<(Range<usize>, &Ranks)> = Vec::new();
    let mut open = false;
    for (index, line) in ast.lines.iter().enumerate() {
        match &line.item {
            Item::Block(ranks) => {
                ranges.push((index + 1..index + 1, ranks));
                open = true;
            }
            Item::Repeat(_) | Item::End | Item::Statement(_) => {
                if let (true, Some((range, _))) = (open, ranges.last_mut()) {
                    range.end = index + 1;
                }
            }
            Item::Remark(_) => {}
            _ => open = false,
        }
    }
    ranges
}

/// By line of a `repeat`, the line of its `end`; 0 for other lines.
fn ends(ast: &Ast) -> Vec<u32> {
    let mut ends = vec![0; ast.lines.len()];
    let mut open = Vec::new();
    for (index, line) in ast.lines.iter().enumerate() {
        match line.item {
            Item::Repeat(_) => open.push(index),
            Item::End => {
                if let Some(start) = open.pop() {
                    ends[start] = index as u32;
                }
            }
            _ => {}
        }
    }
    ends
}

fn members(ranks: &Ranks, count: u32, values: &mut Values) -> Result<Range<u32>, LocatedProblem> {
    match ranks {
        Ranks::All => Ok(0..count),
        Ranks::One(rank) => values.rank(rank).map(|rank| rank..rank + 1),
        Ranks::Range(range) => {
            let (first, last) = &**range;
            let at = first.at.to(last.at);
            let (first, last) = (values.rank(first)?, values.rank(last)?);
            if first > last {
                return Err((at, Problem::EmptyRange { first, last }));
            }
            Ok(first..last + 1)
        }
    }
}

/// The number of statements in `lines` for the rank of `values`.
fn unrolled(
    ast: &Ast,
    lines: Range<usize>,
    ends: &[u32],
    values: &mut Values,
) -> Result<u64, LocatedProblem> {
    let mut total: u64 = 0;
    let mut rounds: u64 = 1;
    let mut outer = Vec::new();
    let mut index = lines.start;
    while index < lines.end {
        let line = &ast.lines[index];
        values.spend(1).map_err(|problem| (line.at, problem))?;
        match &line.item {
            Item::Repeat(expr) => match values.count(expr, "a number of rounds")? {
                // The body never executes, so its expressions need not have a value.
                0 => index = index.max(ends[index] as usize),
                more => {
                    outer.push(rounds);
                    rounds = rounds.saturating_mul(more);
                }
            },
            Item::End => rounds = outer.pop().unwrap_or(1),
            Item::Statement(_) => total = total.saturating_add(rounds),
            _ => {}
        }
        index += 1;
    }
    Ok(total)
}

/// The place to report that a block has too many statements: its first `repeat`, if there is one.
fn place_of_many(ast: &Ast, lines: &Range<usize>) -> Span {
    let repeat = ast.lines[lines.clone()].iter().find(|line| matches!(line.item, Item::Repeat(_)));
    repeat.map_or(ast.lines[lines.start - 1].at, |line| line.at)
}

fn statement_uses_me(statement: &Statement) -> bool {
    statement.verb.slots().iter().zip(&statement.args).any(|(slot, arg)| match arg {
        Arg::Expr(expr) => expr.tree.uses_me(),
        Arg::Group(group) => group.0.iter().any(|item| item.tree.uses_me()),
        // Ranks may have different communicators under one name.
        Arg::Name(_) => slot.holds == Holds::Communicator,
        _ => false,
    })
}
