//! Tests with processes that cannot be killed, which real jobs cannot produce on demand.

use super::*;
use crate::job::Job;

#[test]
fn ranks_that_cannot_be_killed_are_not_waited_for_and_named() {
    let mut job = Job::new("sleep", 2);
    job.programs[0].arguments = vec!["60".into()];
    let poll = Poll::new().expect("there are polls");
    let (mut local_ranks, mut out) = (LocalRanks::new(), Vec::new());
    let started =
        local_ranks.start(&job.node_share(0, 2), (Stdin::Inherited, false), &poll, &mut |_| Ok(()), &mut out);
    started.expect("there is such a program");
    assert!(!local_ranks.all_ended());
    local_ranks.abandon(&poll, &mut out);
    let gone = |rank| RankEvent::Ended { rank, ending: Ending::Killed(9) };
    assert_eq!((local_ranks.all_ended(), out), (true, vec![gone(0), gone(1)]));
    local_ranks.reaper.left = vec![local_ranks.ranks[1].pid];
    let left = local_ranks.take_left();
    assert!(left.len() == 1 && left[0].starts_with("rank 1, process "), "{left:?}");
    local_ranks.ranks.iter().for_each(|local_rank| local_rank.signal(Signal::KILL));
}
