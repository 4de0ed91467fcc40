//! Two processes, one of which runs this test program again.
#![cfg(not(loom))]

use carrousel_transport_shm::{Consumer, Layout, Producer, PushError, Ring, Segment};
use std::env;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// The variable with a child's task: its peer number, the number of messages, and the segment's process and descriptor.
const TASK: &str = "TRANSPORT_SHM_TASK";
/// Longer than any of these tests takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const SIGKILL: i32 = 9;

/// A sequence that both processes can make.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// The checksum of a message's number and its bytes: so a lost, repeated or swapped message is noticed as well.
fn checksum(number: u64, bytes: &[u8]) -> u32 {
    let begin = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ bytes.len() as u64;
    let sum = bytes.iter().fold(begin, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    (sum >> 32) as u32
}

/// Pushes messages. Ends when the parent is gone, so that a failed test leaves no process behind.
fn produce(mut producer: Producer<Ring>, messages: u64) {
    let parent = parent_id();
    let mut random = Random(0x5eed);
    let mut bytes = vec![0; producer.largest()];
    for number in 0..messages {
        // Mostly small, some as large as can be.
        let bound = if random.next().is_multiple_of(16) { bytes.len() } else { 128 };
        let len = random.next() as usize % (bound + 1);
        for chunk in bytes[..len].chunks_mut(8) {
            chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
        }
        let (first, second) = bytes[..len].split_at(random.next() as usize % (len + 1));
        let tag = checksum(number, &bytes[..len]);
        while let Err(error) = producer.push(tag, &[first, second]) {
            assert_eq!(error, PushError::Full);
            assert_eq!(parent_id(), parent, "the consumer is gone");
            std::thread::yield_now();
        }
    }
}

/// Not a test of its own: the part that the children of the other tests run.
#[test]
fn child() {
    let Ok(task) = env::var(TASK) else { return };
    let mut words = task.split(' ');
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
    let (peer, messages) = (number().expect("a peer"), number().expect("a number of messages"));
    let (pid, fd) = (number().expect("a process"), number().expect("a descriptor") as i32);
    let segment = if pid == 0 {
        // SAFETY: the parent has let this process inherit the descriptor, and nothing here closes it.
        Segment::open(unsafe { BorrowedFd::borrow_raw(fd) })
    } else {
        Segment::open_of(pid as u32, fd)
    };
    let ring = segment.expect("it is a segment").ring(peer as usize).expect("it is a peer");
    produce(Producer::new(ring).expect("it fits"), messages);
}

/// A child, killed at the latest when the test is over.
struct ProducerProcess(Child);

impl ProducerProcess {
    fn start(segment: &Segment, peer: usize, messages: u64, inherit: bool) -> Self {
        let fd = segment.as_fd();
        let pid = if inherit { 0 } else { std::process::id() };
        if inherit {
            rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty()).expect("it can be inherited");
        }
        let mut command = Command::new(env::current_exe().expect("it has a path"));
        command.args(["--exact", "child", "--quiet"]);
        command.env(TASK, format!("{peer} {messages} {pid} {}", fd.as_raw_fd()));
        Self(command.spawn().expect("it can be started"))
    }

    fn kill(&mut self) -> ExitStatus {
        self.0.kill().expect("it can be killed");
        self.0.wait().expect("it is a child")
    }
}

impl Drop for ProducerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Takes messages until there are `until`, or no more when the `peer` is gone; checks each.
fn consume(
    consumer: &mut Consumer<Ring>,
    mut number: u64,
    until: u64,
    peer: Option<&mut ProducerProcess>,
) -> u64 {
    let (began, mut message, mut peer) = (Instant::now(), Vec::new(), peer);
    let mut gone = peer.is_none();
    while number < until {
        match consumer.pop(&mut message).expect("the producer keeps to the rules") {
            Some(tag) => {
                assert_eq!(tag, checksum(number, &message), "message {number} of {} bytes", message.len());
                number += 1;
            }
            // Messages that were pushed before the end are seen after it: poll once more.
            None if gone => break,
            None => {
                assert!(began.elapsed() < PATIENCE, "stuck at message {number}");
                let ended = peer.as_mut().map(|peer| peer.0.try_wait().expect("it is a child"));
                gone = ended.flatten().is_some();
                std::thread::yield_now();
            }
        }
    }
    number
}

fn segment() -> (Segment, Consumer<Ring>) {
    let segment = Segment::create(Layout::new(2, 256).expect("it is right")).expect("it can be created");
    let consumer = Consumer::new(segment.ring(1).expect("it is a peer")).expect("it fits");
    (segment, consumer)
}

#[test]
fn a_million_messages_arrive_whole_and_in_order() {
    let (segment, mut consumer) = segment();
    let messages = 1_000_000;
    let mut peer = ProducerProcess::start(&segment, 1, messages, true);
    assert_eq!(consume(&mut consumer, 0, u64::MAX, Some(&mut peer)), messages);
    assert!(peer.0.wait().expect("it is a child").success());
}

#[test]
fn a_segment_can_be_opened_by_the_number_of_its_process() {
    let (segment, mut consumer) = segment();
    let mut peer = ProducerProcess::start(&segment, 1, 1000, false);
    assert_eq!(consume(&mut consumer, 0, u64::MAX, Some(&mut peer)), 1000);
    assert!(peer.0.wait().expect("it is a child").success());
}

#[test]
fn a_producer_that_is_killed_leaves_a_valid_prefix() {
    let mut random = Random(7);
    let mut left = 0;
    for _ in 0..20 {
        let (segment, mut consumer) = segment();
        let mut peer = ProducerProcess::start(&segment, 1, u64::MAX, true);
        let enough = random.next() % 20_000;
        let before = consume(&mut consumer, 0, enough, Some(&mut peer));
        assert_eq!(before, enough, "the producer does not end by itself");
        assert_eq!(peer.kill().signal(), Some(SIGKILL));
        // Whatever it was doing: the rest is whole too, and then the ring is empty.
        let after = consume(&mut consumer, before, u64::MAX, None);
        assert_eq!(consumer.pop(&mut Vec::new()), Ok(None));
        left += after - before;
    }
    assert!(left > 0, "something was left in the ring at least once");
}
