//! The communicators that ranks have under the names of a file.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::Name;
use crate::ids::CommunicatorId;
use crate::parse::LocatedProblem;
use crate::problem::{Problem, clip, did_you_mean};

/// What a rank has under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) id: CommunicatorId,
    /// This rank's number in it.
    pub(super) me: u32,
    /// The number of ranks in it.
    pub(super) size: u32,
}

/// The declared communicators, by name.
#[derive(Debug, Default)]
pub(super) struct Declared {
    by_name: HashMap<Arc<str>, usize>,
    /// By declaration and rank; `None` for a rank that is in none.
    places: Vec<(Arc<str>, Vec<Option<Place>>)>,
}

impl Declared {
    /// Declares `name`. `places` says, by rank, which communicator it stands for.
    pub(super) fn declare(&mut self, name: &Arc<str>, places: Vec<Option<Place>>) {
        self.by_name.insert(Arc::clone(name), self.places.len());
        self.places.push((Arc::clone(name), places));
    }

    /// The communicator that `rank` has under `name`.
    pub(super) fn place(&self, name: &str, rank: u32) -> Result<Place, Problem> {
        let at = self.declared(name)?;
        let place = self.places[at].1.get(rank as usize).copied().flatten();
        place.ok_or_else(|| Problem::NotAMember { rank, name: clip(name) })
    }

    /// The declaration of `name`.
    fn declared(&self, name: &str) -> Result<usize, Problem> {
        self.by_name.get(name).copied().ok_or_else(|| {
            let help = did_you_mean(name, self.places.iter().map(|(name, _)| &**name));
            Problem::UnknownCommunicator { name: clip(name), help }
        })
    }

    /// Fails if nothing of this name is declared.
    pub(super) fn find(&self, name: &Name) -> Result<(), LocatedProblem> {
        self.declared(&name.text).map(|_| ()).map_err(|problem| (name.at, problem))
    }
}
