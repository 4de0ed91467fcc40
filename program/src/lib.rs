//! The meaning of a scenario's statements: their calls of the library, their memory, and their time.
//!
//! The checker, the simulator and the runner carry out one language: in every order, in virtual time, and between
//! processes. This crate decides, once, what a statement means: the calls that it starts, with their envelopes and
//! buffers; whether it waits for them; the requests of a `wait all`; the message for which a name stands. A driver gets
//! [`Action`]s and carries them out. Each request that a statement starts is an [`Operation`], with the call of `Rank`
//! that starts it.
//!
//! **Promises.**
//! - No driver looks at a statement of the language (`Op`), so two drivers cannot disagree about its meaning.
//! - Every statement of a [`Program`] has a meaning.
//! - Requests are numbered by the text of the program alone ([`Ordinal`]), so they have the same numbers in every
//!   execution, and in every driver.
//!
//! **Leaves to others.** Carrying out: handles, bytes, time, and the order of events. Memory is a name ([`Buffer`])
//! that each driver maps to memory of its own. A `test` may succeed or not, so a wait may name requests that have
//! ended; that changes nothing.
//! **Limits.** A driver that has no windows refuses them with [`check_no_windows`], which names the line, before it
//! makes programs.
//! **Entry point.** [`programs`]; begin reading at [`Action`], then [`Operation`] and `meaning`. `communicators`
//! numbers communicators as the library does, `names` says which requests a `wait` is for, `deferred` has the known
//! parts of a statement whose values only an execution has, `envelope` translates ranks and tags between language and
//! library, `aspects` says which kinds of statements a file has.
//!
//! ```
//! use carrousel_program::{Action, Operation, RankId, programs};
//! let text = b"ranks 2\nrank 0\n  a = isend to 1 tag 7 size 8\n  wait all\nrank 1\n  recv from any tag 7 size 8\n";
//! let scenario = carrousel_scenario::load("pair.scn", text)?;
//! let programs = programs(&scenario)?;
//! let [send, wait] = [0, 1].map(|at| programs[0].statement(at).outline());
//! let Action::Start { operation: Operation::Send(send), blocking: false } = send else { panic!("{send:?}") };
//! assert_eq!(send.to, RankId(1));
//! assert_eq!(wait, Action::Wait(&[0])); // the first request of the rank
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod action;
mod aspects;
mod communicators;
mod deferred;
mod envelope;
mod meaning;
mod names;
mod operation;
mod program;
mod windows;

pub use action::Action;
pub use aspects::{Aspects, aspects};
pub use carrousel_rank::epoch;
pub use carrousel_rank::{
    Call, Communicator, Kind, Members, Memory, Pattern, RankId, Source, Tag, TagSelector, mpi,
};
pub use carrousel_scenario::{BufferId, Received, RequestId, ValueError, WindowId};
pub use communicators::Group;
pub use deferred::{Deferred, KnownReceive, KnownSend};
pub use envelope::received;
pub use names::Ordinal;
pub use operation::{Buffer, Collective, Operation, Part, Receive, Send};
pub use program::{Program, ProgramError, Statement, check_no_windows, programs};
pub use windows::{Access, AccumulateKeys, OwnAccess, Synchronization, WindowLayout, staging, windows};
