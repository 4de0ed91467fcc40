//! Statements as the simulator executes them.

use crate::config::{Config, Protocol};
use crate::error::SimError;
use carrousel_options::{OptionEntry, protocol};
use carrousel_rank::{
    Call, Collective, Communicator, Kind, Memory, Options, Pattern, RankId, Receive, Send, Source,
    Speculation, TagSelector, Transfer, mpi,
};
use carrousel_scenario::{self as scenario, BufferId, Op, OptionSetting, Scenario};

/// What a statement does to its rank.
pub(crate) enum Action {
    /// The CPU is busy outside of the library for so many nanoseconds.
    Compute(u64),
    /// The program touches so many bytes.
    Touch(u64),
    /// It calls the library: these calls, one after the other, and returns or waits for them.
    Calls { calls: [Option<Call>; 2], blocking: bool },
    /// It waits for what the step names, or tests it.
    Requests,
    /// It waits for a message.
    Probe(Pattern),
}

/// Where an operation's bytes are: opaque, so any injective numbering will do.
fn memory(buffer: Option<BufferId>, statement: usize) -> Memory {
    match buffer {
        Some(BufferId(id)) => Memory { address: u64::from(id) << 32, key: 1 },
        None => Memory { address: (statement as u64) << 32, key: 0 },
    }
}

fn source(from: scenario::Source) -> Source {
    match from {
        scenario::Source::Rank(rank) => Source::Rank(RankId(rank)),
        scenario::Source::Any => Source::Any,
    }
}

fn selector(tag: scenario::TagSelector) -> TagSelector {
    match tag {
        scenario::TagSelector::Tag(tag) => mpi::selector(Some(tag)),
        scenario::TagSelector::Any => mpi::ANY_TAG,
    }
}

/// A collective of all ranks; what is reduced are bytes.
fn collective(kind: Kind, root: u32, len: u64, statement: usize) -> Call {
    let [source, target, scratch] = [3, 4, 5].map(|key| Memory { key, ..memory(None, statement) });
    let barrier = Collective::barrier(Communicator::WORLD);
    Call::Collective(Collective { kind, root, len, source, target, scratch, ..barrier })
}

/// What the statement number `at` of a program, whose values are those of `op`, does; `None` if the simulator does not
/// know it.
pub(crate) fn action(program: &scenario::Program, at: usize, op: &Op) -> Option<Action> {
    let communicator = Communicator::WORLD;
    let one = |call, blocking| Action::Calls { calls: [Some(call), None], blocking };
    Some(match op {
        Op::Compute { ns } => Action::Compute(*ns),
        Op::ReadBuf(buffer) | Op::WriteBuf(buffer) => Action::Touch(program.buffers[buffer.0 as usize].size),
        Op::Send { to, tag, size, buf, synchronous, blocking } => {
            let (to, tag) = (RankId(*to), mpi::tag(*tag));
            let memory = memory(*buf, at);
            one(
                Call::Send(Send {
                    to,
                    tag,
                    communicator,
                    len: *size,
                    memory,
                    synchronous: *synchronous,
                    data: None,
                }),
                *blocking,
            )
        }
        Op::Recv { from, tag, size, buf, blocking } => {
            let (from, tag) = (source(*from), selector(*tag));
            one(
                Call::Receive(Receive { from, tag, communicator, len: *size, memory: memory(*buf, at) }),
                *blocking,
            )
        }
        Op::SendRecv { to, send_tag, send_size, from, recv_tag, recv_size } => {
            let (from, tag) = (source(*from), selector(*recv_tag));
            let receive = Receive {
                from,
                tag,
                communicator,
                len: *recv_size,
                memory: Memory { key: 2, ..memory(None, at) },
            };
            let send = Send {
                to: RankId(*to),
                tag: mpi::tag(*send_tag),
                communicator,
                len: *send_size,
                memory: memory(None, at),
                synchronous: false,
                data: None,
            };
            Action::Calls { calls: [Some(Call::Receive(receive)), Some(Call::Send(send))], blocking: true }
        }
        Op::Probe { from, tag } => {
            let context = communicator.messages();
            Action::Probe(Pattern { source: source(*from), tag: selector(*tag), context })
        }
        Op::Wait(_) | Op::WaitAll | Op::Test(_) => Action::Requests,
        Op::Barrier { blocking } => one(Call::Collective(Collective::barrier(communicator)), *blocking),
        Op::Bcast { root, size } => one(collective(Kind::Broadcast, *root, *size, at), true),
        Op::Reduce { root, size } => one(collective(Kind::Reduce, *root, *size, at), true),
        Op::AllReduce { size } => one(collective(Kind::AllReduce, 0, *size, at), true),
        Op::Gather { root, size } => one(collective(Kind::Gather, *root, *size, at), true),
        Op::AllGather { size } => one(collective(Kind::AllGather, 0, *size, at), true),
        Op::AllToAll { size } => one(collective(Kind::AllToAll, 0, *size, at), true),
        _ => return None,
    })
}

/// Whether the simulator knows every statement of a scenario.
pub(crate) fn check(scenario: &Scenario) -> Result<(), SimError> {
    for program in &scenario.programs {
        for (at, step) in program.steps.iter().enumerate() {
            let outline = match &step.op {
                Op::Deferred(deferred) => deferred.outline(),
                op => op,
            };
            if action(program, at, outline).is_none() {
                return Err(SimError::Unsupported { line: step.line, what: step.op.name() });
            }
        }
    }
    Ok(())
}

/// The protocols' options: those that are set, and for others the parameter set's.
pub(crate) fn options(set: &[OptionSetting], config: &Config) -> Result<Options, SimError> {
    for setting in set {
        let wrong = |message| SimError::OptionOutOfRange { line: setting.line, message };
        OptionEntry::check(setting).map_err(wrong)?;
    }
    let base = Options { eager_threshold: config.network.eager_threshold, ..Options::default() };
    let mut options = protocol(set, base);
    if config.protocol.is_classical() {
        options.speculation = Speculation::Off;
    }
    if config.protocol == Protocol::Rput {
        options.transfer = Transfer::Write;
    }
    Ok(options)
}
