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
mod declarations;
mod lower;
mod messages;
mod programs;
mod values;

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
            names(ast, &scenario, &mut faults);
            let blocks = blocks::count(ast, scenario.ranks, &mut values, &mut faults)?;
            let file = File { ast, numbers: &numbers, blocks: &blocks, windows: &Windows::new(&scenario) };
            let collectives = programs::check(&file, scenario.ranks, &mut values, &mut faults);
            if faults.is_empty() {
                collectives.complain(&mut faults);
            }
            if faults.is_empty() {
                let programs = programs::build(&file, scenario.ranks, &mut values.again(), &mut faults);
                scenario.programs = programs;
            }
            Some(scenario)
        });
    match scenario {
        Some(scenario) if faults.is_empty() => Ok(scenario),
        _ => Err(faults.into_error(&ast.file, &ast.source)),
    }
}

/// Reports unknown windows everywhere, even in statements that no rank executes.
fn names(ast: &Ast, scenario: &Scenario, faults: &mut Faults) {
    let windows = Windows::new(scenario);
    for line in &ast.lines {
        if faults.full() {
            break;
        }
        let Item::Statement(statement) = &line.item else { continue };
        for (slot, arg) in statement.verb.slots().iter().zip(&statement.args) {
            if let (Holds::Window, Arg::Name(name)) = (slot.holds, arg)
                && let Err((at, problem)) = windows.find(name)
            {
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
