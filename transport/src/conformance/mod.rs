//! The conformance suite: whether a transport keeps the contract.
//!
//! A [`Plan`] lists the operations that each rank posts to each peer, in order. A [`Player`] is one rank of it: it posts
//! over any [`Transport`](crate::Transport), and notes its arrivals as [`Event`]s, with the contents of its
//! memory at the moments at which the contract says something of them. [`check`] compares the notes of all ranks
//! with [`ordered`](crate::ordered) and the rest of the contract; a [`ContractError`] names the operations and
//! the row of the table.
//!
//! A test of a transport takes every plan of [`named_plans`] and some of [`generated_plan`], and, unless it is one without
//! atomics, of [`atomic_plans`] and [`generated_atomics`]. It runs a player for each rank until all [are done](Player::is_done); then it polls some more, since a report that comes twice comes late.
//! [`never_ending_plan`] (and [`never_ending_atomics`]) is for the end of a peer: one rank is killed, and has no record.
//!
//! While it runs, the suite makes mistakes of a transport visible: every buffer that may be reused is overwritten at
//! once, and so is the source of a read as soon as its notice, or a fenced packet behind it, says that its reader has it;
//! the bytes around every slot are checked; no address and hardly a length is aligned.
//!
//! Atomics are checked by the values that they have found: those on a word that several ranks change have to have taken
//! turns, in an order that every rank's own order fits into; those on a slot that one rank writes and reads, too, have to
//! have found what it was to have then.
//!
//! The suite cannot see whether data was in memory *before* the packet that announces it (it may be), nor whether
//! a send that was posted before a read, a write or an atomic was in the peer's queue first, as no peer can
//! tell from its reports alone.
//!
//! ```
//! use carrousel_transport::Direction;
//! use carrousel_transport::conformance::{Event, Plan, Post, Step, check};
//! let send = Step { to: 1, post: Post::Send { direction: Direction::ToSender, len: 0 }, fenced: false, after: 0 };
//! let plan = Plan { name: "two packets".into(), steps: vec![vec![send; 2], vec![]] };
//! let sent = Some(vec![Event::Posted(0), Event::Posted(1)]);
//! let [first, second] = [0, 1].map(|at| Event::Packet { from: 0, at, sum: 0 });
//! assert_eq!(check(&plan, &[sent.clone(), Some(vec![first, second])]), Ok(()));
//! let breach = check(&plan, &[sent, Some(vec![second, first])]).unwrap_err().to_string();
//! assert!(breach.ends_with("row `send, back`, column `send, back` of the table of order forbids it"));
//! ```

mod atomics;
mod check;
mod contract_error;
mod plan;
mod plans;
mod player;
mod record;
mod short_plans;
mod words;

pub use atomics::{atomic_plans, generated_atomics, never_ending_atomics};
pub use check::check;
pub use contract_error::{ContractError, TableCell};
pub use plan::{Plan, PlannedStep, Post, Step, Word, sum, sum_of};
pub use plans::{Size, generated_plan, named_plans, never_ending_plan};
pub use player::{Player, RankMemory};
pub use record::{Event, Record, RecordError, RecordLine, parse, parse_record_line};
pub use short_plans::short_plans;
