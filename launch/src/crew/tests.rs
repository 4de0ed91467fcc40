//! What cannot be had from real jobs: ranks that the system does not end.

use super::*;
use crate::job::Job;

#[test]
fn ranks_that_cannot_be_killed_are_not_waited_for_and_named() {
    let mut job = Job::new("sleep", 2);
    job.programs[0].arguments = vec!["60".into()];
    let poll = Poll::new().expect("there are polls");
    let (mut crew, mut out) = (Crew::new(), Vec::new());
    let started = crew.start(&job.share(0, 2), (Stdin::Inherited, false), &poll, &mut |_| Ok(()), &mut out);
    started.expect("there is such a program");
    assert!(!crew.all_ended());
    crew.abandon(&poll, &mut out);
    let gone = |rank| Happening::Ended { rank, ending: Ending::Killed(9) };
    assert_eq!((crew.all_ended(), out), (true, vec![gone(0), gone(1)]));
    crew.sweep.left = vec![crew.members[1].pid];
    let left = crew.take_left();
    assert!(left.len() == 1 && left[0].starts_with("rank 1, process "), "{left:?}");
    crew.members.iter().for_each(|member| member.signal(Signal::KILL));
}
