//! The meaning of a scenario's statements: what each of them asks of the library, of memory and of time.
//!
//! The checker, the simulator and the runner carry out one language. What a statement means is decided here, once: which
//! calls it starts, with which envelope, of which buffer; whether it waits for them; which requests a `wait all` means;
//! what a name stands for. A driver gets [`Action`]s and carries them out, and cannot disagree with another one about
//! what a statement is.
//!
//! **Promises.** A [`Program`] has statements with a meaning only: what no driver can carry out is refused when the
//! program is made. Requests are numbered by the text of the program alone ([`Ordinal`]), so they have the same numbers
//! in every execution, and in every driver.
//! **Leaves to others.** Carrying out: handles, bytes, time, and the order of events. Memory is a name ([`Buffer`]) that
//! each driver maps to memory of its own. A `test` may succeed or not; so a wait may name requests that are over, which
//! costs nothing and changes nothing.
//! **Limits.** So far, messages and collectives have a meaning, and windows have not.
//! **Entry point.** [`programs`]; begin reading at [`Action`], then [`Operation`].
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
mod deferred;
mod envelope;
mod meaning;
mod names;
mod operation;
mod program;

pub use action::Action;
pub use aspects::{Aspects, aspects};
pub use carrousel_rank::{Call, Kind, Memory, Pattern, RankId, Source, Tag, TagSelector, mpi};
pub use carrousel_scenario::{BufferId, Received, RequestId, ValueError};
pub use deferred::{Deferred, KnownReceive, KnownSend};
pub use envelope::received;
pub use names::Ordinal;
pub use operation::{Buffer, Collective, Operation, Part, Receive, Send};
pub use program::{Program, ProgramError, Statement, programs};
