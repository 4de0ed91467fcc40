//! Ranks as processes, each of which runs this test program again. The parent tells them by lines the addresses of their
//! peers, and when all are done; they answer with lines that begin with `@`, since the test harness prints others.

use super::{NOW, assert_conforms, modes, plans, play};
use carrousel_transport::conformance::{Event, Plan, Player, RankMemory, RecordLine, parse_record_line};
use carrousel_transport::{
    Arrival, Atomic, AtomicOp, Context, Direction, Handle, Handler, Head, Header, Memory, Outbound, Payload,
    Protocol, RankId, Read, Regions, Transport,
};
use carrousel_transport_shm::{Address, Node, Out, Settings};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// The variable with a child's task: its rank, the plan's position, and the mode.
const TASK: &str = "TRANSPORT_SHM_PLAN";
/// The task of a child that finishes, and ends.
const FINISH: &str = "finish";
/// The settings of that child and its peer: rings that are soon full.
const FULL: Settings = Settings { capacity: 64, direct: false };

/// Not a test of its own: the part that the children of the other tests run.
#[test]
fn child() {
    let Ok(task) = env::var(TASK) else { return };
    if task == FINISH {
        return finish();
    }
    if let Some(task) = task.strip_prefix(super::hostile::GARBAGE) {
        return super::hostile::garbage(task);
    }
    if task == super::wrong_addresses::WAIT {
        return super::wrong_addresses::wait();
    }
    if let Some(address) = task.strip_prefix(super::wrong_addresses::SEND) {
        return super::wrong_addresses::send(address);
    }
    if let Some(task) = task.strip_prefix(super::refused_syscalls::ALONE) {
        return super::refused_syscalls::alone(task);
    }
    let numbers: Vec<usize> = task.split(' ').map(|word| word.parse().expect("a number")).collect();
    let settings = modes()[numbers[2]];
    if let Some(case) = numbers.get(3) {
        super::refused_syscalls::refuse(*case);
    }
    let plans = plans(settings);
    rank(&plans[numbers[1]], numbers[0] as u32, settings);
}

pub(super) fn say(line: String) {
    let mut out = std::io::stdout();
    writeln!(out, "\n@{line}").and_then(|()| out.flush()).expect("the parent is there");
}

fn finish() {
    let node = Node::new(RankId(1), &[RankId(0), RankId(1)], FULL).expect("there is memory");
    node.shares_processor();
    say(node.address().to_string());
    std::io::stdin().read_line(&mut String::new()).expect("the parent is there");
    node.finish();
}

fn rank(plan: &Plan, me: u32, settings: Settings) {
    let ranks: Vec<RankId> = (0..plan.ranks()).map(RankId).collect();
    let own_memory = RankMemory::new(plan, me);
    let mut node = Node::new(RankId(me), &ranks, settings).expect("there is memory");
    let Memory { address, key } = own_memory.memory();
    say(format!("{} {address} {key}", node.address()));
    let mut memories = Vec::new();
    let mut lines = BufReader::new(std::io::stdin()).lines();
    for peer in &ranks {
        let line = lines.next().expect("a line for each rank").expect("the parent is there");
        let mut words = line.split(' ');
        let mut word = || words.next().expect("three words");
        let name: Address = word().parse().expect("an address");
        let (address, key) = (word().parse().expect("a number"), word().parse().expect("a number"));
        memories.push(Memory { address, key });
        if peer.0 != me {
            node.out().connect(*peer, &name).expect("it is there");
        }
    }
    say("ready".to_owned());
    let begin = lines.next().expect("a line").expect("the parent is there");
    assert_eq!(begin, "begin");
    let ended = Arc::new(AtomicBool::new(false));
    let listener = Arc::clone(&ended);
    std::thread::spawn(move || {
        // A parent that is gone ends the rank, too.
        let _ = lines.next();
        listener.store(true, SeqCst);
    });
    let mut player = Player::new(plan, me, own_memory, &memories);
    let mut told = false;
    play(&mut player, &mut node, |is_done| {
        if is_done && !told {
            told = true;
            say("done".to_owned());
        }
        ended.load(SeqCst)
    });
    let events = player.finish();
    say(RecordLine(Some(&events)).to_string());
    node.finish();
}

/// A child, killed at the latest when the test is over.
pub(super) struct ChildRank {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl ChildRank {
    pub(super) fn start(task: &str) -> Self {
        let mut command = Command::new(env::current_exe().expect("it has a path"));
        command.args(["--exact", "processes::child", "--nocapture"]);
        command.env(TASK, task).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it can be started");
        let stdin = child.stdin.take().expect("it is a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Self { child, stdin, stdout }
    }

    pub(super) fn hear(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.stdout.read_line(&mut line).expect("it can be read") > 0, "a rank has ended early");
            if let Some(said) = line.trim_end().strip_prefix('@') {
                return said.to_owned();
            }
        }
    }

