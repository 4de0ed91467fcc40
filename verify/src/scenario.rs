//! From a scenario to a job: statements become acts, names become ordinals.

use crate::program::{Act, Job, Ordinal, Program, Start};
use carrousel_options::protocol;
use carrousel_rank::{Kind, Options, RankId, Source, Speculation, Tag, TagSelector};
use carrousel_scenario as scn;
use carrousel_scenario::{Op, Scenario};
use std::collections::HashMap;
use std::sync::Arc;

/// Something that a scenario may say and that cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A statement that is not there yet.
    #[error("`{statement}` cannot be explored yet: so far only messages and collectives can")]
    Statement {
        /// Its line.
        line: u32,
        /// Its keyword.
        statement: &'static str,
    },
    /// A collective whose bytes are more than there are numbers.
    #[error("`{statement}` of {ranks} ranks moves more bytes than can be counted")]
    TooManyBytes {
        /// Its line.
        line: u32,
        /// Its keyword.
        statement: &'static str,
        /// How many ranks there are.
        ranks: u32,
    },
    /// A job that is too large for the checker's numbers.
    #[error("rank {rank} starts more than {} requests or takes more than {} steps", Ordinal::MAX, u16::MAX)]
    TooLong {
        /// Which rank.
        rank: u32,
    },
    /// More ranks than the checker has numbers for.
    #[error("{ranks} ranks are too many to explore: at most {}", u16::MAX)]
    TooManyRanks {
        /// How many.
        ranks: u32,
    },
}

impl Refusal {
    /// The line that it is about.
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::Statement { line, .. } | Self::TooManyBytes { line, .. } => Some(*line),
            _ => None,
        }
    }
}

/// The job of a scenario.
///
/// # Errors
/// When a statement cannot be explored.
pub fn job(scenario: &Scenario, portable: bool) -> Result<Job, Refusal> {
    if scenario.ranks > u32::from(u16::MAX) {
        return Err(Refusal::TooManyRanks { ranks: scenario.ranks });
    }
    let mut options = protocol(&scenario.options, Options::default());
    if options.speculation == Speculation::Adaptive {
        // What adaptation does, at any time for any reason: the checker chooses, and counts nothing.
        options.speculation = Speculation::Always;
    }
    if portable {
        // Any size may be buffered, or not: a choice of each send.
        options.eager_threshold = u64::MAX;
        options.eager_window = u64::MAX;
        options.speculation = Speculation::Off;
    }
    let mut compiled: HashMap<*const scn::Program, Arc<Program>> = HashMap::new();
    let mut ranks = Vec::with_capacity(scenario.programs.len());
    for (rank, program) in scenario.programs.iter().enumerate() {
        let key = Arc::as_ptr(program);
        let program = match compiled.get(&key) {
            Some(program) => Arc::clone(program),
            None => {
                let program = Arc::new(compile(program, rank as u32, scenario.ranks)?);
                compiled.insert(key, Arc::clone(&program));
                program
            }
        };
        ranks.push(program);
    }
    Ok(Job { ranks, options })
}

/// The ordinals that are open, by the text of the program alone.
#[derive(Default)]
struct Names {
    bound: HashMap<scn::RequestId, Ordinal>,
    /// Started and not waited for. A test may succeed, so its request stays: waiting again is harmless.
    open: Vec<Ordinal>,
}

/// The collective that a statement starts, and whether it waits for it.
fn collective(op: &Op) -> Option<(Start, bool)> {
    let start = |kind, root, len| (Start::Collective { kind, root, len }, true);
    Some(match *op {
        Op::Barrier { blocking } => (Start::BARRIER, blocking),
        Op::Bcast { root, size } => start(Kind::Broadcast, root, size),
        Op::Reduce { root, size } => start(Kind::Reduce, root, size),
        Op::AllReduce { size } => start(Kind::AllReduce, 0, size),
        Op::Gather { root, size } => start(Kind::Gather, root, size),
        Op::AllGather { size } => start(Kind::AllGather, 0, size),
        Op::AllToAll { size } => start(Kind::AllToAll, 0, size),
        _ => return None,
    })
}

