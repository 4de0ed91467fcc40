//! From a scenario to a job: statements become acts, names become ordinals.

use crate::later::{Later, later_of, receive, selector, send, source_of};
use crate::program::{Act, Buffer, Job, Ordinal, Program, Sought, Start};
use carrousel_options::protocol;
use carrousel_rank::{Kind, NO_WINDOW, Options, Speculation};
use carrousel_scenario as scn;
use carrousel_scenario::{Deferred, Op, Scenario};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
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
        options.eager_window = NO_WINDOW;
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
    open: BTreeSet<Ordinal>,
    /// Those of them that have a name.
    named: BTreeMap<Ordinal, scn::RequestId>,
    /// The names of each list that some step waits for, once each.
    lists: HashMap<*const scn::RequestId, HashSet<scn::RequestId, ahash::RandomState>>,
    /// By step that waits for them first, or finds them: receives and probes with a name.
    known: HashMap<u16, Vec<(Option<Ordinal>, scn::RequestId)>>,
}

impl Names {
    /// A name is bound to a request, to nothing that is open, or lost.
    fn bind(&mut self, program: &mut Program, name: scn::RequestId, request: Option<Ordinal>) {
        let before = match request {
            Some(request) => self.bound.insert(name, request),
            None => self.bound.remove(&name),
        };
        // Of what is lost nobody asks any more.
        if let Some(lost) = before.filter(|before| self.open.contains(before)) {
            program.keeps.remove(&lost);
            self.named.remove(&lost);
        }
        if let Some(request) = request {
            program.keeps.insert(request, name);
            self.named.insert(request, name);
        }
    }

    /// What is open of a list of names, in ascending order. Waiting again is harmless, and not worth a list of its own in
    /// each round; nor is a long list worth being gone through in each.
    fn open_of(&mut self, list: &Arc<[scn::RequestId]>) -> Vec<Ordinal> {
        let Self { bound, named, lists, .. } = self;
        let list = lists.entry(list.as_ptr()).or_insert_with(|| list.iter().copied().collect());
        if named.len() < list.len() {
            return named.iter().filter(|(_, name)| list.contains(name)).map(|(open, _)| *open).collect();
        }
        let mut open: Vec<Ordinal> = list.iter().filter_map(|name| bound.get(name).copied()).collect();
        open.retain(|request| named.contains_key(request));
        open.sort_unstable();
        open
    }

