//! The Carrousel scenario language: communication patterns as text, read, checked, formatted.
//!
//! **Promises.** A [`Scenario`] breaks no rule of the language: every rank, window, request and
//! buffer in it exists, every access is inside of its window, `repeat` is unrolled, every
//! expression has its value, or, if it uses `source(NAME)` or `tag(NAME)`, has it when a rank gets to it, and the n-th collective of all ranks that have so many is the same one:
//! kind, root, size. A wrong file is an [`Error`] that says where, what, and what was
//! expected instead; it never is a panic. Hostile files end within the bounds of [`limits`].
//!
//! **Leaves to others.** What statements *do*: this crate knows neither the engine nor MPI's
//! semantics, so a scenario may deadlock, race or leak. Which options exist is the engine's
//! business too: the caller passes a [`Vocabulary`].
//!
//! **Entry point.** [`load`]; begin reading at [`Op`], then [`Scenario`]. Behind `load` are
//! [`parse`], which makes an [`ast::Ast`] of text, [`check()`], which makes a scenario of that, and
//! beside it [`format()`], which makes canonical text of it. The statements are a table, in [`verb`].
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

pub mod ast;
mod check;
mod checks;
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

pub use check::check;
pub use checks::{Check, UnknownCheck};
pub use deferred::ValueError;
pub use error::{Error, Fault};
pub use format::format;
pub use ids::{BufferId, RequestId, Source, TagSelector, WindowId};
pub use model::{Buffer, Expect, OptionSetting, OptionValue, Program, Scenario, Step, Window};
pub use op::{Deferred, Op, Received};
pub use parse::parse;
pub use problem::{Many, Problem};
pub use span::Span;
pub use vocabulary::{OptionKind, OptionSpec, Vocabulary};
pub use written::Written;

/// The bytes of a file. Of one that is larger than a scenario may be, only so many that
/// [`parse`] sees it: a file that never ends, like `/dev/zero`, or grows meanwhile does no harm.
///
/// # Errors
///
/// When reading fails.
pub fn read(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limits::FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Checks a file's bytes, with the options that every engine has. `name` is what messages call it;
/// [`read`] is how to get the bytes of a file that nobody vouches for.
///
/// # Errors
///
/// When the file is wrong; the error has up to [`limits::FAULTS_MAX`] of its faults.
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
