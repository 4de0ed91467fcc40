//! From [`Ast`] to [`Scenario`]: names resolved, expressions evaluated for each rank, `repeat`
//! unrolled.
//!
//! The order makes hostile files cheap. Declarations come first (`declarations`). Then every block is counted without
//! being expanded (`blocks`). Then every statement is checked for every rank without being kept (`programs`,
//! `lower`), except for its collectives (`collectives`). Programs are built only of a file without errors, by the
//! same steps once more: a refused file has taken the memory of its text and tree only.
//! taken the memory of its text and tree.

mod blocks;
mod collectives;
mod communicators;
mod declarations;
mod lower;
mod messages;
mod places;
mod programs;
mod values;

use self::communicators::Splits;
use self::lower::Windows;
use self::programs::File;
use self::values::Values;
use crate::ast::{Arg, Ast, Item};
use crate::error::{Error, Faults};
use crate::model::Scenario;
use crate::verb::Holds;
use crate::vocabulary::Vocabulary;

/// Checks a parsed file. `options` has the options that it may set.
///
/// # Errors
///
/// If the file breaks a rule of the language that concerns more than one line, or the value of an expression. All
/// such errors are reported, up to a limit.
pub fn check(ast: &Ast, options: &Vocabulary) -> Result<Scenario, Error> {
    let mut faults = Faults::new();
    let mut values = Values::new(ast.memory);
    let numbers = line_numbers(ast);
    let scenario =
        declarations::read(ast, &numbers, options, &mut values, &mut faults).and_then(|mut scenario| {
            let splits = splits(ast, &numbers, &mut scenario, &mut values, &mut faults);
            names(ast, &scenario, &values, &mut faults);
            let blocks = blocks::count(ast, (scenario.ranks, splits.total()), &mut values, &mut faults)?;
            let file = File { ast, numbers: &numbers, blocks: &blocks, windows: &Windows::new(&scenario) };
            let collectives = programs::check(&file, scenario.ranks, &mut values, &mut faults);
            if faults.is_empty() {
                collectives.complain(&mut faults);
            }
            if faults.is_empty() {
                let programs = programs::build(&file, splits, &mut values.again(), &mut faults);
                scenario.programs = programs;
            }
            Some(scenario)
        });
    match scenario {
        Some(scenario) if faults.is_empty() => Ok(scenario),
        _ => Err(faults.into_error(&ast.file, &ast.source)),
    }
}

/// Reads the communicators, in the order of the file: one may be made of another.
fn splits(
    ast: &Ast,
    numbers: &[u32],
    scenario: &mut Scenario,
    values: &mut Values,
    faults: &mut Faults,
) -> Splits {
    let mut splits = Splits::new(scenario.ranks);
    for (line, &number) in ast.lines.iter().zip(numbers) {
        if let Item::Split(split) = &line.item
            && !faults.full()
        {
            splits.read(split, number, scenario, values, faults);
        }
    }
    splits
}

/// Reports unknown windows and communicators everywhere, even in statements that no rank executes.
fn names(ast: &Ast, scenario: &Scenario, values: &Values, faults: &mut Faults) {
    let windows = Windows::new(scenario);
    for line in &ast.lines {
        if faults.full() {
            break;
        }
        let Item::Statement(statement) = &line.item else { continue };
        for (slot, arg) in statement.verb.slots().iter().zip(&statement.args) {
            let found = match (slot.holds, arg) {
                (Holds::Window, Arg::Name(name)) => windows.find(name).map(|_| ()),
                (Holds::Communicator, Arg::Name(name)) => values.communicators.find(name),
                _ => Ok(()),
            };
            if let Err((at, problem)) = found {
                faults.add(at, problem, None);
            }
        }
    }
}

/// The line number, from 1, of each line of the tree.
fn line_numbers(ast: &Ast) -> Vec<u32> {
    let source = ast.source.as_bytes();
    let (mut number, mut position) = (1, 0);
    let of_line = |line: &crate::ast::Line| {
        let start = line.at.start as usize;
        if let Some(passed) = source.get(position..start) {
            number += passed.iter().filter(|&&byte| byte == b'\n').count() as u32;
            position = start;
        }
        number
    };
    ast.lines.iter().map(of_line).collect()
}
