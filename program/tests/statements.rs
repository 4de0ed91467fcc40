//! Every statement of the language that has a meaning, and the calls that it leads to.

use carrousel_program::epoch::{AccumulateOp, Blocks, Flags, Staging};
use carrousel_program::{
    Access, AccumulateKeys, Action, Aspects, Buffer, BufferId, Call, Kind, Memory, OwnAccess, Part, Program,
    ProgramError, RankId, Received, RequestId, Source, WindowId, WindowLayout, aspects, check_no_windows,
    mpi, programs, windows,
};
use carrousel_rank::{Collective, Communicator, Pattern, Receive, Send};
use carrousel_scenario::verb::{Holds, Verb};
use carrousel_scenario::{Scenario, load};
use std::collections::BTreeSet;
use std::sync::Arc;

const WORLD: Communicator = Communicator::WORLD;
const OUTGOING: Buffer = Buffer::Own(Part::Outgoing);
const INCOMING: Buffer = Buffer::Own(Part::Incoming);
const NAMED: Buffer = Buffer::Named(BufferId(0));

fn scenario(statements: &str) -> Scenario {
    let text = format!("ranks 4\nrank 0\n{statements}\n");
    load("test.scn", text.as_bytes()).unwrap_or_else(|error| panic!("{statements}: {}", error.render(false)))
}

fn program(statements: &str) -> Arc<Program> {
    Arc::clone(&programs(&scenario(statements)).expect("all has a meaning")[0])
}

/// Where a test has a buffer.
fn memory(buffer: Buffer) -> Memory {
    match buffer {
        Buffer::Named(name) => Memory { address: name.0.into(), key: 0 },
        Buffer::Own(part) => Memory { address: 0, key: 1 + part as u32 },
    }
}

fn send(to: u32, tag: u32, len: u64, synchronous: bool, buffer: Buffer) -> Call {
    let (to, tag, memory) = (RankId(to), mpi::tag(tag), memory(buffer));
    Call::Send(Send { to, tag, communicator: WORLD, len, memory, synchronous, data: None })
}

fn receive(from: Option<u32>, tag: Option<u32>, len: u64, buffer: Buffer) -> Call {
    let from = from.map_or(Source::Any, |rank| Source::Rank(RankId(rank)));
    let tag = mpi::selector(tag);
    Call::Receive(Receive { from, tag, communicator: WORLD, len, memory: memory(buffer) })
}

fn collective(kind: Kind, root: u32, len: u64) -> Call {
    let [source, target, scratch] =
        [Part::Outgoing, Part::Incoming, Part::Scratch].map(|part| memory(Buffer::Own(part)));
    Call::Collective(Collective { kind, communicator: WORLD, root, element: 1, len, source, target, scratch })
}

/// The calls that an action makes, and whether its statement waits for them.
fn calls(action: &Action<'_>) -> (Vec<Call>, bool) {
    let calls = action.operations().map(|operation| operation.call(memory)).collect();
    (calls, !action.starts_request())
}

