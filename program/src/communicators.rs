//! The communicators of a job, under the numbers that the library gives them.

use carrousel_rank::{Communicator, Members, RankId};
use carrousel_scenario::{CommunicatorId, Scenario};

/// A communicator as its members know it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// Its number. Groups without a common rank may have the same one.
    pub communicator: Communicator,
    /// Its members, as ranks of the job.
    pub members: Members,
}

impl Group {
    /// The rank of the job behind a number in it.
    ///
    /// # Panics
    /// If there is no such rank: a checked scenario names none.
    pub(crate) fn rank(&self, comm_rank: u32) -> RankId {
        self.members.rank(comm_rank).unwrap_or_else(|| unreachable!("a scenario names ranks that exist"))
    }
}

/// Why the communicators of a scenario cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany {
    /// The line of the first one without a number.
    pub(crate) line: u32,
}

/// All communicators of a scenario, by [`CommunicatorId`].
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Groups {
    all: Vec<Group>,
    /// By rank: those that it is in.
    by_rank: Vec<Vec<CommunicatorId>>,
}

impl Groups {
    /// Numbers them as the library does: the ranks that make communicators together take the lowest number that none
    /// of them has in use, the same one for all communicators of one split.
    pub(crate) fn new(scenario: &Scenario) -> Result<Self, TooMany> {
        let world = Group { communicator: Communicator::WORLD, members: Members::all(scenario.ranks) };
        let by_rank = vec![vec![CommunicatorId::WORLD]; scenario.ranks as usize];
        let mut groups = Self { all: vec![world], by_rank };
        // The last split, by line and parent, and its number.
        let mut split: Option<((u32, CommunicatorId), Communicator)> = None;
        for (id, one) in (0..).map(CommunicatorId).zip(&scenario.communicators).skip(1) {
            let this = (one.line, one.parent);
            let communicator = match split {
                Some((other, communicator)) if other == this => communicator,
                _ => {
                    let agreeing = &scenario.communicator(one.parent).members;
                    groups.free_at(agreeing).ok_or(TooMany { line: one.line })?
                }
            };
            split = Some((this, communicator));
            let ranks: Vec<RankId> = one.members.iter().map(|rank| RankId(*rank)).collect();
            let members = Members::new(&ranks, scenario.ranks)
                .unwrap_or_else(|error| unreachable!("members are ranks of the job, each once: {error}"));
            groups.all.push(Group { communicator, members });
            for rank in one.members.iter() {
                groups.by_rank[*rank as usize].push(id);
            }
        }
        Ok(groups)
    }

    /// The lowest number that none of these ranks has in use, if there is one.
    fn free_at(&self, ranks: &[u32]) -> Option<Communicator> {
        let mut taken = vec![false; usize::from(Communicator::MAX)];
        for id in ranks.iter().flat_map(|rank| &self.by_rank[*rank as usize]) {
            taken[usize::from(self.of(*id).communicator.index())] = true;
        }
        let free = taken.iter().position(|taken| !taken)?;
        Communicator::new(free as u16)
    }

    pub(crate) fn of(&self, id: CommunicatorId) -> &Group {
        &self.all[id.0 as usize]
    }

    /// The communicators of a rank, by number.
    pub(crate) fn of_rank(&self, rank: u32) -> Vec<Group> {
        let mut own: Vec<Group> = self.by_rank[rank as usize].iter().map(|id| self.of(*id).clone()).collect();
        own.sort_unstable_by_key(|group| group.communicator.index());
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers and members of the communicators of a file, without the first one.
    fn groups(declarations: &str) -> Vec<(u16, Vec<u32>)> {
        let text = format!("ranks 6\n{declarations}");
        let scenario = carrousel_scenario::load("f", text.as_bytes()).expect("the file is right");
        let groups = Groups::new(&scenario).expect("there are numbers");
        let plain =
            |group: &Group| (group.communicator.index(), group.members.iter().map(|rank| rank.0).collect());
        groups.all[1..].iter().map(plain).collect()
    }

    #[test]
    fn the_communicators_of_one_split_share_a_number() {
        let rows = "comm rows = split color me/3\n";
        assert_eq!(groups(rows), [(1, vec![0, 1, 2]), (1, vec![3, 4, 5])]);
        let columns = format!("{rows}comm columns = split color me%3 key -me\n");
        let columns = groups(&columns);
        assert_eq!(columns[2..], [(2, vec![3, 0]), (2, vec![4, 1]), (2, vec![5, 2])]);
    }

    #[test]
    fn a_number_is_used_again_where_nobody_who_agrees_on_it_has_it() {
        let some = "comm some = split color -(me/3)\n";
        // Rank 0 agrees on the next number, and has number 1; ranks 3 to 5 do not take part here.
        let inner = format!("{some}comm inner = split color me%2 on some\n");
        assert_eq!(groups(&inner), [(1, vec![0, 1, 2]), (2, vec![0, 2]), (2, vec![1])]);
        let others = "comm some = split color -(me/3)\ncomm halves = split color me/3\n\
                      comm last = split color 0 on halves\n";
        let others = groups(others);
        assert_eq!(others[1..3], [(2, vec![0, 1, 2]), (2, vec![3, 4, 5])]);
        // Each half agrees for itself: the second one has no number 1 in use.
        assert_eq!(others[3..], [(3, vec![0, 1, 2]), (1, vec![3, 4, 5])]);
    }
}
