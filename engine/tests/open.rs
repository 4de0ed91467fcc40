//! Endpoints whose peers are not known ahead: each names the others as it meets them.
#![allow(unsafe_code, reason = "the endpoint's memory is lent by pointer")]

use carrousel_engine::{CallContext, Endpoint, OpenPeers, SendEnvelope, SendKind};
use carrousel_rank::{Communicator, Handle, Options, RankId, Source, Status, Tag, TagSelector};
use carrousel_transport_shm::Settings;

const WORLD: CallContext = CallContext { communicator: Communicator::WORLD, site: None };
const TAG: Tag = Tag(0xfeed_0000_0000_0007);
/// On both sides of the threshold.
const SIZES: [usize; 3] = [0, 100, 1 << 20];

fn open(job: &str) -> Endpoint {
    let peers = OpenPeers { job, most: 8, apart: false };
    let network = |_| Err("nobody has asked for one".to_owned());
    Endpoint::open(peers, &Options::default(), Settings::default(), network).expect("there is memory")
}

fn receive(endpoint: &mut Endpoint, bytes: &mut [u8], from: Source) -> Handle {
    // SAFETY: the tests keep the bytes, and do not use them, until the request has ended.
    let request = unsafe { endpoint.receive(bytes, WORLD.caller(), from, TagSelector::new(TAG, 0xffff)) };
    request.expect("it can begin")
}

fn send(endpoint: &mut Endpoint, bytes: &[u8], to: RankId) -> Option<Handle> {
    let envelope = SendEnvelope { to, tag: TAG, data: Some(9) };
    // SAFETY: as for receives.
    let request = unsafe { endpoint.send(bytes, WORLD.caller(), envelope, SendKind::Standard) };
    request.expect("it can begin")
}

fn source(status: &Status) -> RankId {
    status.message.expect("it has a message").0
}

fn tag(status: &Status) -> Tag {
    status.message.expect("it has a message").1
}

/// Polls both until a receive of one, and a send of the other if it goes on, are complete.
fn finish(receiver: (&mut Endpoint, Handle), sender: (&mut Endpoint, Option<Handle>)) -> Status {
    let ((receiver, receive), (sender, mut send)) = (receiver, sender);
    let mut got = None;
    for _ in 0..1_000_000 {
        receiver.poll();
        sender.poll();
        if got.is_none() {
            got = receiver.finish(receive, |status| *status).map(|ended| ended.expect("nobody has died"));
        }
        if let Some(request) = send
            && let Some(ended) = sender.finish(request, |_| ())
        {
            ended.expect("nobody has died");
            send = None;
        }
        if let (Some(status), None) = (got, send) {
            return status;
        }
    }
    panic!("the message does not come");
}

#[test]
fn a_message_comes_from_who_is_not_known_yet() {
    let (mut server, mut client) = (open("job"), open("job"));
    let server_there = client.peer(&server.full_address()).expect("it is of the same job");
    assert_eq!((client.me(), server_there), (0, RankId(1)));
    for size in SIZES {
        let sent: Vec<u8> = (0..size).map(|at| at as u8).collect();
        let mut got = vec![0; size];
        let wanted = receive(&mut server, &mut got, Source::Any);
        let request = send(&mut client, &sent, server_there);
        let status = finish((&mut server, wanted), (&mut client, request));
        assert_eq!((source(&status), status.data), (RankId(1), Some(9)));
        assert_eq!((status.len, tag(&status)), (size as u64, TAG));
        assert_eq!(got, sent);
    }
    assert_eq!(server.address_of(RankId(1)), Some(client.full_address()));
}

#[test]
fn a_receive_may_be_early_for_one_that_is_named_only() {
    let (mut server, mut client) = (open("job"), open("job"));
    let client_here = server.peer(&client.full_address()).expect("it is of the same job");
    for size in SIZES {
        let sent = vec![5; size];
        let mut got = vec![0; size];
        // Announced, where it is large: to a peer that has not connected.
        let wanted = receive(&mut server, &mut got, Source::Rank(client_here));
        (0..10).for_each(|_| _ = (server.poll(), client.poll()));
        let server_there = client.peer(&server.full_address()).expect("it is of the same job");
        let request = send(&mut client, &sent, server_there);
        let status = finish((&mut server, wanted), (&mut client, request));
        assert_eq!((source(&status), got), (client_here, sent));
    }
}

#[test]
fn an_endpoint_sends_to_itself() {
    let mut alone = open("job");
    let own = alone.peer(&alone.full_address());
    assert_eq!(own, Some(RankId(0)));
    let mut got = [0; 100];
    let wanted = receive(&mut alone, &mut got, Source::Any);
    let request = send(&mut alone, &[7; 100], RankId(0));
    let status = alone.wait(wanted, WORLD.caller(), |status| *status).expect("it has come");
    assert!(request.is_none_or(|request| alone.wait(request, WORLD.caller(), |_| ()).is_ok()));
    assert_eq!((source(&status), got), (RankId(0), [7; 100]));
}

