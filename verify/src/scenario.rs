//! From a scenario to a job: statements become acts, names become ordinals.

use crate::later::later_of;
use crate::program::{
    Access, Act, Buffer, Job, Later, Ordinal, Program, Sought, Start, Synchronization, number_of,
};
use carrousel_options::protocol;
use carrousel_program as meaning;
use carrousel_program::epoch::{Call as EpochCall, Transfer};
use carrousel_program::{Action, Operation, ProgramError, RequestId, check_no_windows, programs, windows};
use carrousel_rank::{Communicator, NO_WINDOW, Options, Speculation};
use carrousel_scenario::{Assertion, Scenario};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Pairs of ranks in all windows, each of which takes some 100 bytes.
const PEERS_MAX: u64 = 1 << 22;

/// Why a scenario cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// More communicators than the library has numbers for.
    #[error("more communicators than {}, which is the most that a rank may have", Communicator::MAX)]
    TooManyCommunicators {
        /// The line of the first that has no number.
        line: u32,
    },
    /// A collective whose total size overflows.
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
    /// More peers than there is memory for: each rank counts the epochs of each window with each rank.
    #[error(
        "{windows} windows of {ranks} ranks are too many to explore: at most {PEERS_MAX} pairs of ranks in all of them"
    )]
    TooManyPeers {
        /// How many ranks.
        ranks: u32,
        /// How many windows.
        windows: usize,
    },
    /// More ranks than the checker has numbers for.
    #[error("{ranks} ranks are too many to explore: at most {}", u16::MAX)]
    TooManyRanks {
        /// How many.
        ranks: u32,
    },
}

impl From<ProgramError> for JobError {
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Window { .. } => unreachable!("only drivers without windows refuse them"),
            ProgramError::TooManyCommunicators { line } => Self::TooManyCommunicators { line },
            ProgramError::TooManyBytes { line, statement, ranks, .. } => {
                Self::TooManyBytes { line, statement, ranks }
            }
        }
    }
}

impl JobError {
    /// The line that it is about.
    pub fn line(&self) -> Option<u32> {
        match self {
            Self::TooManyCommunicators { line } | Self::TooManyBytes { line, .. } => Some(*line),
            _ => None,
        }
    }
}

/// The job of a scenario.
///
/// # Errors
/// When a statement cannot be explored.
pub fn job(scenario: &Scenario, portable: bool) -> Result<Job, JobError> {
    if scenario.ranks > u32::from(u16::MAX) {
        return Err(JobError::TooManyRanks { ranks: scenario.ranks });
    }
    let mut options = protocol(&scenario.options, Options::default());
    if options.speculation == Speculation::Adaptive {
        // The checker explores every choice that an adaptation could make at any time, and needs no counters.
        options.speculation = Speculation::Always;
    }
    if portable {
        // A send of any size may be buffered or wait: both are explored.
        options.eager_threshold = u64::MAX;
        options.eager_window = NO_WINDOW;
        options.speculation = Speculation::Off;
    }
    let mut compiled: HashMap<*const meaning::Program, Arc<Program>> = HashMap::new();
    let mut ranks = Vec::with_capacity(scenario.programs.len());
    for (rank, source) in (0..).zip(programs(scenario)?) {
        let program = match compiled.get(&Arc::as_ptr(&source)) {
            Some(program) => Arc::clone(program),
            None => Arc::new(compile(&source, portable).ok_or(JobError::TooLong { rank })?),
        };
        compiled.insert(Arc::as_ptr(&source), Arc::clone(&program));
        ranks.push(program);
    }
    // Windows that no statement is about need no memory.
    let are_used = check_no_windows(scenario).is_err();
    let windows = if are_used { windows(scenario) } else { Vec::new() };
    let counted = u64::from(scenario.ranks).pow(2).saturating_mul(windows.len() as u64);
    if counted > PEERS_MAX {
        return Err(JobError::TooManyPeers { ranks: scenario.ranks, windows: windows.len() });
    }
    Ok(Job { ranks, options, windows, nodes: scenario.nodes.clone() })
}