    /// Waits until the child has ended by itself.
    pub(super) fn end(&mut self) {
        assert!(self.child.wait().expect("it is a child").success());
    }

    /// Kills the child, and leaves a zombie.
    pub(super) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
    }

    pub(super) fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("it listens");
    }
}

impl Drop for ChildRank {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Plays the plan at a position, each rank in a process; `killed` is a rank that is killed, and how long after the
/// beginning.
fn run(plan: &Plan, at: usize, mode: usize, killed: Option<(usize, Duration)>) -> Vec<Option<Vec<Event>>> {
    run_as(plan, &format!("{at} {mode}"), killed)
}

/// As [`run`]: `task` is the position, the mode, and perhaps the case of system calls that are refused.
pub(super) fn run_as(plan: &Plan, task: &str, killed: Option<(usize, Duration)>) -> Vec<Option<Vec<Event>>> {
    let mut peers: Vec<ChildRank> =
        (0..plan.steps.len()).map(|rank| ChildRank::start(&format!("{rank} {task}"))).collect();
    let names: Vec<String> = peers.iter_mut().map(ChildRank::hear).collect();
    peers.iter_mut().for_each(|peer| names.iter().for_each(|name| peer.tell(name)));
    peers.iter_mut().for_each(|peer| assert_eq!(peer.hear(), "ready"));
    peers.iter_mut().for_each(|peer| peer.tell("begin"));
    if let Some((victim, after)) = killed {
        std::thread::sleep(after);
        peers[victim].child.kill().expect("it can be killed");
        peers[victim].child.wait().expect("it is a child");
    }
    let is_killed = |rank: usize| killed.is_some_and(|(victim, _)| victim == rank);
    for (rank, peer) in peers.iter_mut().enumerate().filter(|(rank, _)| !is_killed(*rank)) {
        assert_eq!(peer.hear(), "done", "rank {rank}");
    }
    let mut records = Vec::new();
    for (rank, peer) in peers.iter_mut().enumerate() {
        if is_killed(rank) {
            records.push(None);
        } else {
            peer.tell("end");
            records.push(parse_record_line(&peer.hear()).expect("it is a record"));
        }
    }
    records
}

#[test]
fn plans_between_processes() {
    for (mode, settings) in modes().into_iter().enumerate() {
        let plans = plans(settings);
        for (at, plan) in plans[..plans.len() - 1].iter().enumerate().filter(|(at, _)| (at + mode) % 2 == 0) {
            assert_conforms(plan, settings, &run(plan, at, mode, None));
        }
    }
}

#[test]
fn a_rank_that_is_killed_is_lost_once_and_others_notice_nothing() {
    let mut in_the_middle = 0;
    for (mode, settings) in modes().into_iter().enumerate() {
        let plans = plans(settings);
        let (at, plan) = (plans.len() - 1, plans.last().expect("there are plans"));
        for after in [0, 3, 10, 40] {
            let ranks = run(plan, at, mode, Some((1, Duration::from_millis(after))));
            assert_conforms(plan, settings, &ranks);
            let survivor = ranks[0].as_ref().expect("it lives");
            let of_victim = |event: &&Event| matches!(event, Event::Packet { from: 1, .. });
            let lost = survivor.iter().position(|event| *event == Event::Lost(1));
            let posted_before = survivor[..lost.expect("it was reported")]
                .iter()
                .filter(|event| matches!(event, Event::Posted(_)));
            let packets = survivor.iter().filter(of_victim).count();
            in_the_middle += usize::from(packets > 0 && posted_before.count() < plan.steps[0].len());
        }
    }
    assert!(in_the_middle > 0, "a rank was killed in the middle at least once");
}

/// A handler that notes all arrivals; all memory that it names is empty or these bytes.
#[derive(Default)]
struct ArrivalLog(Vec<Arrival>, [u8; 8]);

impl Regions for ArrivalLog {
    fn bytes(&self, _: Memory, len: u64) -> Option<&[u8]> {
        self.1.get(..len as usize)
    }

    fn bytes_mut(&mut self, _: Memory, len: u64) -> Option<&mut [u8]> {
        self.1.get_mut(..len as usize)
    }
}

impl Handler<Out> for ArrivalLog {
    type Regions = Self;

    fn regions(&mut self) -> &mut Self {
        self
    }