#[test]
fn another_job_is_no_peer() {
    let (mut server, stranger) = (open("job"), open("another"));
    assert_eq!(server.peer(&stranger.full_address()), None);
    // Not even if it pretends that the address is of its own job.
    let mut stranger = stranger;
    let there = stranger.peer(&server.full_address().replace("job ", "another "));
    send(&mut stranger, b"hello", there.expect("it looks like one"));
    (0..100).for_each(|_| _ = (stranger.poll(), server.poll()));
    assert_eq!(server.peer(&open("job").full_address()), Some(RankId(1)), "the stranger has no rank");
}

#[test]
fn a_peer_of_another_node_is_out_of_reach_and_why_is_told() {
    let mut alone = open("job");
    let address = open("job").full_address();
    let (rest, _) = address.rsplit_once(':').expect("it ends with its node");
    let there = alone.peer(&format!("{rest}:abc")).expect("it is of the same job");
    let mut got = [0; 5];
    let wanted = receive(&mut alone, &mut got, Source::Rank(there));
    let ended = alone.wait(wanted, WORLD.caller(), |_| ());
    let error = ended.expect_err("nobody is there").to_string();
    assert_eq!(error, "rank 1 is on another node: nobody has asked for one");
}

/// More than the slow path's period, in which peers are checked.
const PERIODS: std::time::Duration = std::time::Duration::from_millis(100);

#[test]
fn who_is_not_known_yet_is_not_lost() {
    let (mut server, mut client) = (open("job"), open("job"));
    let mut got = [0; 5];
    let wanted = receive(&mut server, &mut got, Source::Any);
    let until = std::time::Instant::now() + PERIODS;
    while std::time::Instant::now() < until {
        server.progress();
    }
    let server_there = client.peer(&server.full_address()).expect("it is of the same job");
    let request = send(&mut client, b"hello", server_there);
    finish((&mut server, wanted), (&mut client, request));
    assert_eq!(&got, b"hello");
}

#[test]
fn what_completes_is_listed_with_how_it_ended() {
    let (mut server, mut client) = (open("job"), open("job"));
    server.list_completed();
    let server_there = client.peer(&server.full_address()).expect("it is of the same job");
    let (mut short, mut long) = ([0; 2], [0; 5]);
    let requests =
        [receive(&mut server, &mut short, Source::Any), receive(&mut server, &mut long, Source::Any)];
    (0..2).for_each(|_| assert_eq!(send(&mut client, b"hello", server_there), None));
    let mut ended = Vec::new();
    for _ in 0..1_000_000 {
        server.progress();
        while let Some(request) = server.next_completed() {
            let (status, error) = server.end(request).expect("it is complete");
            ended.push((request, status.message, status.len, error.is_some()));
        }
        if ended.len() == 2 {
            break;
        }
    }
    let message = Some((RankId(1), TAG));
    assert_eq!(ended, [(requests[0], message, 2, true), (requests[1], message, 5, false)]);
    assert_eq!((server.end(requests[0]), server.next_completed()), (None, None), "it has ended");
    assert_eq!(&long, b"hello");
}

#[test]
fn what_is_sent_now_is_copied_or_not_sent() {
    let (mut server, mut client) = (open("job"), open("job"));
    let server_there = client.peer(&server.full_address()).expect("it is of the same job");
    let envelope = SendEnvelope::new(server_there, TAG);
    let mut bytes = vec![7; 100];
    assert_eq!(client.send_now(&bytes, WORLD.caller(), envelope), Ok(true));
    assert_eq!(client.send_now(&[0; 1 << 20], WORLD.caller(), envelope), Ok(false));
    bytes.fill(0);
    let mut got = [0; 100];
    let wanted = receive(&mut server, &mut got, Source::Any);
    finish((&mut server, wanted), (&mut client, None));
    assert_eq!(got, [7; 100]);
}

#[test]
fn what_was_sent_before_the_end_arrives() {
    let (mut server, mut client) = (open("job"), open("job"));
    let server_there = client.peer(&server.full_address()).expect("it is of the same job");
    // More than a ring holds: the rest goes while the endpoint closes.
    const COUNT: usize = 400;
    (0..COUNT).for_each(|_| assert_eq!(send(&mut client, &[7; 1000], server_there), None));
    let closing = std::thread::spawn(move || client.close(std::time::Duration::from_secs(10)));
    for _ in 0..COUNT {
        let mut got = [0; 1000];
        let wanted = receive(&mut server, &mut got, Source::Any);
        server.wait(wanted, WORLD.caller(), |_| ()).expect("it comes");
        assert_eq!(got, [7; 1000]);
    }
    closing.join().expect("it ends");
}