fn compile(source: &scn::Program, rank: u32, ranks: u32) -> Result<Program, Refusal> {
    let mut program = Program::default();
    let mut names = Names::default();
    // Named buffers come first; each request without one has its own behind them.
    let mut next_buffer = source.buffers.len();
    for step in &source.steps {
        let line = step.line;
        // A message without bytes uses no buffer: whatever stands there, it gets one that nothing else has.
        let mut buffer = |named: Option<scn::BufferId>, bytes: u64| {
            named.filter(|_| bytes > 0).map_or_else(
                || {
                    next_buffer += 1;
                    (next_buffer - 1) as u16
                },
                |named| named.0 as u16,
            )
        };
        match &step.op {
            Op::Compute { .. } => {}
            Op::Send { to, tag, size, buf, synchronous, blocking } => {
                let buffer = buffer(*buf, *size);
                let start = Start::Send { to: *to, tag: *tag, len: *size, synchronous: *synchronous, buffer };
                request(&mut program, &mut names, step, start, *blocking);
            }
            Op::Recv { from, tag, size, buf, blocking } => {
                let buffer = buffer(*buf, *size);
                let start =
                    Start::Receive { from: source_of(*from), tag: selector(*tag), len: *size, buffer };
                request(&mut program, &mut names, step, start, *blocking);
            }
            Op::SendRecv { to, send_tag, send_size, from, recv_tag, recv_size } => {
                let (from, tag, len) = (source_of(*from), selector(*recv_tag), *recv_size);
                let receive =
                    program.start(line, Start::Receive { from, tag, len, buffer: buffer(None, len) });
                let (to, tag, len) = (*to, *send_tag, *send_size);
                let start = Start::Send { to, tag, len, synchronous: false, buffer: buffer(None, len) };
                let send = program.start(line, start);
                program.act(line, Act::Wait([receive, send].into()));
            }
            Op::Probe { from, tag } => program.act(line, Act::Probe(source_of(*from), selector(*tag))),
            Op::Wait(requests) => {
                let ordinals: Arc<[Ordinal]> =
                    requests.iter().filter_map(|name| names.bound.get(name).copied()).collect();
                names.open.retain(|open| !ordinals.contains(open));
                program.act(line, Act::Wait(ordinals));
            }
            Op::WaitAll => {
                let ordinals: Arc<[Ordinal]> = std::mem::take(&mut names.open).into();
                program.act(line, Act::Wait(ordinals));
            }
            Op::Test(name) => {
                if let Some(ordinal) = names.bound.get(name) {
                    program.act(line, Act::Test(*ordinal));
                }
            }
            Op::ReadBuf(buffer) => program.act(line, Act::Touch { buffer: buffer.0 as u16, write: false }),
            Op::WriteBuf(buffer) => program.act(line, Act::Touch { buffer: buffer.0 as u16, write: true }),
            op => {
                let statement = op.name();
                let Some((start, blocking)) = collective(op) else {
                    return Err(Refusal::Statement { line, statement });
                };
                if let Start::Collective { len, .. } = start
                    && len.checked_mul(u64::from(ranks.max(2))).is_none()
                {
                    return Err(Refusal::TooManyBytes { line, statement, ranks });
                }
                request(&mut program, &mut names, step, start, blocking);
            }
        }
        let most = usize::from(u16::MAX);
        if program.steps.len() >= most || program.starts.len() >= most || next_buffer >= most {
            return Err(Refusal::TooLong { rank });
        }
    }
    Ok(program)
}

fn request(program: &mut Program, names: &mut Names, step: &scn::Step, start: Start, blocking: bool) {
    let ordinal = program.start(step.line, start);
    if blocking {
        program.act(step.line, Act::Wait([ordinal].into()));
        return;
    }
    names.open.push(ordinal);
    if let Some(name) = step.bind {
        names.bound.insert(name, ordinal);
    }
}

fn source_of(source: scn::Source) -> Source {
    match source {
        scn::Source::Rank(rank) => Source::Rank(RankId(rank)),
        scn::Source::Any => Source::Any,
    }
}

fn selector(tag: scn::TagSelector) -> TagSelector {
    match tag {
        scn::TagSelector::Tag(tag) => TagSelector::Tag(Tag(tag)),
        scn::TagSelector::Any => TagSelector::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether what the first statement starts uses the buffer that the second one writes.
    fn uses_what_is_written(start: &str) -> Option<bool> {
        let text = format!("ranks 2\nrank 0\n  {start} buf b\n  write buf b\n  wait all\n");
        let job = job(&scn::load("f", text.as_bytes()).ok()?, false).ok()?;
        let program = job.ranks.first()?;
        let Act::Touch { buffer: written, .. } = program.steps.get(1)?.act else { return None };
        Some(program.starts.first()?.buffer()?.0 == written)
    }

    #[test]
    fn what_moves_no_bytes_uses_no_buffer() {
        for start in ["isend to 1 tag 0", "irecv from 1 tag 0", "issend to 1 tag 0", "irecv from any tag any"]
        {
            assert_eq!(uses_what_is_written(&format!("{start} size 0")), Some(false), "{start}");
            assert_eq!(uses_what_is_written(&format!("{start} size 1")), Some(true), "{start}");
        }
    }
}
