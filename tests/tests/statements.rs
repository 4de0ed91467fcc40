//! The drivers of the language carry out one meaning: the same statement leads to the same calls of the library in the
//! checker and between real processes, and they are those of `carrousel-program`. The simulator makes no calls but
//! those that `Operation::call` gives it.

use carrousel_program::{Call, Memory, Program, Received, programs};
use carrousel_rank::{Collective, Communicator, Receive, Send};
use carrousel_scenario::{Scenario, load};
use carrousel_tests::{carrousel, printed};
use carrousel_trace::{Record, Trace};
use carrousel_verify::program::Act;
use carrousel_verify::scenario::job;
use std::path::Path;

/// The line of a statement, and a call that it makes.
type Line = (u32, Call);

/// Every statement that makes a call, in its forms; each rank takes part in a different way.
const STATEMENTS: &str = "ranks 3
rank 0
  send to 1 tag 1 size 8
  ssend to 1 tag 2 size 9 buf b
  a = isend to 1 tag 3 size 10000 buf b
  b = issend to 1 tag 4 size 0 buf b
  wait a b
rank 1
  recv from 0 tag 1 size 8
  recv from any tag 2 size 9 buf c
  a = irecv from 0 tag any size 10000 buf c
  irecv from any tag any size 0 buf c
  test a
  wait all
rank 2
  compute 1us
  write buf d
  read buf d
rank *
  sendrecv to (me+1)%3 tag 5 size 64 from (me+2)%3 tag 5 size 65
  isend to (me+1)%3 tag 6 size 7
  probe from any tag any
  recv from any tag any size 7
  wait all
  barrier
  e = ibarrier
  wait e
  bcast root 1 size 40
  reduce root 2 size 48
  allreduce size 56
  gather root 0 size 24
  allgather size 32
  alltoall size 16
";

/// Statements whose values come from a message: of rank 1, with tag 3.
const ASKING: &str = "ranks 2
rank 0
  r = recv from any tag any size 8
  send to source(r) tag tag(r)+1 size tag(r)*8
  a = irecv from source(r) tag tag(r) size tag(r) buf b
  sendrecv to source(r) tag 7 size tag(r) from source(r) tag tag(r)+5 size 16
  wait a
rank 1
  send to 0 tag 3 size 8
  recv from 0 tag 4 size 24
  send to 0 tag 3 size 3
  sendrecv to 0 tag 8 size 16 from 0 tag 7 size 3
";

/// Rows and columns, and a communicator of two ranks in another order.
const COMMUNICATORS: &str = "ranks 4
comm row = split color me/2
comm column = split color me%2
comm pair = split color -(me/2) key -me
rank *
  allreduce size 8 on row
  a = isend to 1-me(column) tag 3 size 8 on column
  recv from any tag 3 size 8 on column
  wait a
  bcast root 1 size 64KiB on row
  barrier
rank 0
  send to 0 tag 3 size 20000 on pair
rank 1
  recv from 1 tag any size 20000 on pair
";

/// A call, without the place of its memory: each driver has its own. Nor with the 8 bytes that the checker lets some
/// messages have beside their own.
fn placeless(call: Call) -> Call {
    let memory = Memory { address: 0, key: 0 };
    match call {
        Call::Send(send) => Call::Send(Send { memory, data: None, ..send }),
        Call::Receive(receive) => Call::Receive(Receive { memory, ..receive }),
        Call::Collective(call) => {
            Call::Collective(Collective { source: memory, target: memory, scratch: memory, ..call })
        }
        other => other,
    }
}

fn meant(program: &Program, message: Option<Received>) -> Vec<Line> {
    let nowhere = |_| Memory { address: 0, key: 0 };
    let lines = program.statements().flat_map(|statement| {
        let action = statement.action(|_| message).expect("its values are in their ranges");
        action.operations().map(move |operation| (statement.line(), operation.call(nowhere)))
    });
    lines.map(|(line, call)| (line, placeless(call))).collect()
}

/// The calls of a rank in the checker.
fn explored(scenario: &Scenario, rank: usize) -> Vec<Line> {
    let job = job(scenario, false).expect("it can be explored");
    let program = &job.ranks[rank];
    let starts = program.steps.iter().filter_map(|step| match step.act {
        Act::Start(ordinal) => Some((step.line, placeless(program.starts[usize::from(ordinal)].call()))),
        _ => None,
    });
    starts.collect()
}

