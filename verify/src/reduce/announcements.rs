//! The announcements that are possible in a state.

use super::node::Node;
use crate::action::Action;
use std::cell::OnceCell;

/// An announcement, with the end at which it happens.
type Announcement = (Action, Node);

/// The announcements of a state, by rank: made when they are first asked for, as most sets concern few ranks.
#[derive(Debug, Default)]
pub(super) struct Announcements {
    ranks: OnceCell<Box<[OnceCell<Vec<Announcement>>]>>,
}

impl Announcements {
    /// Those of a rank of so many. The end of one is the same in both views.
    pub(super) fn of(
        &self,
        ranks: u16,
        rank: u16,
        make: impl FnOnce() -> Vec<Announcement>,
    ) -> &[Announcement] {
        let all = self.ranks.get_or_init(|| (0..ranks).map(|_| OnceCell::new()).collect());
        all[usize::from(rank)].get_or_init(make)
    }
}
