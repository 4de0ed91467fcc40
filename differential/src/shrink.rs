//! The smallest program that still has a property: statements are taken away as long as it stays.

use crate::program::{Call, Program, Promises, Statement};

/// Makes a program smaller while `holds` does.
pub fn shrink(program: &Program, holds: &dyn Fn(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    loop {
        let found =
            candidates(&smallest).into_iter().find(|candidate| *candidate != smallest && holds(candidate));
        match found {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

/// Programs that are a little smaller, or simpler: the boldest first.
fn candidates(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let mut add = |mut candidate: Program| {
        candidate.tidy();
        all.push(candidate);
    };
    for rank in 0..program.ranks.len() {
        if !program.ranks[rank].is_empty() {
            let mut without = program.clone();
            without.ranks[rank].clear();
            add(without);
        }
    }
    // Statements that belong together, at one rank or two.
    let places: Vec<(usize, usize)> = (0..program.ranks.len())
        .flat_map(|rank| (0..program.ranks[rank].len()).map(move |at| (rank, at)))
        .collect();
    for (index, one) in places.iter().enumerate() {
        for other in &places[index + 1..] {
            let mut without = program.clone();
            // The later one first, so that the earlier one keeps its place.
            without.remove(other.0, other.1);
            without.remove(one.0, one.1);
            add(without);
        }
    }
    for (rank, at) in &places {
        let mut without = program.clone();
        without.remove(*rank, *at);
        add(without);
    }
    let is_barrier = |statement: &&Statement| **statement == Statement::Barrier;
    if program.ranks.iter().flatten().any(|statement| is_barrier(&statement)) {
        let mut without = program.clone();
        for rank in 0..without.ranks.len() {
            while let Some(at) = without.ranks[rank].iter().position(|statement| is_barrier(&statement)) {
                without.remove(rank, at);
            }
        }
        add(without);
    }
    let is_fence = |statement: &Statement| matches!(statement, Statement::Synchronize(_, it) if matches!(it.call, Call::Fence { .. }));
    // A round of fences.
    let mut without = program.clone();
    for rank in 0..without.ranks.len() {
        if let Some(at) = without.ranks[rank].iter().rposition(is_fence) {
            without.remove(rank, at);
        }
    }
    add(without);
    for (rank, at) in &places {
        let mut simpler = program.clone();
        let before = simpler.ranks[*rank][*at].clone();
        simplify(&mut simpler.ranks[*rank][*at]);
        if simpler.ranks[*rank][*at] != before {
            add(simpler);
        }
    }
    for window in 0..program.windows.len() {
        for flag in 0..4 {
            if program.windows[window].flags[flag] {
                let mut without = program.clone();
                without.windows[window].flags[flag] = false;
                add(without);
            }
        }
        let mut without = program.clone();
        (without.windows[window].unordered, without.windows[window].same_op) = (false, false);
        add(without);
    }
    all
}

/// A statement that says less.
fn simplify(statement: &mut Statement) {
    match statement {
        Statement::Access(_, access) if access.buffer.is_some() => access.buffer = None,
        Statement::Access(_, access) if access.with_request => access.with_request = false,
        Statement::Access(_, access) if access.cells.count > 1 => access.cells.count = 1,
        Statement::Synchronize(_, synchronization) if synchronization.promises != Promises::default() => {
            synchronization.promises = Promises::default();
        }
        Statement::Synchronize(_, synchronization) => synchronization.later = false,
        Statement::Send { synchronous, .. } => *synchronous = false,
        _ => {}
    }
}
