//! Programs of scenario files, as far as the oracle knows their statements.

use crate::program::{
    Access, AccessKind, Call, Cells, Combine, Flag, Program, Promises, Statement, Synchronization,
    WindowSettings,
};
use carrousel_scenario::{self as scenario, Assertion, Op, OptionValue, Scenario, Source, TagSelector};

/// The program of a scenario; an error names what the oracle does not know.
///
/// # Errors
/// When the scenario has something that no [`Program`] has.
pub fn read(scenario: &Scenario) -> Result<Program, String> {
    if scenario.ranks > 8 {
        return Err("more than 8 ranks".to_owned());
    }
    let mut windows = vec![WindowSettings::default(); scenario.windows.len()];
    for option in &scenario.options {
        let known = option.window.and_then(|window| windows.get_mut(window.0 as usize));
        let flag = Flag::ALL.into_iter().find(|flag| flag.name() == option.name);
        match (known, flag, &option.value) {
            (Some(settings), Some(flag), OptionValue::OnOff(is_on)) => settings.flags[flag as usize] = *is_on,
            (Some(settings), None, OptionValue::Word(word)) if option.name == "accumulate_ordering" => {
                settings.unordered = word == "none";
            }
            (Some(settings), None, OptionValue::Word(word)) if option.name == "accumulate_ops" => {
                settings.same_op = word == "same_op";
            }
            _ => return Err(format!("option {}", option.name)),
        }
    }
    let ranks = scenario.programs.iter().map(|program| statements(program)).collect::<Result<_, _>>()?;
    Ok(Program { windows, ranks })
}

fn statements(program: &scenario::Program) -> Result<Vec<Statement>, String> {
    let mut all = Vec::new();
    // By name: the statement that has bound it last.
    let mut bound = vec![None; program.requests.len()];
    for step in program.steps.iter().filter(|step| !matches!(step.op, Op::Compute { .. })) {
        let unknown = || format!("line {}: `{}`", step.line, step.op.name());
        let statement = statement(&step.op, step.bind.is_some(), &bound).ok_or_else(unknown)?;
        if let Some(name) = step.bind {
            bound[name.0 as usize] = Some(all.len() as u8);
        }
        if all.len() > 100 {
            return Err("more than 100 statements".to_owned());
        }
        all.push(statement);
    }
    Ok(all)
}

fn statement(op: &Op, is_bound: bool, bound: &[Option<u8>]) -> Option<Statement> {
    let synchronize = |window: scenario::WindowId, call, blocking: bool| {
        let has = |assertion| op.assertions().has(assertion);
        let promises = Promises {
            no_check: has(Assertion::NoCheck),
            no_store: has(Assertion::NoStore),
            no_put: has(Assertion::NoPut),
        };
        Some(Statement::Synchronize(window.0 as u8, Synchronization { call, later: !blocking, promises }))
    };
    let access = |window: scenario::WindowId,
                  kind,
                  target: u32,
                  bytes: (u64, u64),
                  buffer: Option<scenario::BufferId>| {
        let access = Access {
            kind,
            target: target as u8,
            cells: cells(bytes.0, bytes.1)?,
            buffer: buffer.map(|buffer| buffer.0 as u8),
            with_request: is_bound,
        };
        Some(Statement::Access(window.0 as u8, access))
    };
    match *op {
        Op::Send { to, tag, synchronous, blocking: true, buf: None, size: 8 } => {
            Some(Statement::Send { to: to as u8, tag: u8::try_from(tag).ok()?, synchronous })
        }
        Op::Recv {
            from: Source::Rank(from),
            tag: TagSelector::Tag(tag),
            blocking: true,
            buf: None,
            size: 8,
        } => Some(Statement::Receive { from: from as u8, tag: u8::try_from(tag).ok()? }),
        Op::Barrier { blocking: true } => Some(Statement::Barrier),
        Op::Wait(ref requests) => {
            let all = requests.iter().map(|name| bound[name.0 as usize]);
            Some(Statement::Wait(all.collect::<Option<_>>()?))
        }
        Op::WaitAll => Some(Statement::WaitAll),
        Op::ReadBuf(buffer) => Some(Statement::Buffer { buffer: buffer.0 as u8, writes: false }),
        Op::WriteBuf(buffer) => Some(Statement::Buffer { buffer: buffer.0 as u8, writes: true }),
        Op::Load { window, displacement, size } => {
            Some(Statement::Own { window: window.0 as u8, cells: cells(displacement, size)?, writes: false })
        }
        Op::Store { window, displacement, size } => {
            Some(Statement::Own { window: window.0 as u8, cells: cells(displacement, size)?, writes: true })
        }
        Op::Put { window, target, size, displacement, count: 1, buf, .. } => {
            access(window, AccessKind::Put, target, (displacement, size), buf)
        }
        Op::Get { window, target, size, displacement, count: 1, buf, .. } => {
            access(window, AccessKind::Get, target, (displacement, size), buf)
        }
        Op::Accumulate { window, target, size, displacement, count: 1, combine, fetches, buf, .. } => {
            let combine = operation(combine)?;
            let kind =
                if fetches { AccessKind::GetAccumulate(combine) } else { AccessKind::Accumulate(combine) };
            access(window, kind, target, (displacement, size), buf)
        }
        Op::FetchOp { window, target, displacement, combine } => {
            access(window, AccessKind::FetchOp(operation(combine)?), target, (displacement, 8), None)
        }
        Op::CompareSwap { window, target, displacement } => {
            access(window, AccessKind::CompareSwap, target, (displacement, 8), None)
        }
        Op::Fence { window, assertions, blocking } => {
            let (no_precede, no_succeed) =
                (assertions.has(Assertion::NoPrecede), assertions.has(Assertion::NoSucceed));
            synchronize(window, Call::Fence { no_precede, no_succeed }, blocking)
        }
        Op::Start { window, ref group, blocking, .. } => {
            synchronize(window, Call::Start(set(group)), blocking)
        }
        Op::Complete { window, blocking } => synchronize(window, Call::Complete, blocking),
        Op::Post { window, ref group, blocking, .. } => synchronize(window, Call::Post(set(group)), blocking),
        Op::WaitEpoch { window, blocking } => synchronize(window, Call::WaitEpoch, blocking),
        Op::Lock { window, target, exclusive, blocking, .. } => {
            synchronize(window, Call::Lock { target: target as u8, exclusive }, blocking)
        }
        Op::Unlock { window, target, blocking } => synchronize(window, Call::Unlock(target as u8), blocking),
        Op::LockAll { window, blocking, .. } => synchronize(window, Call::LockAll, blocking),
        Op::UnlockAll { window, blocking } => synchronize(window, Call::UnlockAll, blocking),
        Op::Flush { window, target, local, blocking } => {
            synchronize(window, Call::Flush { target: target.map(|target| target as u8), local }, blocking)
        }
        _ => None,
    }
}

fn set(group: &[u32]) -> u8 {
    group.iter().fold(0, |set, rank| set | 1 << rank)
}

fn cells(displacement: u64, size: u64) -> Option<Cells> {
    let is_whole =
        displacement.is_multiple_of(8) && size.is_multiple_of(8) && size > 0 && displacement + size <= 8 * 64;
    is_whole.then_some(Cells { first: (displacement / 8) as u8, count: (size / 8) as u8 })
}

fn operation(combine: scenario::Combine) -> Option<Combine> {
    match combine {
        scenario::Combine::Sum => Some(Combine::Sum),
        scenario::Combine::Replace => Some(Combine::Replace),
        scenario::Combine::NoOp => Some(Combine::NoOp),
        _ => None,
    }
}
