//! The option names that a scenario may set.
//!
//! The language has no options of its own; they are the engine's. The caller passes their names and kinds, so that a
//! misspelt name is an error of the file.

use std::borrow::Cow;

/// The kind of value that an option takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// Bytes: `16KiB`.
    Size,
    /// A time: `5us`.
    Time,
    /// A plain number, negative ones included.
    Integer,
    /// `on` or `off`.
    OnOff,
    /// One of these words.
    Choice(Cow<'static, [Cow<'static, str>]>),
    /// Bytes, or this word.
    SizeOr(&'static str),
}

/// One option: its name and the kind of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// The name, as it stands behind `option`, or behind `WINDOW.` for a flag.
    pub name: Cow<'static, str>,
    /// The kind of its value.
    pub kind: OptionKind,
}

impl OptionSpec {
    /// An option.
    pub const fn new(name: &'static str, kind: OptionKind) -> Self {
        OptionSpec { name: Cow::Borrowed(name), kind }
    }

    /// An option that takes one of `words`.
    pub fn choice(name: &'static str, words: &[&'static str]) -> Self {
        let words: Vec<_> = words.iter().map(|&word| Cow::Borrowed(word)).collect();
        OptionSpec::new(name, OptionKind::Choice(Cow::Owned(words)))
    }
}

/// The options that a scenario may set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// The options of the engine: `option NAME VALUE`.
    pub engine: Vec<OptionSpec>,
    /// The flags of a window: `option WINDOW.NAME VALUE`.
    pub window: Vec<OptionSpec>,
}

impl Vocabulary {
    /// The option of the engine called `name`.
    pub fn engine_option(&self, name: &str) -> Option<&OptionSpec> {
        self.engine.iter().find(|spec| spec.name == name)
    }

    /// The flag of a window called `name`.
    pub fn window_option(&self, name: &str) -> Option<&OptionSpec> {
        self.window.iter().find(|spec| spec.name == name)
    }
}

/// The options that every engine has: the four of its message protocol, the two of large accumulates, that of the order of
/// transfers within an epoch, the four reorder flags of a window, and MPI's two info keys of its accumulates.
impl Default for Vocabulary {
    fn default() -> Self {
        let flag = |name| OptionSpec::new(name, OptionKind::OnOff);
        Vocabulary {
            engine: vec![
                OptionSpec::new("eager_threshold", OptionKind::Size),
                OptionSpec::new("eager_window", OptionKind::Size),
                OptionSpec::choice("speculation", &["off", "always", "adaptive"]),
                OptionSpec::new("rtr_limit", OptionKind::Integer),
                OptionSpec::new("accumulate_eager", OptionKind::Size),
                OptionSpec::new("accumulate_buffers", OptionKind::Integer),
                OptionSpec::new("intra_defer_threshold", OptionKind::SizeOr("measured")),
            ],
            window: vec![
                flag("access_after_access"),
                flag("access_after_exposure"),
                flag("exposure_after_exposure"),
                flag("exposure_after_access"),
                OptionSpec::choice("accumulate_ops", &["same_op_no_op", "same_op"]),
                OptionSpec::choice("accumulate_ordering", &["ordered", "none"]),
            ],
        }
    }
}
