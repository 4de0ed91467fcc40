//! Tests with processes that end, or cannot be killed, at moments that real jobs do not produce on demand.

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

#[test]
fn a_rank_that_was_killed_is_told_before_one_that_failed_for_it() {
    let mut job = Job::new("sh", 3);
    let script = "case $PMI_RANK in 0) exit 1;; 1) exit 3;; *) kill -9 $$;; esac";
    job.programs[0].arguments = vec!["-c".into(), script.into()];
    let poll = Poll::new().expect("there are polls");
    let (mut local_ranks, mut out) = (LocalRanks::new(), Vec::new());
    let started =
        local_ranks.start(&job.node_share(0, 3), (Stdin::Inherited, true), &poll, &mut |_| Ok(()), &mut out);
    started.expect("there is a shell");
    for local_rank in &local_ranks.ranks {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(local_rank.pid), options).expect("a child");
    }
    (0..3).for_each(|index| local_ranks.handle_ready(Token::Ended(index), &poll, &mut out));
    let ended = |rank, ending| RankEvent::Ended { rank, ending };
    let expected = [
        ended(2, Ending::Killed(Signal::KILL.as_raw())),
        ended(1, Ending::Exited(3)),
        ended(0, Ending::Exited(1)),
    ];
    assert_eq!((out, local_ranks.all_ended()), (expected.into(), true));
}
