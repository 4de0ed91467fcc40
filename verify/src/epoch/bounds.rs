//! The bounds of an exploration, within which it is exhaustive.

use super::families::{self, EpochItems};
use super::model;
use super::program::EpochProgram;
use carrousel_epoch::{AllEpochRules, Flags};

/// The programs whose executions are explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochBounds {
    /// Every program of a family.
    Family(EpochFamily),
    /// One program.
    Program(GivenProgram),
}

/// Every program of some ranks up to a number of epochs, one of all that are equal up to renaming of ranks. Accesses and
/// exposures match, and each close waits or returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochFamily {
    /// What a rank may do.
    pub items: EpochItems,
    /// Ranks of the window.
    pub ranks: usize,
    /// The most items of each rank, and of all ranks.
    pub each: usize,
    /// The most items of all ranks.
    pub all: usize,
    /// The settings of the flags.
    pub flags: FlagSettings,
}

/// The settings of a window's flags that are explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagSettings {
    /// None is on.
    Off,
    /// None, and all.
    OffAndOn,
    /// All 16.
    Every,
}

impl FlagSettings {
    pub(super) fn all(self) -> Vec<Flags> {
        match self {
            Self::Off => vec![Flags::default()],
            Self::OffAndOn => vec![Flags::default(), Flags::ALL],
            Self::Every => Flags::every().collect(),
        }
    }
}

/// One program, in the words of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenProgram {
    /// The flags that are on.
    pub flags: Flags,
    /// The steps of each rank.
    pub lines: &'static [&'static str],
    /// It can get stuck by MPI's rules.
    pub may_be_stuck: bool,
}

impl GivenProgram {
    /// Follows one execution, in which a seed decides what comes next, with every rule on. The violation and the steps to
    /// it, if there is one.
    ///
    /// # Panics
    /// If a word of the program is no step.
    pub fn follow(self, seed: u64) -> Option<String> {
        let Self { flags, lines, may_be_stuck } = self;
        let program = EpochProgram::parse(flags, lines, may_be_stuck).expect("each word is a step");
        model::follow::<AllEpochRules>(&program, seed)
    }
}

impl EpochBounds {
    /// As in a table.
    pub fn name(&self) -> String {
        match self {
            Self::Program(program) => format!("program: {}", program.lines.join(" | ")),
            Self::Family(EpochFamily { items, ranks, each, all, flags }) => {
                let flags = match flags {
                    FlagSettings::Off => "no flags",
                    FlagSettings::OffAndOn => "no flags, all flags",
                    FlagSettings::Every => "every flags",
                };
                let most = if *all < each * ranks { format!(", {all} in all") } else { String::new() };
                format!("{}: {ranks} ranks, {each} each{most}, {flags}", items.name())
            }
        }
    }

    /// How many programs there are.
    pub fn count(&self) -> usize {
        self.programs().len()
    }

    /// The programs, one of each that are equal up to renaming.
    pub(super) fn programs(&self) -> Vec<EpochProgram> {
        match self {
            Self::Family(family) => {
                families::programs(family.items, family.ranks, family.each, family.all, &family.flags.all())
            }
            Self::Program(GivenProgram { flags, lines, may_be_stuck }) => {
                EpochProgram::parse(*flags, lines, *may_be_stuck).into_iter().collect()
            }
        }
    }
}
