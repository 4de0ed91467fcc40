//! The announcements that are possible in a state.

use super::{Node, View};
use crate::action::Action;
use carrousel_rank::Protocol;
use std::cell::OnceCell;

/// An announcement, with the end at which it happens.
type Announcement = (Action, Node);

/// The announcements of a state, by rank: made when they are first asked for, as most sets concern few ranks.
#[derive(Debug, Default)]
pub(super) struct Announcements {
    ranks: OnceCell<Box<[OnceCell<Vec<Announcement>>]>>,
}

impl Announcements {
    /// Those of a rank. The end of one is the same in both views.
    pub(super) fn of<P: Protocol>(&self, view: &View<'_, P>, rank: u16) -> &[Announcement] {
        let ranks = self.ranks.get_or_init(|| (0..view.ranks()).map(|_| OnceCell::new()).collect());
        ranks[usize::from(rank)].get_or_init(|| {
            let mut announcements = Vec::new();
            view.model.announcements(view.state, rank, &mut announcements);
            let end = |action: &Action| match *action {
                Action::Announce { rank, receive } => Some((*action, view.end_of_request(rank, receive))),
                _ => None,
            };
            announcements.iter().filter_map(end).collect()
        })
    }
}
