//! The options of Carrousel: one registry, and where each value comes from.
//!
//! The first of these that sets an option gives it its value: an `option` line of a scenario, since the scenario's
//! options are part of the pattern; the variable `CARROUSEL_<NAME>`; the file that `CARROUSEL_OPTIONS` names, with a
//! line `NAME VALUE` for each; its default. `CARROUSEL_TRACE` is not an option: it asks for a trace of one run, in the
//! directory that it names, nor is `CARROUSEL_TRACE_LIMIT`, which bounds its parts.
//!
//! **Promises.**
//! - An unknown name, or a value out of range, is an error that says what is allowed, wherever it stands: a misspelt
//!   option would silently not apply.
//! - No file that an option names is read without end. All crates read such files by `file`.
//!
//! **Leaves to others.** The effect of the options. For all programs that drive a `Rank`, `protocol` converts them to
//! those of a rank, and of the order of an epoch's transfers.
//! **Entry point.** [`OPTIONS`] and [`Settings::read`]: name, range, default and purpose of each option, and the origin
//! of each value.
//!
//! ```
//! use carrousel_options::Settings;
//! let environment = [("CARROUSEL_RTR_LIMIT", "3")].map(|(name, value)| (name.into(), value.into()));
//! let settings = Settings::of(environment.into_iter())?;
//! assert_eq!(settings.protocol().rtr_limit, 3);
//! # Ok::<(), carrousel_options::OptionError>(())
//! ```
#![forbid(unsafe_code)]

mod file;
mod protocol;
mod registry;
mod settings;
mod value;

pub use file::{FILE_BYTES_MAX, read_bounded, read_text};
pub use protocol::{copies_threshold, protocol};
pub use registry::{OPTIONS, OptionEntry, ValueKind, vocabulary};
pub use settings::{
    CheckUsage, OptionError, Origin, ReuseOptions, ReuseTable, SIMULATION, Settings, VerbsOptions, VerbsScope,
};
pub use value::parse_size;