/// Whether the blocking form of a call may have to wait for grants: that of a lock for the lock of its rank's own memory,
/// and under the weakest MPI a start and the first fence of a window, too.
fn may_await_grants(call: &EpochCall<'_>, is_first_fence: bool, portable: bool) -> bool {
    match call {
        EpochCall::Lock { .. } | EpochCall::LockAll => true,
        EpochCall::Start(_) => portable,
        EpochCall::Fence => portable && is_first_fence,
        _ => false,
    }
}

/// What the last fence of a window says of the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fenced {
    /// The window has had no fence yet.
    Never,
    /// The last fence has opened no epoch (`nosucceed`).
    InVain,
    /// The last fence has opened an epoch.
    Opened,
}

/// By step: the names that stand for a message from then on, and the receives that they name; probes have no request.
type Known = HashMap<u16, Vec<(Option<Ordinal>, RequestId)>>;

/// A program in the checker's numbers; `None` if it has more requests, steps or buffers than there are numbers.
fn compile(source: &meaning::Program, portable: bool) -> Option<Program> {
    let groups = source.groups().iter().filter(|group| group.communicator != Communicator::WORLD);
    let mut program = Program { groups: groups.cloned().collect(), ..Program::default() };
    let mut known = Known::new();
    // Named buffers come first; each request without one has its own behind them.
    let mut buffers = source.buffers().len();
    let mut fenced: HashMap<u16, Fenced> = HashMap::new();
    for statement in source.statements() {
        let line = statement.line();
        let later = |program: &mut Program, buffers: &mut usize, sends| {
            let add = |deferred| program.add_later(Later { deferred, sends, own: next(buffers) });
            statement.deferred().map(add)
        };
        match statement.outline() {
            Action::Compute { .. } => {
                if let Some(time) = later(&mut program, &mut buffers, false) {
                    program.act(line, Act::Compute(time));
                }
            }
            Action::Touch { buffer, write } => {
                program.act(line, Act::Touch { buffer: buffer.0 as u16, write });
            }
            action @ (Action::Start { .. } | Action::Exchange { .. }) => {
                for operation in action.operations() {
                    let sends = matches!(operation, Operation::Send(_));
                    let start = match later(&mut program, &mut buffers, sends) {
                        Some(later) => Start::Later(later),
                        None => Start::of(operation, |buffer| number_of(buffer, || next(&mut buffers))),
                    };
                    program.start(line, start);
                }
                if !action.starts_request() {
                    wait(&mut program, &mut known, source, line, statement.requests());
                }
            }
            Action::Access(access) => {
                let buffer = number_of(access.buffer, || next(&mut buffers));
                let at = program.accesses.len() as u16;
                let meaning::Access { window, kind, target, place, combine, with_request, .. } = access;
                let transfer = Transfer { target, kind, place, local: u64::from(at) };
                let request = with_request.then_some(program.starts.len() as Ordinal);
                program.starts.extend(request.map(|_| Start::Access(at)));
                program.accesses.push(Access { window: window.0 as u16, transfer, combine, buffer, request });
                program.act(line, Act::Access(at));
            }
            Action::TouchWindow(access) => program.act(line, Act::TouchWindow(access)),
            Action::Synchronize(call) => {
                let at = program.synchronizations.len() as u16;
                let is_fence = matches!(call.call, EpochCall::Fence);
                let before = fenced.entry(call.window.0 as u16).or_insert(Fenced::Never);
                let is_first = is_fence && *before == Fenced::Never;
                let ends_no_epoch =
                    is_fence && (*before != Fenced::Opened || call.assertions.has(Assertion::NoPrecede));
                if is_fence {
                    let opens_none = call.assertions.has(Assertion::NoSucceed);
                    *before = if opens_none { Fenced::InVain } else { Fenced::Opened };
                }
                program.synchronizations.push(Synchronization::new(&call, ends_no_epoch));
                let request = program.start(line, Start::Synchronize(at));
                if call.blocking && may_await_grants(&call.call, is_first, portable) {
                    program.act(line, Act::AwaitGrants(request));
                }
                if call.blocking && !call.is_born_complete() {
                    wait(&mut program, &mut known, source, line, statement.requests());
                }
            }
            Action::Split { tell, made, .. } => {
                let buffer = || unreachable!("a collective has no buffer");
                program.start(line, Start::of(Operation::Collective(tell), |_| buffer()));
                wait(&mut program, &mut known, source, line, statement.requests());
                made.into_iter().for_each(|made| program.act(line, Act::Define(made)));
            }
            Action::Probe(pattern) => {
                let sought = match later(&mut program, &mut buffers, false) {
                    Some(later) => Sought::Later(later),
                    None => Sought::Known(pattern.context.communicator(), pattern.source, pattern.tag),
                };
                let into = statement.bind();
                known.insert(program.steps.len() as u16, into.map(|name| (None, name)).into_iter().collect());
                program.act(line, Act::Probe { sought, into });
            }
            Action::Wait(requests) => {
                wait(&mut program, &mut known, source, line, requests.iter().copied());
            }
            Action::Test(request) => {
                request.into_iter().for_each(|request| program.act(line, Act::Test(request as Ordinal)));
            }
        }
        let most = usize::from(u16::MAX);
        let windows = program.accesses.len().max(program.synchronizations.len());
        if program.steps.len().max(windows) >= most || program.starts.len() >= most || buffers >= most {
            return None;
        }
    }
    keep_what_is_asked_for(&mut program, known);
    Some(program)
}