    /// The next step waits for these: from then on the messages of the receives among them are known.
    fn wait(&mut self, program: &Program, requests: &[Ordinal]) {
        let known = self.known.entry(program.steps.len() as u16).or_default();
        for request in requests.iter().filter(|request| self.open.remove(request)) {
            self.named.remove(request);
            known.extend(program.keeps.get(request).map(|name| (Some(*request), *name)));
        }
    }
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
            Op::Deferred(deferred) => later(&mut program, &mut names, step, deferred, &mut buffer),
            op @ (Op::Send { buf, blocking, .. } | Op::Recv { buf, blocking, .. }) => {
                let buffer = |bytes| buffer(*buf, bytes);
                let start =
                    if matches!(op, Op::Send { .. }) { send(op, buffer) } else { receive(op, buffer) };
                start.into_iter().for_each(|start| request(&mut program, &mut names, step, start, *blocking));
            }
            op @ Op::SendRecv { .. } => {
                let parts = (receive(op, |bytes| buffer(None, bytes)), send(op, |bytes| buffer(None, bytes)));
                if let (Some(receive), Some(send)) = parts {
                    both(&mut program, &mut names, step, receive, send);
                }
            }
            Op::Probe { from, tag } => {
                probe(&mut program, &mut names, step, Sought::Known(source_of(*from), selector(*tag)));
            }
            Op::Wait(requests) => {
                let ordinals: Arc<[Ordinal]> = names.open_of(requests).into();
                names.wait(&program, &ordinals);
                program.act(line, Act::Wait(ordinals));
            }
            Op::WaitAll => {
                let ordinals: Arc<[Ordinal]> = names.open.iter().copied().collect();
                names.wait(&program, &ordinals);
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
    keep_what_is_asked_for(&mut program, &mut names);
    Ok(program)
}

fn request(program: &mut Program, names: &mut Names, step: &scn::Step, start: Start, blocking: bool) {
    let ordinal = program.start(step.line, start);
    if let Some(name) = step.bind {
        names.bind(program, name, Some(ordinal));
    }
    names.open.insert(ordinal);
    if blocking {
        names.wait(program, &[ordinal]);
        program.act(step.line, Act::Wait([ordinal].into()));
    }
}

/// Both requests of a `sendrecv`.
fn both(program: &mut Program, names: &mut Names, step: &scn::Step, receive: Start, send: Start) {
    let receive = program.start(step.line, receive);
    let send = program.start(step.line, send);
    if let Some(name) = step.bind {
        names.bind(program, name, Some(receive));
    }
    names.open.insert(receive);
    names.wait(program, &[receive]);
    program.act(step.line, Act::Wait([receive, send].into()));
}

fn probe(program: &mut Program, names: &mut Names, step: &scn::Step, sought: Sought) {
    if let Some(name) = step.bind {
        names.bind(program, name, None);
        names.known.insert(program.steps.len() as u16, vec![(None, name)]);
    }
    program.act(step.line, Act::Probe { sought, into: step.bind });
}

/// A statement with values that only an execution has.
fn later(
    program: &mut Program,
    names: &mut Names,
    step: &scn::Step,
    deferred: &Arc<Deferred>,
    buffer: &mut impl FnMut(Option<scn::BufferId>, u64) -> Buffer,
) {
    let mut add = |program: &mut Program, sends: bool, named: Option<scn::BufferId>| {
        let named = named.map(|buffer| buffer.0 as u16);
        let later = Later { deferred: Arc::clone(deferred), sends, named, own: buffer(None, 0) };
        program.add_later(later)
    };
    match *deferred.outline() {
        Op::Send { buf, blocking, .. } => {
            let start = Start::Later(add(program, true, buf));
            request(program, names, step, start, blocking);
        }
        Op::Recv { buf, blocking, .. } => {
            let start = Start::Later(add(program, false, buf));
            request(program, names, step, start, blocking);
        }
        Op::SendRecv { .. } => {
            let receive = Start::Later(add(program, false, None));
            let send = Start::Later(add(program, true, None));
            both(program, names, step, receive, send);
        }
        Op::Probe { .. } => {
            let sought = Sought::Later(add(program, false, None));
            probe(program, names, step, sought);
        }
        _ => {
            let time = add(program, false, None);
            program.act(step.line, Act::Compute(time));
        }
    }
}

/// Leaves out of a program what nobody asks for: of receives and probes whose message no statement asks about, and of
/// those whose message is asked about for the last time. A state without it stands for many.
fn keep_what_is_asked_for(program: &mut Program, names: &mut Names) {
    // Names that a later step asks for before they are bound again.
    let mut asked: HashSet<scn::RequestId> = HashSet::new();
    let mut kept: HashSet<Ordinal> = HashSet::new();
    for at in (0..program.steps.len()).rev() {
        let pc = at as u16;
        for (request, name) in names.known.remove(&pc).unwrap_or_default() {
            let is_asked_for = asked.remove(&name);
            match (request, &mut program.steps[at].act) {
                (Some(request), _) if is_asked_for => _ = kept.insert(request),
                (None, Act::Probe { into, .. }) if !is_asked_for => *into = None,
                _ => {}
            }
        }
        let Some(later) = later_of(program, &program.steps[at].act) else { continue };
        let last: Vec<_> = later.deferred.reads().filter(|name| asked.insert(*name)).collect();
        program.forgets.extend(last.into_iter().map(|name| (pc, name)));
    }
    program.forgets.reverse();
    program.keeps.retain(|request, _| kept.contains(request));
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
