//! The Carrousel scenario language: communication patterns as text, parsed, checked and formatted.
//!
//! [`load`] calls [`parse`], which makes an [`ast::Ast`] of text, with comments and places, and [`check()`], which
//! makes a [`Scenario`] of the tree: `repeat` is unrolled, expressions have their values, every name is resolved.
//! Communicators are declared: a `comm` line becomes an [`Op::Split`] at the head of each rank's program, and their
//! members are known when the file is checked. A statement that uses a message (`source(NAME)`, `tag(NAME)`) is an
//! [`Op::Deferred`], which its rank resolves when it gets there. [`format()`] makes canonical text of the tree. The
//! statements are one table, in [`verb`]. docs/language.md has everything that a user may rely on; its examples are
//! tests, and a new statement fails them until it has one.
//!
//! **Promises.**
//! - A [`Scenario`] breaks no rule of the language. Every rank, window, request and buffer in it exists, every access
//!   is inside of its window, and a message is there when a statement uses it. The n-th collectives of all ranks that
//!   have so many agree in kind, root and size. A crate that has a `Scenario` need not check any of this again.
//! - A wrong file is an [`Error`] that says where it is wrong, what is there, and what was expected; it never is a
//!   panic. Hostile files end within the bounds of [`limits`]. A fuzz target and its corpus, which ordinary tests
//!   replay, watch over that.
//!
//! **Leaves to others.** The meaning of statements: this crate knows neither protocols nor MPI's semantics, so a
//! scenario may deadlock, race or leak. The names of options: the caller passes them as a [`Vocabulary`].
//! **Entry point.** [`load`]; begin reading at [`Op`], then [`Scenario`].
//!
//! ```
//! # use carrousel_scenario::{Op, load};
//! let scenario = load("ring.scn", b"ranks 3\nrank *\n  e = isend to (me+1)%size tag 0 size 4KiB\n  wait e\n")?;
//! let last = &scenario.programs[2].steps[0];
//! assert!(matches!(last.op, Op::Send { to: 0, size: 4096, blocking: false, .. }));
//!
//! let error = load("ring.scn", b"ranks 3\nrank *\n  isnd to me+1 tag 0 size 4KiB\n").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "ring.scn:3:3: unknown statement `isnd`, expected a statement or a declaration",
//! );
//! assert!(error.render(false).contains("did you mean `isend`?"));
//! # Ok::<(), carrousel_scenario::Error>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod assertions;
pub mod ast;
mod check;
mod checks;
mod combine;
mod deferred;
mod error;
mod format;
mod ids;
pub mod limits;
mod model;
mod op;
mod parse;
mod problem;
mod room;
mod span;
pub mod units;
mod value;
pub mod verb;
mod vocabulary;
mod written;

use std::io::{self, Read};

pub use assertions::{Assertion, Assertions};
pub use check::check;
pub use checks::{Check, UnknownCheck};
pub use combine::Combine;
pub use deferred::ValueError;
pub use error::{Error, Fault};
pub use format::format;
pub use ids::{BufferId, CommunicatorId, RequestId, Source, TagSelector, WindowId};
pub use model::{Buffer, Communicator, Expect, OptionSetting, OptionValue, Program, Scenario, Step, Window};
pub use op::{Deferred, Op, Received};
pub use parse::parse;
pub use problem::{Many, Problem};
pub use span::Span;
pub use vocabulary::{OptionKind, OptionSpec, Vocabulary};
pub use written::Written;

/// Reads the bytes of a file. Of a file that is larger than a scenario may be, reads only as many as [`parse`] needs
/// to refuse it: a file that grows, or never ends, like `/dev/zero`, does no harm.
///
/// # Errors
///
/// If reading fails.
pub fn read(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limits::FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Checks a file's bytes, with the options that every engine has. `name` stands for the file in messages. Use
/// [`read`] to get the bytes of a file that is not trusted.
///
/// # Errors
///
/// If the file is wrong; the error has up to [`limits::FAULTS_MAX`] of its faults.
pub fn load(name: &str, bytes: &[u8]) -> Result<Scenario, Error> {
    load_with(name, bytes, &Vocabulary::default())
}

/// Checks a file's bytes, with the options of `vocabulary`.
///
/// # Errors
///
/// As [`load`].
pub fn load_with(name: &str, bytes: &[u8], vocabulary: &Vocabulary) -> Result<Scenario, Error> {
    check(&parse(name, bytes)?, vocabulary)
}