/// The number of another buffer.
fn next(buffers: &mut usize) -> Buffer {
    *buffers += 1;
    (*buffers - 1) as Buffer
}

/// A wait for requests. From then on the messages of the receives among them are known.
fn wait(
    program: &mut Program,
    known: &mut Known,
    source: &meaning::Program,
    line: u32,
    requests: impl Iterator<Item = meaning::Ordinal> + Clone,
) {
    let names = requests
        .clone()
        .filter_map(|request| source.name_of_message(request).map(|name| (Some(request as Ordinal), name)));
    known.insert(program.steps.len() as u16, names.collect());
    program.act(line, Act::Wait(requests.map(|request| request as Ordinal).collect()));
}

/// Keeps the names of messages that a statement asks about, until the last statement that does. Without the others,
/// more states are equal.
fn keep_what_is_asked_for(program: &mut Program, mut known: Known) {
    // Names that a later step asks for before they are bound again.
    let mut asked: HashSet<RequestId> = HashSet::new();
    for at in (0..program.steps.len()).rev() {
        let pc = at as u16;
        for (request, name) in known.remove(&pc).unwrap_or_default() {
            let is_asked_for = asked.remove(&name);
            match (request, &mut program.steps[at].act) {
                (Some(request), _) if is_asked_for => _ = program.keeps.insert(request, name),
                (None, Act::Probe { into, .. }) if !is_asked_for => *into = None,
                _ => {}
            }
        }
        let Some(later) = later_of(program, &program.steps[at].act) else { continue };
        let last: Vec<_> = later.deferred.reads().filter(|name| asked.insert(*name)).collect();
        program.forgets.extend(last.into_iter().map(|name| (pc, name)));
    }
    program.forgets.reverse();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_very_many_ranks_are_refused_before_they_take_memory() {
        let text = |fence: &str| format!("ranks 4096\nwindow w 8\nrank 0\n  {fence}\n");
        let job =
            |text: &str| job(&carrousel_scenario::load("f", text.as_bytes()).expect("it is right"), false);
        assert_eq!(job(&text("fence w")), Err(JobError::TooManyPeers { ranks: 4096, windows: 1 }));
        assert!(job(&text("barrier")).is_ok(), "a window that nobody uses takes none");
    }

    /// Whether what the first statement starts uses the buffer that the second one writes.
    fn uses_what_is_written(start: &str) -> Option<bool> {
        let text = format!("ranks 2\nrank 0\n  {start} buf b\n  write buf b\n  wait all\n");
        let job = job(&carrousel_scenario::load("f", text.as_bytes()).ok()?, false).ok()?;
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