    fn arrival(&mut self, arrival: Arrival, _: &(impl Payload + ?Sized), _: &mut Out) {
        self.0.push(arrival);
    }
}

/// A node that is connected to a peer which has finished and ended.
fn beside_one_that_has_finished() -> (Node, ArrivalLog) {
    beside_one_that_finishes(|out, address| out.connect(RankId(1), address).expect("it is there"))
}

/// A node that meets a peer so, which then finishes and ends.
fn beside_one_that_finishes(meet: impl FnOnce(&mut Out, &Address)) -> (Node, ArrivalLog) {
    let mut peer = ChildRank::start(FINISH);
    let address = peer.hear().parse().expect("an address");
    let mut node = Node::new(RankId(0), &[RankId(0), RankId(1)], FULL).expect("there is memory");
    meet(node.out(), &address);
    peer.tell("end");
    assert!(peer.child.wait().expect("it is a child").success());
    (node, ArrivalLog::default())
}

fn settle(node: &mut Node, recorder: &mut ArrivalLog) {
    for _ in 0..4 {
        node.check();
        node.poll(NOW, recorder);
    }
}

#[test]
fn packets_to_a_peer_that_has_finished_are_dropped() {
    let (mut node, mut recorder) = beside_one_that_has_finished();
    // Before its end is noticed, and afterwards: more than the ring takes.
    for _ in 0..2 {
        for _ in 0..100 {
            let header = Header::new(Protocol::Messages, Direction::ToSender, 2, Context::MESSAGES);
            let done = Head::new(header, [&[0; 8], &[]]);
            node.out().send(RankId(1), &done, &[]);
        }
        settle(&mut node, &mut recorder);
        assert!(!node.out().is_waiting());
    }
    assert_eq!(recorder.0, [], "that it has ended is no loss");
}

#[test]
fn a_watched_peer_that_has_finished_is_not_lost() {
    let watch = |out: &mut Out, address: &Address| out.watch(RankId(1), address).expect("it is there");
    let (mut node, mut recorder) = beside_one_that_finishes(watch);
    settle(&mut node, &mut recorder);
    assert_eq!(recorder.0, []);
    assert!(
        node.out().is_watched(RankId(1)),
        "otherwise it would be watched again, and then counted as lost"
    );
}

#[test]
fn a_peer_that_has_finished_and_owes_something_is_lost() {
    let memory = Memory { address: 0, key: 0 };
    let request = Handle { index: 5, generation: 0 };
    for late in [false, true] {
        let (mut node, mut recorder) = beside_one_that_has_finished();
        if late {
            settle(&mut node, &mut recorder);
            assert_eq!(recorder.0, []);
        }
        let read = Read { of: RankId(1), from: memory, into: memory, len: 8, request, notice: None };
        node.out().read(&read, &mut recorder);
        settle(&mut node, &mut recorder);
        assert_eq!(recorder.0, [Arrival::Lost(RankId(1)), Arrival::Read(request)]);
        let atomic =
            Atomic { to: RankId(1), target: memory, op: AtomicOp::FetchAdd(1), request, fenced: false };
        let (mut node, mut recorder) = beside_one_that_has_finished();
        node.out().atomic(&atomic).expect("it has atomics");
        settle(&mut node, &mut recorder);
        assert_eq!(recorder.0, [Arrival::Lost(RankId(1)), Arrival::Fetched(request, 0)]);
    }
}

/// The processors on which this thread may run, in order.
fn processors() -> Vec<CpuSet> {
    let all = sched_getaffinity(None).expect("the system says it");
    let alone = |processor| {
        let mut only = CpuSet::new();
        only.set(processor);
        only
    };
    (0..CpuSet::MAX_CPU).filter(|processor| all.is_set(*processor)).map(alone).collect()
}

#[test]
fn a_rank_sees_that_a_peer_waits_for_its_processor() {
    // A child begins on the processors of this thread, and has said where it is when it tells its address.
    let processors = processors();
    sched_setaffinity(None, &processors[0]).expect("it may be bound");
    let mut node = Node::new(RankId(0), &[RankId(0), RankId(1)], FULL).expect("there is memory");
    assert!(!node.shares_processor(), "nobody is connected");
    let mut peer = ChildRank::start(FINISH);
    let address = peer.hear().parse().expect("an address");
    node.out().connect(RankId(1), &address).expect("it is there");
    assert!(node.shares_processor());
    if let Some(other) = processors.get(1) {
        sched_setaffinity(None, other).expect("it may be bound");
        assert!(!node.shares_processor(), "each has one");
        sched_setaffinity(None, &processors[0]).expect("it may be bound");
    }
    peer.tell("end");
    peer.end();
    assert!(!node.shares_processor(), "it has finished");
}
