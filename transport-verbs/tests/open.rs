//! Endpoints whose peers are not known ahead, over fake adapters: they introduce themselves when they connect.
#![cfg(feature = "verbs")]
#![allow(unsafe_code, reason = "the endpoint's memory is lent by pointer")]

mod fake;

use carrousel_engine::{
    AnyNetwork, CallContext, Endpoint, Error, Introduced, OpenPeers, SendEnvelope, SendKind,
};
use carrousel_rank::{Communicator, Handle, Options, RankId, Source, Status, Tag, TagSelector};
use carrousel_transport_shm as shm;
use carrousel_transport_verbs::{Device, Settings, Verbs};
use fake::FakeAdapter;
use std::time::{Duration, Instant};

const WORLD: CallContext = CallContext { communicator: Communicator::WORLD, site: None };
const TAG: Tag = Tag(7);
const SERVER: FakeAdapter = FakeAdapter(0);
const CLIENT: FakeAdapter = FakeAdapter(1);
/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn open_by(adapter: FakeAdapter, job: &str, apart: bool) -> Endpoint {
    let mut settings = Settings::default();
    settings.choice.device = Some(adapter.name());
    settings.patience = Duration::from_millis(500);
    let network = |introduced: Introduced| {
        let Introduced { most, key, name } = introduced;
        let device = Device::open(&settings.choice).expect("there is such an adapter");
        let verbs = Verbs::open(&device, most, key, name, &settings).expect("the device takes it");
        Ok(Some(AnyNetwork::from(verbs)))
    };
    let peers = OpenPeers { job, most: 8, apart };
    Endpoint::open(peers, &Options::default(), shm::Settings::default(), network).expect("there is memory")
}

/// An endpoint that takes all others for those of other nodes.
fn open(adapter: FakeAdapter, job: &str) -> Endpoint {
    open_by(adapter, job, true)
}

fn receive(endpoint: &mut Endpoint, bytes: &mut [u8], from: Source) -> Handle {
    // SAFETY: the tests keep the bytes, and do not use them, until the request has ended.
    let request = unsafe { endpoint.receive(bytes, WORLD.caller(), from, TagSelector::new(TAG, 0)) };
    request.expect("it can begin")
}

/// Sends a message that is copied at once, or not at all.
fn send(endpoint: &mut Endpoint, bytes: &[u8], to: RankId) {
    let envelope = SendEnvelope::new(to, TAG);
    // SAFETY: as for receives.
    let request = unsafe { endpoint.send(bytes, WORLD.caller(), envelope, SendKind::Standard) };
    assert_eq!(request.expect("it can begin"), None, "it is small");
}

/// The rank at `here` of the endpoint `there`.
fn named(here: &Endpoint, there: &Endpoint) -> RankId {
    here.peer(&there.full_address()).expect("it is of the same job")
}

/// Polls all until a receive of the first one is complete.
fn finish(endpoints: &mut [&mut Endpoint], request: Handle) -> Result<Status, Error> {
    let began = Instant::now();
    loop {
        endpoints.iter_mut().for_each(|endpoint| _ = endpoint.progress());
        if let Some(ended) = endpoints[0].finish(request, |status| *status) {
            return ended.map_err(Error::from);
        }
        assert!(began.elapsed() < PATIENCE, "it does not come");
    }
}

fn source(status: &Status) -> RankId {
    status.message.expect("it has a message").0
}

#[test]
fn a_message_comes_from_who_is_not_known_yet_and_is_answered() {
    let (mut server, mut client) = (open(SERVER, "job"), open(CLIENT, "job"));
    let server_there = named(&client, &server);
    let mut got = [0; 5];
    let wanted = receive(&mut server, &mut got, Source::Any);
    send(&mut client, b"hello", server_there);
    let status = finish(&mut [&mut server, &mut client], wanted).expect("nobody has died");
    assert_eq!((source(&status), &got), (RankId(1), b"hello"));
    assert_eq!(server.address_of(RankId(1)), Some(client.full_address()));
    let wanted = receive(&mut client, &mut got, Source::Rank(server_there));
    send(&mut server, b"world", RankId(1));
    let status = finish(&mut [&mut client, &mut server], wanted).expect("nobody has died");
    assert_eq!((source(&status), &got), (server_there, b"world"));
}

