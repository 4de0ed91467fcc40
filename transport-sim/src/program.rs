//! Statements as the simulator executes them, and the options of the protocol.

use crate::config::{Config, Copies, Protocol};
use crate::error::SimError;
use crate::parameters::Network;
use carrousel_options::{OptionEntry, copies_threshold, protocol};
use carrousel_program as meaning;
use carrousel_program::epoch::{self, Call as EpochCall, Flags, OwnedCall};
use carrousel_program::{Buffer, Part};
use carrousel_rank::{
    Call, Communicator, Members, Memory, Options, Pattern, Speculation, Transfer, WindowIndex,
};
use carrousel_scenario::OptionSetting;
use carrousel_schedule::{Measured, Threshold};

/// The action of a statement.
pub(crate) enum Action {
    /// The CPU is busy outside of the library for this many nanoseconds.
    Compute(u64),
    /// The program touches this many bytes.
    Touch(u64),
    /// It calls the library: these calls, one after the other, and returns or waits for them.
    Calls { calls: [Option<Call>; 2], blocking: bool },
    /// It makes this call, waits for it, and has this communicator then.
    Split { call: Call, made: Option<(Communicator, Members)> },
    /// It waits for the requests that the step names, or tests one.
    Requests,
    /// It waits for a message.
    Probe(Pattern),
    /// It makes the next window.
    Create(Flags),
    /// It calls a window.
    Window(WindowCall),
}

/// A call of a window.
#[derive(Clone, Debug)]
pub(crate) struct WindowCall {
    pub(crate) window: WindowIndex,
    call: OwnedCall,
    /// Whether the statement waits until the call is complete.
    pub(crate) blocking: bool,
}

impl WindowCall {
    pub(crate) fn new(window: WindowIndex, call: EpochCall<'_>, blocking: bool) -> Self {
        Self { window, call: call.into(), blocking }
    }

    pub(crate) fn call(&self) -> EpochCall<'_> {
        self.call.call()
    }

    /// The same, with the driver's name for an operation.
    pub(crate) fn named(self, name: u64) -> Self {
        Self { call: self.call.with_local(name), ..self }
    }
}

impl Action {
    /// The action of statement number `at` of a program.
    pub(crate) fn of(program: &meaning::Program, at: usize, action: &meaning::Action<'_>) -> Self {
        match *action {
            meaning::Action::Compute { ns } => Self::Compute(ns),
            meaning::Action::Touch { buffer, .. } => Self::Touch(program.buffer_len(buffer)),
            meaning::Action::Start { .. } | meaning::Action::Exchange { .. } => {
                let mut calls = action.operations().map(|it| it.call(|buffer| memory(buffer, at)));
                Self::Calls { calls: [calls.next(), calls.next()], blocking: !action.starts_request() }
            }
            meaning::Action::Split { made, .. } => {
                let made = made.map(|made| (made, program.members(made).clone()));
                let mut calls = action.operations().map(|it| it.call(|buffer| memory(buffer, at)));
                match calls.next() {
                    Some(call) => Self::Split { call, made },
                    None => unreachable!("ranks that split tell each other how"),
                }
            }
            meaning::Action::Access(access) => {
                let meaning::Access { window, kind, target, place, with_request, .. } = access;
                let transfer = epoch::Transfer { target, kind, place, local: 0 };
                let call = EpochCall::Transfer { transfer, with_request };
                Self::Window(WindowCall::new(WindowIndex(window.0), call, false))
            }
            meaning::Action::TouchWindow(own) => Self::Touch(own.len),
            meaning::Action::Synchronize(call) => {
                Self::Window(WindowCall::new(WindowIndex(call.window.0), call.call, call.blocking))
            }
            meaning::Action::Probe(pattern) => Self::Probe(pattern),
            meaning::Action::Wait(_) | meaning::Action::Test(_) => Self::Requests,
        }
    }
}

/// The memory of a buffer of statement number `at`. No data is moved, so any injective numbering will do.
fn memory(buffer: Buffer, at: usize) -> Memory {
    let (number, key) = match buffer {
        Buffer::Named(name) => (u64::from(name.0), 0),
        Buffer::Own(Part::Outgoing) => (at as u64, 1),
        Buffer::Own(Part::Incoming) => (at as u64, 2),
        Buffer::Own(Part::Scratch) => (at as u64, 3),
    };
    Memory { address: number << 32, key }
}

/// The protocols' options: those that are set, and the parameter set's values for the others.
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

/// From which size on a copy within a node is scheduled, as the options say. The baseline that defers copies defers all.
pub(crate) fn threshold(set: &[OptionSetting], config: &Config) -> Threshold {
    if config.copies == Copies::Deferred {
        return Threshold(0);
    }
    let Network { local, cpu, .. } = &config.network;
    // To queue a copy takes no time here.
    let costs = Measured {
        copied_per_us: 1_000_000 / local.ps_per_byte.max(1),
        queueing_ns: 0,
        posting_ns: cpu.post_ns,
    };
    copies_threshold(set, costs)
}
