//! The client against scripted servers: its requests, and its handling of any answer.

use super::*;
use proptest::prelude::*;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::thread;

fn pair() -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .expect("there are sockets")
}

/// A client whose requests are answered by `answer`, until it returns `None`.
fn served(size: u32, answer: impl Fn(&str) -> Option<String> + Send + 'static) -> Client {
    let (ours, theirs) = pair();
    thread::spawn(move || {
        let mut writer = File::from(theirs.try_clone().expect("it can be duplicated"));
        for line in BufReader::new(File::from(theirs)).lines().map_while(Result::ok) {
            let Some(answer) = answer(&line) else { break };
            if writer.write_all(answer.as_bytes()).is_err() {
                break;
            }
        }
    });
    Client::new(Channel::new(ours), 0, size)
}

/// Slurm's answers: no mapping, `rc=1` for a missing key.
fn slurm(line: &str) -> Option<String> {
    Some(match PmiLine::parse(line.as_bytes()).expect("the client writes lines").command {
        "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n".to_owned(),
        "get_maxes" => "cmd=maxes rc=0 kvsname_max=256 keylen_max=256 vallen_max=1024\n".to_owned(),
        "get_my_kvsname" => "cmd=my_kvsname rc=0 kvsname=1.0\n".to_owned(),
        "get" => "cmd=get_result rc=1\n".to_owned(),
        "finalize" => "cmd=finalize_ack rc=0\n".to_owned(),
        _ => return None,
    })
}

#[test]
fn slurm_is_understood() {
    let mut client = served(2, slurm);
    client.initialise().expect("it is PMI-1");
    assert!(!client.is_watched());
    assert_eq!(client.get("missing").expect("that is an answer"), None);
    assert_eq!(client.peer_events().expect("nothing comes"), []);
    client.report("{}").expect("it goes nowhere");
    client.finalize().expect("it is acknowledged");
}

#[test]
fn a_listening_launcher_tells_rank_and_size() {
    let mut client = served(1, |line| {
        assert_eq!(line, "cmd=initack pmiid=7");
        Some("cmd=initack\ncmd=set size=4\ncmd=set rank=3\ncmd=set debug=0\n".to_owned())
    });
    client.introduce("7").expect("it is PMI-1");
    assert_eq!((client.rank(), client.size()), (3, 4));
}

#[test]
fn a_rank_beyond_the_size_is_refused() {
    let mut client =
        served(1, |_| Some("cmd=initack\ncmd=set size=4\ncmd=set rank=4\ncmd=set debug=0\n".into()));
    let message = client.introduce("0").expect_err("there is no such rank").to_string();
    assert!(message.contains("rank 4 of 4"), "{message}");
}

#[test]
fn keys_and_values_keep_to_the_strictest_launcher() {
    let mut client = served(1, |text| match PmiLine::parse(text.as_bytes()).expect("it is a line") {
        line if line.command == "put" => {
            assert!(line.get("key").expect("it has one").len() <= KEY_MAX);
            assert!(line.get("value").expect("it has one").len() < 1024);
            assert!(text.len() < 1024, "{} bytes, and the end of the line", text.len());
            Some("cmd=put_result rc=0 msg=success\n".to_owned())
        }
        _ => slurm(text),
    });
    client.put("abcdefghijklmnopqrstuvwx", &"; =\n".repeat(VALUE_MAX / 4)).expect("it is in parts");
    for key in ["", "a b", "a;b", "a+1", "abcdefghijklmnopqrstuvwxy"] {
        assert!(matches!(client.put(key, ""), Err(LaunchError::InvalidKey { .. })), "{key:?}");
    }
    let long = "x".repeat(VALUE_MAX + 1);
    assert!(matches!(client.put("a", &long), Err(LaunchError::TooLong { .. })));
}

#[test]
fn a_peer_event_between_request_and_answer_is_kept() {
    let mut client = served(3, |line| {
        let lost = "cmd=lost rank=2 how=killed signal=9\n";
        slurm(line).map(|answer| lost.to_owned() + &answer)
    });
    client.watched = true;
    assert_eq!(client.get("missing").expect("it is answered"), None);
    let expected = PeerEvent::Lost { rank: 2, how: Ending::Killed(9) };
    // The name of the store was asked for as well.
    assert_eq!(client.peer_events().expect("it is there"), vec![expected; 3]);
}