#[test]
fn who_connects_to_each_other_at_once_has_one_connection() {
    let (mut one, mut other) = (open(SERVER, "job"), open(CLIENT, "job"));
    // Their ranks differ: each has met another endpoint before the other one, or has not.
    let third = open(CLIENT, "job");
    named(&one, &third);
    let (other_here, one_there) = (named(&one, &other), named(&other, &one));
    assert_eq!((other_here, one_there), (RankId(2), RankId(1)));
    let count = 100;
    for turn in 0..count {
        send(&mut one, &[turn], other_here);
        send(&mut other, &[turn], one_there);
    }
    for turn in 0..count {
        let (mut here, mut there) = ([0], [0]);
        let wanted = receive(&mut one, &mut here, Source::Rank(other_here));
        finish(&mut [&mut one, &mut other], wanted).expect("nobody has died");
        let wanted = receive(&mut other, &mut there, Source::Rank(one_there));
        finish(&mut [&mut other, &mut one], wanted).expect("nobody has died");
        assert_eq!((here, there), ([turn], [turn]), "they come in order");
    }
}

/// What a receive from a server ends with at a client for which its address is `address`.
fn unanswered(mut client: Endpoint, server: &mut Endpoint, address: &str) -> String {
    let there = client.peer(address).expect("it looks like one of the job");
    let mut got = [0];
    let wanted = receive(&mut client, &mut got, Source::Rank(there));
    send(&mut client, &[1], there);
    finish(&mut [&mut client, server], wanted).expect_err("nobody answers").to_string()
}

#[test]
fn strangers_are_not_heard() {
    let mut server = open(SERVER, "job");
    let address = server.full_address();
    // Of another job, which pretends that the address is of its own.
    let error = unanswered(open(CLIENT, "another"), &mut server, &address.replace("job ", "another "));
    assert!(error.ends_with("it does not answer"), "{error}");
    // Was told of an endpoint whose queue had the same number, and the same lower half of the key.
    let (rest, key) = address.rsplit_once(':').expect("it ends with the key");
    let key = u64::from_str_radix(key, 16).expect("it is a number") ^ 1 << 40;
    let error = unanswered(open(CLIENT, "job"), &mut server, &format!("{rest}:{key:x}"));
    assert!(error.ends_with("it does not answer"), "{error}");
    assert_eq!(named(&server, &open(CLIENT, "job")), RankId(1), "the strangers have no rank");
}

#[test]
fn a_name_that_is_too_long_is_told() {
    let job = "j".repeat(100);
    let mut server = open(SERVER, &job);
    let address = server.full_address();
    let error = unanswered(open(CLIENT, &job), &mut server, &address);
    assert!(error.contains("does not fit a datagram"), "{error}");
}

#[test]
fn a_peer_of_the_node_is_reached_by_shared_memory() {
    // Its own adapter: others use theirs at the same time.
    let adapter = FakeAdapter(2);
    let (mut server, mut client) = (open_by(adapter, "job", false), open_by(adapter, "job", false));
    let server_there = named(&client, &server);
    let mut got = [0; 5];
    let wanted = receive(&mut server, &mut got, Source::Any);
    send(&mut client, b"hello", server_there);
    finish(&mut [&mut server, &mut client], wanted).expect("nobody has died");
    assert_eq!((&got, adapter.doorbells()), (b"hello", 0));
}

#[test]
fn an_endpoint_that_closes_is_not_lost() {
    let (mut server, mut client) = (open(SERVER, "job"), open(CLIENT, "job"));
    let server_there = named(&client, &server);
    let mut got = [0; 5];
    let wanted = receive(&mut server, &mut got, Source::Any);
    send(&mut client, b"hello", server_there);
    let closing = std::thread::spawn(move || client.close(PATIENCE));
    finish(&mut [&mut server], wanted).expect("what was sent before comes");
    closing.join().expect("it ends");
    // Longer than between two looks at whether peers are there.
    let until = Instant::now() + Duration::from_secs(2);
    let wanted = receive(&mut server, &mut got, Source::Any);
    while Instant::now() < until {
        server.progress();
    }
    assert!(server.finish(wanted, |_| ()).is_none(), "it waits for others");
}