/// The calls of all ranks of a real job, in these communicators.
fn recorded(file: &Path, directory: &Path, communicators: &[Communicator]) -> Vec<Vec<Line>> {
    // With it, ranks tell each other what they call before each collective.
    let mut command = carrousel();
    command.env("CARROUSEL_CHECK_USAGE", "off");
    let output = command.arg("run").arg("--trace").arg(directory).arg(file).output();
    let output = output.expect("the command can be started");
    assert!(output.status.success(), "{}", printed(&output));
    let trace = Trace::open(directory).expect("it has recorded a trace");
    let parts = trace.parts.into_iter().map(|part| {
        let (mut part, mut calls) = (part.expect("every rank has recorded"), Vec::new());
        while let Some(record) = part.next_record().expect("the trace is sound") {
            // What is behind the program has no line; what it sends in a communicator of its own is not the program's.
            if let Record::Call { call, line: Some(line), .. } = record
                && communicator(&call).is_some_and(|it| communicators.contains(&it))
                && line > 0
            {
                calls.push((line, placeless(call)));
            }
        }
        // The clocks start with a barrier.
        let first = calls.remove(0);
        assert!(matches!(first.1, Call::Collective(Collective { len: 0, .. })), "{first:?}");
        calls
    });
    parts.collect()
}

fn communicator(call: &Call) -> Option<Communicator> {
    match call {
        Call::Send(send) => Some(send.communicator),
        Call::Receive(receive) => Some(receive.communicator),
        Call::Collective(call) => Some(call.communicator),
        Call::ReceiveClaimed(_) | Call::Discard(_) | Call::Cancel(_) => None,
    }
}

/// The programs of a scenario, and the calls of its ranks in a real run.
fn run(text: &str, communicators: &[Communicator]) -> (Scenario, Vec<Vec<Line>>) {
    let place = tempfile::tempdir().expect("it can be made");
    let file = place.path().join("statements.scn");
    std::fs::write(&file, text).expect("it is ours");
    let scenario =
        load("statements.scn", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let recorded = recorded(&file, &place.path().join("trace"), communicators);
    (scenario, recorded)
}

#[test]
fn statements_make_the_same_calls_in_the_checker_and_between_processes() {
    let (scenario, recorded) = run(STATEMENTS, &[Communicator::WORLD]);
    let programs = programs(&scenario).expect("it can be carried out");
    for (rank, program) in programs.iter().enumerate() {
        let meant = meant(program, None);
        assert!(meant.len() > 8, "rank {rank} makes only {} calls", meant.len());
        assert_eq!(explored(&scenario, rank), meant, "rank {rank} in the checker");
        assert_eq!(recorded[rank], meant, "rank {rank} between processes");
    }
}

#[test]
fn statements_that_ask_for_a_message_make_the_same_calls_between_processes() {
    let (scenario, recorded) = run(ASKING, &[Communicator::WORLD]);
    let programs = programs(&scenario).expect("it can be carried out");
    let message = Received { source: 1, tag: 3 };
    assert_eq!(recorded[0], meant(&programs[0], Some(message)));
    assert_eq!(recorded[1], meant(&programs[1], None));
}

#[test]
fn communicators_have_the_same_numbers_and_members_everywhere() {
    let numbers: Vec<Communicator> = (0..4).filter_map(Communicator::new).collect();
    let (scenario, recorded) = run(COMMUNICATORS, &numbers);
    let programs = programs(&scenario).expect("it can be carried out");
    let splits: Vec<u32> = scenario.communicators.iter().map(|it| it.line).collect();
    // The library agrees on a number by more collectives than its ranks tell color and key by.
    let later =
        |calls: Vec<Line>| calls.into_iter().filter(|(line, _)| !splits.contains(line)).collect::<Vec<_>>();
    for (rank, program) in programs.iter().enumerate() {
        let meant = later(meant(program, None));
        assert!(meant.len() >= 5, "rank {rank} makes only {} calls", meant.len());
        assert_eq!(later(explored(&scenario, rank)), meant, "rank {rank} in the checker");
        assert_eq!(later(recorded[rank].clone()), meant, "rank {rank} between processes");
    }
}