/// Statements with the calls that they make, and whether they wait for them.
fn table() -> [(&'static str, Vec<Call>, bool); 20] {
    use Kind::{AllGather, AllReduce, AllToAll, Barrier, Broadcast, Gather, Reduce};
    [
        ("send to 1 tag 7 size 8", vec![send(1, 7, 8, false, OUTGOING)], true),
        ("isend to 1 tag 7 size 8", vec![send(1, 7, 8, false, OUTGOING)], false),
        ("ssend to 1 tag 7 size 8", vec![send(1, 7, 8, true, OUTGOING)], true),
        ("issend to 1 tag 7 size 8", vec![send(1, 7, 8, true, OUTGOING)], false),
        ("isend to 1 tag 7 size 8 buf b", vec![send(1, 7, 8, false, NAMED)], false),
        ("isend to 1 tag 7 size 0 buf b", vec![send(1, 7, 0, false, OUTGOING)], false),
        ("recv from 1 tag 7 size 8", vec![receive(Some(1), Some(7), 8, INCOMING)], true),
        ("recv from any tag 7 size 8", vec![receive(None, Some(7), 8, INCOMING)], true),
        ("irecv from 1 tag any size 8", vec![receive(Some(1), None, 8, INCOMING)], false),
        ("irecv from any tag any size 8 buf b", vec![receive(None, None, 8, NAMED)], false),
        ("recv from any tag any size 0 buf b", vec![receive(None, None, 0, INCOMING)], true),
        (
            "sendrecv to 1 tag 7 size 8 from 2 tag any size 9",
            vec![send(1, 7, 8, false, OUTGOING), receive(Some(2), None, 9, INCOMING)],
            true,
        ),
        ("barrier", vec![collective(Barrier, 0, 0)], true),
        ("ibarrier", vec![collective(Barrier, 0, 0)], false),
        ("bcast root 2 size 8", vec![collective(Broadcast, 2, 8)], true),
        ("reduce root 3 size 8", vec![collective(Reduce, 3, 8)], true),
        ("allreduce size 8", vec![collective(AllReduce, 0, 8)], true),
        ("gather root 1 size 8", vec![collective(Gather, 1, 8)], true),
        ("allgather size 8", vec![collective(AllGather, 0, 8)], true),
        ("alltoall size 8", vec![collective(AllToAll, 0, 8)], true),
    ]
}

#[test]
fn each_statement_makes_its_calls() {
    for (statement, expected, waits) in table() {
        let program = program(statement);
        let action = program.statement(0).action(|_| None).expect("it asks for no message");
        assert_eq!(action, program.statement(0).outline(), "{statement}");
        assert_eq!(calls(&action), (expected, waits), "{statement}");
        assert_eq!(program.requests() as usize, action.operations().count(), "{statement}");
    }
}

#[test]
fn statements_that_make_no_calls_compute_touch_or_look() {
    let outline = |statement: &str| match program(statement).statement(0).outline() {
        Action::Compute { ns } => format!("compute {ns}"),
        Action::Touch { buffer, write } => format!("touch {} {write}", buffer.0),
        Action::Probe(pattern) => format!("{pattern:?}"),
        other => format!("{other:?}"),
    };
    assert_eq!(outline("compute 3us"), "compute 3000");
    assert_eq!(outline("read buf b"), "touch 0 false");
    assert_eq!(outline("write buf b"), "touch 0 true");
    let (context, tag) = (WORLD.messages(), mpi::selector(Some(5)));
    let exact = Pattern { source: Source::Rank(RankId(2)), tag, context };
    assert_eq!(outline("probe from 2 tag 5"), format!("{exact:?}"));
    let any = Pattern { source: Source::Any, tag: mpi::ANY_TAG, context };
    assert_eq!(outline("probe from any tag any"), format!("{any:?}"));
}

/// What statements wait for, or test: `None` for those that do neither.
fn awaited(statements: &str) -> Vec<Option<Vec<u32>>> {
    let program = program(statements);
    let of = |action| match action {
        Action::Wait(requests) => Some(requests.to_vec()),
        Action::Test(request) => Some(request.into_iter().collect()),
        _ => None,
    };
    program.statements().map(|statement| of(statement.outline())).collect()
}

#[test]
fn a_wait_is_for_what_its_names_stand_for_and_is_open() {
    let table: [(&str, &[Option<&[u32]>]); 10] = [
        ("a = ibarrier\nwait a\nwait a", &[None, Some(&[0]), Some(&[])]),
        ("a = ibarrier\nb = ibarrier\nwait b a", &[None, None, Some(&[0, 1])]),
        ("a = ibarrier\nwait all\nwait a", &[None, Some(&[0]), Some(&[])]),
        ("a = ibarrier\nibarrier\nwait all\nwait all", &[None, None, Some(&[0, 1]), Some(&[])]),
        // What a name stood for before is open, without a name.
        ("a = ibarrier\na = ibarrier\nwait a\nwait all", &[None, None, Some(&[1]), Some(&[0])]),
        // A test may succeed or not: its request stays.
        ("a = ibarrier\ntest a\nwait all\ntest a", &[None, Some(&[0]), Some(&[0]), Some(&[0])]),
        // Both requests of a sendrecv are over with it.
        ("sendrecv to 1 tag 0 size 8 from 1 tag 0 size 8\na = ibarrier\nwait a", &[None, None, Some(&[2])]),
        // The name of a blocking receive stands for a message, and for no request.
        ("r = recv from 1 tag 0 size 8\ntest r\nwait r", &[None, Some(&[]), Some(&[])]),
        ("r = ibarrier\nr = probe from any tag any\ntest r\nwait all", &[None, None, Some(&[]), Some(&[0])]),
        ("repeat 2\na = ibarrier\nwait a\nend", &[None, Some(&[0]), None, Some(&[1])]),
    ];
    for (statements, expected) in table {
        let expected: Vec<_> = expected.iter().map(|list| list.map(<[u32]>::to_vec)).collect();
        assert_eq!(awaited(statements), expected, "{statements}");
    }
}

#[test]
fn a_list_that_is_longer_than_what_is_open_means_the_same() {
    let bind: String = (0..9).map(|name| format!("r{name} = ibarrier\n")).collect();
    let names: String = (0..9).rev().map(|name| format!(" r{name}")).collect();
    let expected = [Some((0..9).collect()), None, None, Some(vec![10])];
    let statements = format!("{bind}wait{names}\nother = ibarrier\nr4 = ibarrier\nwait{names}");
    assert_eq!(awaited(&statements)[9..], expected);
}

#[test]
fn a_name_stands_for_the_message_of_the_receive_that_it_was_bound_to_last() {
    let names = |statements: &str| {
        let program = program(&format!("{statements}\ncompute source(r)*1us"));
        (0..program.requests()).map(|request| program.name_of_message(request)).collect::<Vec<_>>()
    };
    let r = Some(RequestId(0));
    assert_eq!(names("r = recv from any tag any size 8"), [r]);
    assert_eq!(names("r = sendrecv to 1 tag 0 size 8 from any tag 0 size 8"), [None, r]);
    assert_eq!(names("r = irecv from any tag any size 8\nwait all"), [r]);
    let sent = "r = isend to 1 tag 0 size 8\nwait r\nr = recv from any tag any size 8";
    assert_eq!(names(sent), [None, r]);
    // Nobody can ask for the message of the first one.
    let twice = "r = irecv from any tag any size 8\nr = irecv from any tag any size 8\nwait all";
    assert_eq!(names(twice), [None, r]);
    let waited = "r = irecv from any tag any size 8\nwait r\nr = recv from any tag any size 8";
    assert_eq!(names(waited), [r, r]);
    assert_eq!(names("r = irecv from any tag any size 8\nr = probe from any tag any"), [None]);
    assert_eq!(program("r = recv from any tag any size 8").name_of_message(0), None);
}

#[test]
fn a_deferred_statement_does_what_it_would_do_with_the_values_of_the_message() {
    let known = |_: RequestId| Some(Received { source: 2, tag: 9 });
    let table = [
        ("send to source(r) tag tag(r) size tag(r)", "send to 2 tag 9 size 9"),
        ("issend to source(r) tag 1 size 8 buf b", "issend to 2 tag 1 size 8 buf b"),
        ("isend to 1 tag 0 size tag(r)-9 buf b", "isend to 1 tag 0 size 0 buf b"),
        ("recv from source(r) tag tag(r) size tag(r)", "recv from 2 tag 9 size 9"),
        ("irecv from any tag tag(r) size 8 buf b", "irecv from any tag 9 size 8 buf b"),
        ("probe from source(r) tag any", "probe from 2 tag any"),
        ("compute tag(r)*1us", "compute 9us"),
        (
            "sendrecv to source(r) tag 1 size 3 from source(r) tag tag(r) size 4",
            "sendrecv to 2 tag 1 size 3 from 2 tag 9 size 4",
        ),
    ];
    for (deferred, plain) in table {
        let deferred_program = program(&format!("r = probe from any tag any\n{deferred}"));
        let statement = deferred_program.statement(1);
        let plain_program = program(plain);
        let expected = plain_program.statement(0).outline();
        assert_eq!(statement.action(known), Ok(expected), "{deferred}");
        let later = statement.deferred().expect("it asks for a message");
        assert_eq!(later.resolve(known), Ok(expected), "{deferred}");
        assert_eq!(later.reads().collect::<Vec<_>>(), [RequestId(0)], "{deferred}");
        let outline = statement.outline();
        assert_eq!(outline.operations().count(), expected.operations().count(), "{deferred}");
        assert_eq!(outline.starts_request(), expected.starts_request(), "{deferred}");
        assert!(plain_program.statement(0).deferred().is_none());
    }
    let program = program("r = probe from any tag any\nsend to source(r)+3 tag 0 size 1");
    let error = program.statement(1).action(known).expect_err("there is no rank 5");
    assert!(error.to_string().contains("rank 5 does not exist"), "{error}");
}

#[test]
fn of_a_deferred_statement_some_values_are_known_before() {
    let of = |statement: &str| {
        let program = program(&format!("r = probe from any tag any\n{statement}"));
        let later = program.statement(1).deferred().expect("it asks for a message");
        let send = later.sending().map(|send| (send.to.map(|to| to.0), send.len, send.synchronous));
        let receive = later.receiving().map(|receive| (receive.from, receive.len));
        (send, receive)
    };
    let (any, two) = (Some(Source::Any), Some(Source::Rank(RankId(2))));
    assert_eq!(of("send to source(r) tag 0 size 8"), (Some((None, Some(8), false)), None));
    assert_eq!(of("issend to 2 tag 0 size tag(r)"), (Some((Some(2), None, true)), None));
    assert_eq!(of("recv from source(r) tag 0 size 8"), (None, Some((None, Some(8)))));
    assert_eq!(of("recv from any tag tag(r) size 8"), (None, Some((any, Some(8)))));
    assert_eq!(of("recv from 2 tag any size tag(r)"), (None, Some((two, None))));
    assert_eq!(of("probe from 2 tag tag(r)"), (None, Some((two, None))));
    assert_eq!(of("compute tag(r)*1us"), (None, None));
    let both = "sendrecv to source(r) tag 0 size 3 from any tag 0 size tag(r)";
    assert_eq!(of(both), (Some((None, Some(3), false)), Some((any, None))));
    let both = "sendrecv to 1 tag 0 size tag(r) from source(r) tag 0 size 4";
    assert_eq!(of(both), (Some((Some(1), None, false)), Some((None, Some(4)))));
}

#[test]
fn bytes_leave_and_come_by_rank() {
    let bytes = |statement: &str, me| {
        let program = program(statement);
        let lens = program.statement(0).outline().operations().map(|it| it.outgoing_and_incoming_len(me, 4));
        lens.map(|lens| lens.expect("they can be counted")).collect::<Vec<_>>()
    };
    type Lens = &'static [(u64, u64)];
    let table: [(&str, Lens, Lens); 9] = [
        ("send to 1 tag 0 size 8", &[(8, 0)], &[(8, 0)]),
        ("recv from 1 tag 0 size 8", &[(0, 8)], &[(0, 8)]),
        ("sendrecv to 1 tag 0 size 3 from 1 tag 0 size 4", &[(3, 0), (0, 4)], &[(3, 0), (0, 4)]),
        ("bcast root 1 size 8", &[(0, 8)], &[(8, 0)]),
        ("reduce root 1 size 8", &[(8, 0)], &[(8, 8)]),
        ("allreduce size 8", &[(8, 8)], &[(8, 8)]),
        ("gather root 1 size 8", &[(8, 0)], &[(8, 32)]),
        ("allgather size 8", &[(8, 32)], &[(8, 32)]),
        ("alltoall size 8", &[(32, 32)], &[(32, 32)]),
    ];
    for (statement, at_another, at_root) in table {
        assert_eq!(bytes(statement, 0), at_another, "{statement}");
        assert_eq!(bytes(statement, 1), at_root, "{statement}");
    }
}

#[test]
fn what_no_driver_can_carry_out_is_refused_with_its_line() {
    let error = |statements: &str| programs(&scenario(statements)).expect_err("it cannot be carried out");
    let huge = error("compute 1us\nallgather size 8000000000GiB");
    let ProgramError::TooManyBytes { line: 4, statement: "allgather", rank: 0, ranks: 4, misfit } = huge
    else {
        panic!("{huge:?}")
    };
    assert!(misfit.to_string().ends_with("for each of 4 members are too many"), "{misfit}");
    let text = "ranks 2\nwindow w 64\nrank 0\n  fence w\n";
    let scenario = load("test.scn", text.as_bytes()).expect("it is right");
    let error = check_no_windows(&scenario).expect_err("it has a window");
    assert_eq!(error, ProgramError::Window { line: 4, statement: "fence" });
    assert_eq!(error.line(), 4);
}

#[test]
fn every_statement_without_a_window_is_in_the_tables() {
    let calls = table().map(|(statement, ..)| statement.split(' ').next());
    let others = ["compute", "read", "write", "probe", "wait", "test"];
    let known: BTreeSet<&str> = calls.into_iter().flatten().chain(others).collect();
    let has_window = |verb: &Verb| verb.slots().iter().any(|slot| slot.holds == Holds::Window);
    let without = Verb::ALL.iter().filter(|verb| !has_window(verb)).map(|verb| verb.name());
    assert_eq!(known, without.collect());
}

/// The action of a statement of rank 1 on a window, in words.
fn on_window(statement: &str) -> String {
    let text = format!("ranks 4\nwindow v 8\nwindow w 64\nrank 1\n  {statement}\n");
    let scenario =
        load("test.scn", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let programs = programs(&scenario).expect("all has a meaning");
    match programs[1].statement(0).outline() {
        Action::Access(access) => {
            assert_eq!(access.window, WindowId(1));
            let Access {
                kind, target, place: Blocks { offset, len, count, stride }, combine, buffer, ..
            } = access;
            assert_eq!(
                programs[1].statement(0).requests().len(),
                usize::from(access.with_request),
                "{statement}"
            );
            let blocks = if count == 1 { String::new() } else { format!(" {count}x{stride}") };
            let combine = if combine == AccumulateOp::Sum { String::new() } else { format!(" {combine:?}") };
            let request = if access.with_request { " with request" } else { "" };
            let writes = access.writes_buffer();
            format!("{kind:?} {target:?} {offset} {len}{blocks} {buffer:?} {writes}{combine}{request}")
        }
        Action::TouchWindow(OwnAccess { window: WindowId(1), offset, len, write }) => {
            format!("own {offset} {len} {write}")
        }
        Action::Synchronize(call) => {
            assert_eq!(call.window, WindowId(1));
            let requests = programs[1].statement(0).requests().len();
            assert_eq!(requests, 1, "{statement}");
            format!("{:?} {} {}", call.call, call.blocking, call.is_born_complete())
        }
        other => panic!("{statement}: {other:?}"),
    }
}

#[test]
fn every_statement_on_a_window_has_its_call() {
    let accesses = [
        ("put w to 2 size 8 at 16 buf b", "Put RankId(2) 16 8 Named(BufferId(0)) false"),
        ("put w to 2 size 0 buf b", "Put RankId(2) 0 0 Own(Outgoing) false"),
        ("get w from me size 4", "Get RankId(1) 0 4 Own(Incoming) true"),
        ("acc w to 0 size 16 at 8", "Accumulate RankId(0) 8 16 Own(Outgoing) false"),
        ("fetch_op w at 3 at 8", "FetchAndOp RankId(3) 8 8 Own(Incoming) true"),
        ("cas w at 3", "CompareAndSwap RankId(3) 0 8 Own(Incoming) true"),
        ("put w to 2 size 8 count 3 stride 16", "Put RankId(2) 0 8 3x16 Own(Outgoing) false"),
        ("get_acc w to 0 size 8 op max", "GetAccumulate RankId(0) 0 8 Own(Incoming) true Max"),
        ("fetch_op w at 3 at 8 op xor", "FetchAndOp RankId(3) 8 8 Own(Incoming) true Xor"),
        ("r = get w from me size 4", "Get RankId(1) 0 4 Own(Incoming) true with request"),
        ("load w at 8 size 4", "own 8 4 false"),
        ("store w at 0 size 64", "own 0 64 true"),
    ];
    for (statement, expected) in accesses {
        assert_eq!(on_window(statement), expected, "{statement}");
    }
    let flush = |target: &str, is_local| {
        format!("FlushWithRequest(Flush {{ target: {target}, is_local: {is_local} }})")
    };
    let (one, all) = ("Some(RankId(2))", "None");
    let synchronizations = [
        ("fence w", "Fence".to_owned(), false),
        ("start w to [2 0]", "Start([RankId(0), RankId(2)])".to_owned(), true),
        ("complete w", "Complete".to_owned(), false),
        ("post w from [me+1]", "Post([RankId(2)])".to_owned(), true),
        ("wait_epoch w", "Wait".to_owned(), false),
        ("lock w at 2 exclusive", "Lock { target: RankId(2), mode: Exclusive }".to_owned(), true),
        ("lock w at 1 shared", "Lock { target: RankId(1), mode: Shared }".to_owned(), true),
        ("unlock w at 2", "Unlock(RankId(2))".to_owned(), false),
        ("lock_all w", "LockAll".to_owned(), true),
        ("unlock_all w", "UnlockAll".to_owned(), false),
        ("flush w at 2", flush(one, false), false),
        ("flush_local w at 2", flush(one, true), false),
        ("flush_all w", flush(all, false), false),
        ("flush_local_all w", flush(all, true), false),
    ];
    for (statement, call, opens) in &synchronizations {
        assert_eq!(on_window(statement), format!("{call} true {opens}"));
        assert_eq!(on_window(&format!("i{statement}")), format!("{call} false {opens}"));
    }
    let verb = |statement: &str| {
        let unbound = statement.trim_start_matches("r = ");
        unbound.split(' ').next().unwrap_or_default().to_owned()
    };
    let named = accesses.iter().map(|(statement, _)| verb(statement));
    let called = synchronizations.iter().map(|(statement, ..)| verb(statement));
    let known: BTreeSet<String> = named.chain(called.flat_map(|verb| [format!("i{verb}"), verb])).collect();
    let has_window = |verb: &&Verb| verb.slots().iter().any(|slot| slot.holds == Holds::Window);
    let with: BTreeSet<String> =
        Verb::ALL.iter().filter(has_window).map(|verb| verb.name().to_owned()).collect();
    assert_eq!(known, with);
}

#[test]
fn what_opens_an_epoch_leaves_no_request_to_wait_for() {
    let text = "ranks 2\nwindow w 8\nrank 0\n  a = ilock w at 1 shared\n  b = iunlock w at 1\n  wait a\n  wait all\n";
    let programs =
        programs(&load("test.scn", text.as_bytes()).expect("it is right")).expect("all has a meaning");
    let waits = [2, 3].map(|at| programs[0].statement(at).outline());
    assert_eq!(waits, [Action::Wait(&[]), Action::Wait(&[1])]);
}

#[test]
fn a_window_has_the_flags_that_are_set() {
    let text = "ranks 2\nwindow v 8\nwindow w 64\noption w.access_after_exposure on\noption w.exposure_after_access off\n";
    let scenario = load("test.scn", text.as_bytes()).expect("it is right");
    let flags = Flags { access_after_exposure: true, ..Flags::default() };
    let staging = Staging::default();
    let expected = {
        let layout =
            |len, flags| WindowLayout { len, flags, staging, accumulates: AccumulateKeys::default() };
        [layout(8, Flags::default()), layout(64, flags)]
    };
    assert_eq!(windows(&scenario), expected);
}

#[test]
fn ranks_that_share_their_text_share_their_program() {
    let text = "ranks 3\nrank 0..1\n  barrier\nrank 2\n  barrier\n  compute 1us\n";
    let programs =
        programs(&load("test.scn", text.as_bytes()).expect("it is right")).expect("all has a meaning");
    assert!(Arc::ptr_eq(&programs[0], &programs[1]));
    assert_eq!([programs[0].len(), programs[2].len()], [1, 2]);
    assert!(programs[1].statements().all(|it| it.keyword() == "barrier" && it.line() == 3));
}

#[test]
fn the_aspects_of_a_file_are_those_of_its_statements() {
    let of = |statements: &str| aspects(&scenario(statements));
    assert_eq!(of("compute 1us"), Aspects::default());
    let receives = Aspects { waits: true, receives: true, uses_buffer: true, ..Aspects::default() };
    assert_eq!(of("recv from 1 tag 0 size 8"), receives);
    let asks = of("r = recv from 1 tag 0 size 8\nisend to source(r) tag 0 size 8");
    let expected = Aspects {
        sends: true,
        asks_for_messages: true,
        leaves_request: true,
        may_leave_message: true,
        ..receives
    };
    assert_eq!(asks, expected);
}