/// Another rank can end before this one has sent its first request.
#[test]
fn a_peer_event_before_the_first_answer_is_kept() {
    let answer = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0 launcher=carrousel\n";
    let lost = "cmd=lost rank=2 how=exited code=5\n";
    let mut client = served(3, move |_| Some(lost.to_owned() + answer));
    client.initialise().expect("it is answered");
    assert!(client.is_watched());
    let expected = PeerEvent::Lost { rank: 2, how: Ending::Exited(5) };
    assert_eq!(client.peer_events().expect("it is there"), vec![expected]);
}

#[test]
fn a_barrier_ends_when_a_rank_is_lost() {
    let mut client = served(2, |_| Some("cmd=lost rank=1 how=exited code=3\n".to_owned()));
    client.watched = true;
    let mut told = 0;
    for _ in 0..3 {
        let error = client.barrier().expect_err("nobody opens it");
        assert!(matches!(error, LaunchError::RankLost { rank: 1, ending: Ending::Exited(3) }), "{error}");
        // The event comes once; but the rank does not come back.
        told += client.peer_events().expect("the launcher lives").len();
    }
    assert_eq!(told, 1);
}

#[test]
fn a_launcher_that_is_gone_is_an_error() {
    let (ours, theirs) = pair();
    drop(theirs);
    let mut client = Client::new(Channel::new(ours), 0, 1);
    client.watched = true;
    assert!(matches!(client.barrier(), Err(LaunchError::LauncherGone { .. })));
    assert!(matches!(client.peer_events(), Err(LaunchError::LauncherGone { .. })));
}

#[test]
fn a_report_is_one_line() {
    let mut client = served(1, slurm);
    assert!(matches!(client.report("{\n}"), Err(LaunchError::ReportNotOneLine { at: 1 })));
}

#[test]
fn a_message_of_any_length_is_sent_as_far_as_launchers_read_it() {
    for (watched, shortest, longest) in [(false, 1000, REQUEST_MAX), (true, 8000, MESSAGE_MAX + 40)] {
        let (ours, theirs) = pair();
        let mut client = Client::new(Channel::new(ours), 0, 1);
        client.watched = watched;
        client.abort(7, &"ß".repeat(30_000)).expect("it is sent");
        drop(client);
        let line = std::io::read_to_string(File::from(theirs)).expect("it is text");
        assert!((shortest..=longest).contains(&line.len()), "{}", line.len());
        assert!(line.starts_with("cmd=abort exitcode=7 message=ß") && line.ends_with("ß\n"), "{line}");
    }
}

#[test]
fn a_false_number_of_parts_is_an_error() {
    for parts in ["999999999-".to_owned() + &"00".repeat(500), "999999999-".to_owned()] {
        let mut client =
            served(1, move |line| match PmiLine::parse(line.as_bytes()).expect("it is a line") {
                line if line.command == "get" && line.get("key") == Some("a") => {
                    Some(format!("cmd=get_result rc=0 value={parts}\n"))
                }
                line if line.command == "get" => {
                    let (_, more) = parts.split_once('-').expect("there is one");
                    Some(format!("cmd=get_result rc=0 value={more}\n"))
                }
                line => slurm(&format!("cmd={}", line.command)),
            });
        assert!(matches!(client.get("a"), Err(LaunchError::UnexpectedAnswer { .. })));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any lines of a launcher lead to a result or an error, not to a panic or an endless loop.
    #[test]
    fn any_launcher_is_understood_or_refused(answers in proptest::collection::vec(prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..30),
        "cmd=(response_to_init|maxes|my_kvsname|get_result|put_result|barrier_out|lost|set|initack)( (rc=[-0-9]{0,3}|kvsname=k|value=[0-9(),a-z-]{0,9}|vallen_max=[0-9]{0,25}|rank=[0-9]{0,11}|how=[a-z]{0,9}|code=1)){0,5}".prop_map(String::into_bytes),
    ], 0..12), watched in any::<bool>()) {
        let (ours, theirs) = pair();
        let mut theirs = File::from(theirs);
        for answer in &answers {
            theirs.write_all(answer).expect("it fits the buffer");
            theirs.write_all(b"\n").expect("it fits the buffer");
        }
        rustix::net::shutdown(&theirs, rustix::net::Shutdown::Write).expect("it is open");
        let mut client = Client::new(Channel::new(ours), 0, 4);
        client.watched = watched;
        let _ = client.introduce("1");
        let _ = client.initialise();
        let _ = client.put("a", "b");
        let _ = client.nodes();
        let _ = client.barrier();
        let _ = client.peer_events();
    }
}
