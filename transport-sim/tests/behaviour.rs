//! What the simulator promises, whatever the parameters.

use carrousel_transport_sim::{
    Config, Limits, Network, Progress, Protocol, Report, SimError, Stuck, simulate, timeline,
};

fn config() -> Config {
    Config::new(Network::named("qdr").expect("it comes with the simulator"))
}

fn run(text: &str, config: &Config) -> Result<Report, SimError> {
    match carrousel_scenario::load("test.scn", text.as_bytes()) {
        Ok(scenario) => simulate(&scenario, config),
        Err(error) => panic!("{}", error.render(false)),
    }
}

fn ok(text: &str, config: &Config) -> Report {
    run(text, config).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const BUSY: &str = "ranks 5\nnodes [0 1] [2 3] [4]\nrank *\n repeat 10\n irecv from any tag any size 100KiB\n \
                    isend to (me+1)%size tag 7 size 90KiB\n compute 30us\n wait all\n barrier\n \
                    sendrecv to (me+2)%size tag 1 size 2KiB from (me+3)%size tag 1 size 2KiB\n end\n";

#[test]
fn a_run_is_a_function_of_scenario_configuration_and_seed() {
    for (_, protocol) in Protocol::ALL {
        for progress in [Progress::None, Progress::Thread] {
            let plain = Config { protocol, progress, ..config() };
            let jitter = Config { jitter_per_mille: 100, seed: 1, ..plain.clone() };
            assert_eq!(ok(BUSY, &plain), ok(BUSY, &plain));
            assert_eq!(ok(BUSY, &jitter), ok(BUSY, &jitter));
            // Without jitter the seed is of no influence, with jitter it is.
            assert_eq!(ok(BUSY, &plain), ok(BUSY, &Config { seed: 1, ..plain.clone() }));
            assert_ne!(ok(BUSY, &plain).makespan_us, ok(BUSY, &jitter).makespan_us);
            assert_ne!(ok(BUSY, &jitter), ok(BUSY, &Config { seed: 2, ..jitter.clone() }));
        }
    }
}

#[test]
fn the_report_is_the_object_of_the_language() {
    let text = "scenario \"late post\"\nranks 2\nrank 0\n go: s = isend to 1 tag 0 size 8\n wait s\n\
                rank 1\n compute 10us\n recv from 0 tag 0 size 8\n";
    let json = serde_json::to_string(&ok(text, &config())).expect("a report has no odd keys");
    assert_eq!(
        json,
        "{\"scenario\":\"late post\",\"network\":\"qdr\",\"makespan_us\":10.202,\"statements\":[\
         {\"rank\":0,\"line\":4,\"label\":\"go\",\"op\":\"isend\",\"begin_us\":0.0,\"end_us\":0.151,\"complete_us\":0.151},\
         {\"rank\":0,\"line\":5,\"label\":null,\"op\":\"wait\",\"begin_us\":0.151,\"end_us\":0.201,\"complete_us\":0.201},\
         {\"rank\":1,\"line\":7,\"label\":null,\"op\":\"compute\",\"begin_us\":0.0,\"end_us\":10.0,\"complete_us\":10.0},\
         {\"rank\":1,\"line\":8,\"label\":null,\"op\":\"recv\",\"begin_us\":10.0,\"end_us\":10.202,\"complete_us\":10.202}]}"
    );
}

#[test]
fn a_deadlock_names_every_stuck_rank() {
    let text = "ranks 3\nrank 0\n r = irecv from 1 tag 0 size 8\n wait r\n\
                rank 1\n recv from 0 tag 0 size 8\nrank 2\n compute 5us\n";
    let Err(SimError::Deadlock { stuck, .. }) = run(text, &config()) else { panic!("it cannot finish") };
    let zero = Stuck { rank: 0, file: None, line: 4, statement: "wait r".to_owned(), waits_for: vec![3] };
    assert_eq!(stuck[0], zero);
    assert_eq!((stuck[1].rank, stuck[1].line, stuck[1].waits_for.len()), (1, 6, 0));
    assert_eq!(stuck.len(), 2);
    let message = run(text, &config()).unwrap_err().to_string();
    assert!(message.contains("rank 0, line 4: `wait r` never returns; it waits for line 3"), "{message}");
}

#[test]
fn a_message_that_does_not_fit_is_an_error_of_its_line() {
    for (_, protocol) in Protocol::ALL {
        for size in [100, 100_000] {
            let text = format!(
                "ranks 2\nrank 0\n send to 1 tag 0 size {size}\nrank 1\n compute 9us\n recv from 0 tag 0 size 64\n"
            );
            let error = run(&text, &Config { protocol, ..config() }).unwrap_err();
            assert_eq!(error, SimError::Truncated { rank: 1, line: 6, sent: size, room: 64 });
        }
    }
}

const COLLECTIVES: [&str; 7] = [
    "barrier",
    "bcast root 1 size",
    "reduce root 1 size",
    "allreduce size",
    "gather root 1 size",
    "allgather size",
    "alltoall size",
];

#[test]
fn collectives_come_to_an_end_under_every_protocol() {
    for (_, protocol) in Protocol::ALL {
        for ranks in 1..=8 {
            for statement in COLLECTIVES {
                for size in ["0", "8", "5KiB", "64KiB"] {
                    let size = if statement == "barrier" { "" } else { size };
                    let root = if ranks == 1 { statement.replace('1', "0") } else { statement.to_owned() };
                    // One rank is late: whoever needs it waits.
                    let text = format!("ranks {ranks}\nrank 0\n compute 50us\nrank *\n {root} {size}\n");
                    let report = ok(&text, &Config { protocol, ..config() });
                    let ends = || report.statements.iter().filter(|done| done.op != "compute");
                    assert_eq!(ends().count(), ranks);
                    let all_wait = ["barrier", "allreduce", "allgather", "alltoall"];
                    let waits = all_wait.iter().any(|name| statement.starts_with(name)) && size != "0";
                    assert!(!waits || ends().all(|done| done.end_us >= 50.0), "{text}");
                }
            }
        }
    }
}

/// What is moved in all, a second time as long, is seen in the time that it takes.
#[test]
fn longer_collectives_take_longer() {
    for statement in &COLLECTIVES[1..] {
        let makespan =
            |size: &str| ok(&format!("ranks 6\nrank *\n {statement} {size}\n"), &config()).makespan_us;
        let (short, long, longer) = (makespan("8"), makespan("1MiB"), makespan("2MiB"));
        assert!(short * 10.0 < long && long * 1.5 < longer, "{statement}: {short}, {long}, {longer}");
    }
}

#[test]
fn a_collective_that_a_rank_forgets_is_a_deadlock() {
    let text = "ranks 3\nrank 0..1\n allreduce size 1MiB\n";
    let Err(SimError::Deadlock { stuck, .. }) = run(text, &config()) else { panic!("nobody waits") };
    assert_eq!(stuck.len(), 2);
    assert_eq!(stuck[0].statement, "allreduce size 1MiB");
}

#[test]
fn a_collective_of_too_many_bytes_is_refused() {
    let text = "ranks 3\nrank *\n allgather size 9223372036854775807\n";
    assert!(matches!(run(text, &config()), Err(SimError::Refused { rank: 0, line: 3, .. })));
}

#[test]
fn a_rank_answers_whom_it_has_found() {
    // Whatever order the requests come in, each worker gets its own answer.
    for ask in [
        "r = recv from any tag any size 8",
        "r = irecv from any tag any size 8\n compute 1us\n test r\n wait r",
        "r = irecv from any tag any size 8\n wait all",
        "r = probe from any tag any\n recv from source(r) tag tag(r) size tag(r)",
        "p = probe from any tag any\n r = sendrecv to source(p) tag 99 size 0 from source(p) tag any size 64\n \
         recv from source(r) tag 99 size 0",
    ] {
        let extra =
            if ask.contains("99") { " recv from 0 tag 99 size 0\n send to 0 tag 99 size 0\n" } else { "" };
        let text = format!(
            "ranks 5\nrank 0\n repeat 8\n {ask}\n compute tag(r)*1us\n send to source(r) tag tag(r)+source(r) size \
             100KiB\n end\nrank 1..4\n repeat 2\n compute (5-me)*7us\n send to 0 tag 10*me size 8\n{extra} recv from 0 \
             tag 11*me size 100KiB\n end\n"
        );
        for (_, protocol) in Protocol::ALL {
            for seed in 0..4 {
                ok(&text, &Config { protocol, seed, jitter_per_mille: 900, ..config() });
            }
        }
    }
}

#[test]
fn a_name_stands_for_what_it_was_bound_to_last() {
    let text = "ranks 2\nrank 0\n r = irecv from 1 tag 1 size 8\n r = irecv from 1 tag 2 size 8\n wait all\n \
                send to 1 tag tag(r) size 8\n r = probe from 1 tag 3\n wait r\n recv from 1 tag tag(r) size 8\n\
                rank 1\n send to 0 tag 2 size 8\n send to 0 tag 1 size 8\n recv from 0 tag 2 size 8\n \
                send to 0 tag 3 size 8\n";
    ok(text, &config());
}

#[test]
fn a_value_that_leaves_its_range_is_an_error_of_its_line() {
    let text = "ranks 2\nrank 0\n r = recv from any tag any size 8\n send to source(r)+1 tag 1 size 8\n\
                rank 1\n send to 0 tag 0 size 8\n";
    let error = run(text, &config()).unwrap_err();
    assert!(matches!(error, SimError::OutOfRange { rank: 0, line: 4, .. }));
    assert_eq!(
        error.to_string(),
        "rank 0, line 4: rank 2 does not exist, expected 0 to 1, for `source(r)+1`, where `source(r)` is 1"
    );
}

#[test]
fn what_is_not_simulated_is_refused() {
    for progress in [Progress::Interrupt, Progress::Parasite, Progress::Helper] {
        let error = run("ranks 1\n", &Config { progress, ..config() }).unwrap_err();
        assert_eq!(error, SimError::UnsupportedProgress(progress));
        assert!(error.to_string().contains(progress.name()));
    }
    let limit = run("ranks 1\noption rtr_limit 100000\n", &config()).unwrap_err();
    assert_eq!(limit.to_string(), "line 2: `rtr_limit` is 100000, expected 0 to 65535");
    assert!("thrad".parse::<Progress>().is_err());
}

#[test]
fn limits_end_a_run() {
    let limits = |events_max, time_ns_max| Config { limits: Limits { events_max, time_ns_max }, ..config() };
    assert_eq!(run(BUSY, &limits(50, u64::MAX)).unwrap_err(), SimError::TooManyEvents(50));
    let long = "ranks 1\nrank 0\n repeat 3\n compute 8000000000s\n end\n";
    assert_eq!(run(long, &limits(1000, 1 << 60)).unwrap_err(), SimError::TooLate(1 << 60));
}

/// A thread makes progress while the application computes, and takes its time from it.
#[test]
fn a_receiver_that_computes_does_not_hold_its_sender() {
    let text = "ranks 2\nrank 0\n end: send to 1 tag 0 size 256KiB\nrank 1\n compute 20us\n \
                r = irecv from 0 tag 0 size 256KiB\n compute 5ms\n wait r\n";
    let sent = |protocol| {
        let report = ok(text, &Config { protocol, ..config() });
        let read = report.timeline.transfers(0).next().expect("a read");
        let sent = report.labelled(0, "end").next().expect("the label is there").end_us;
        assert!(sent * 1000.0 > read.end_ns as f64, "{sent}: not before the data is there");
        sent
    };
    let (mirror, classical) = (sent(Protocol::Mirror), sent(Protocol::Rget));
    assert!(mirror < 200.0, "{mirror}: the card says that the data is read");
    assert!(classical > 5000.0, "{classical}: without a fence, the receiver has to");
}

#[test]
fn a_progress_thread_answers_during_computation() {
    let text = "ranks 2\nrank 0\n r = irecv from 1 tag 0 size 1MiB\n busy: compute 1ms\n wait r\n\
                rank 1\n compute 10us\n send to 0 tag 0 size 1MiB\n";
    for protocol in [Protocol::Rget, Protocol::Rput] {
        let none = ok(text, &Config { protocol, ..config() });
        let thread = ok(text, &Config { protocol, progress: Progress::Thread, ..config() });
        assert!(none.makespan_us > 1340.0);
        assert!(thread.makespan_us < 1020.0, "{}", thread.makespan_us);
        let busy = |report: &Report| report.labelled(0, "busy").map(|s| s.end_us - s.begin_us).sum::<f64>();
        assert!(busy(&none) == 1000.0 && busy(&thread) > 1000.0);
    }
}

#[test]
fn ranks_of_a_node_do_not_use_the_network() {
    let text = |nodes| {
        format!(
            "ranks 4\nnodes {nodes}\nrank 0..1\n send to me+2 tag 0 size 1MiB\n\
             rank 2..3\n recv from me-2 tag 0 size 1MiB\n"
        )
    };
    let time = |nodes| ok(&text(nodes), &config()).makespan_us;
    let (apart, shared_card, local) = (time("[0] [1] [2] [3]"), time("[0 1] [2 3]"), time("[0 2] [1 3]"));
    assert!(shared_card > 1.9 * apart, "two transfers share the card: {shared_card} against {apart}");
    assert!((local - 384.0).abs() < 8.0, "1 MiB through the copy engine: {local}");
}

#[test]
fn all_calls_of_the_language_come_to_their_end() {
    let text = "ranks 2\nrank 0\n a = issend to 1 tag 3 size 10 buf x\n test a\n ssend to 1 tag 4 size 100KiB\n \
                wait a\n write buf x\n b = ibarrier\n wait b\n barrier\n isend to me tag 9 size 50KiB\n \
                recv from me tag any size 50KiB\n isend to me tag 9 size 5\n recv from any tag 9 size 5\n wait all\n\
                rank 1\n probe from 0 tag 3\n probe from any tag any\n recv from 0 tag any size 10\n \
                recv from any tag 4 size 100KiB buf y\n read buf y\n c = ibarrier\n wait c\n \
                barrier\n";
    for (_, protocol) in Protocol::ALL {
        let report = ok(text, &Config { protocol, ..config() });
        assert_eq!(report.statements.len(), 21);
        assert!(report.statements.iter().all(|s| s.complete_us.is_some() && s.end_us >= s.begin_us));
        assert!(report.timeline.lanes.iter().flatten().all(|i| i.start_ns < i.end_ns));
    }
}

/// What a run keeps does not change what it counts.
#[test]
fn of_what_is_not_asked_for_there_are_totals_and_the_longest_waits() {
    let origin = |round: u32| {
        let (before, within) = (100 * round, 217 * round);
        format!(
            "  compute {before}us\n  start w to [1, 2]\n  put w to 1 size 64KiB\n  compute {within}us\n  complete w\n"
        )
    };
    let rounds: String = (1..=5).map(origin).collect();
    let target = "  repeat 5\n    post w from [0]\n    wait_epoch w\n  end\n";
    let text = &format!("ranks 3\nwindow w 1MiB\nrank 0\n{rounds}rank 1..2\n{target}");
    let all = ok(text, &config());
    assert_eq!(all.late_count, all.late.len() as u64);
    assert!(all.late_count > 4, "{:?}", all.late);
    let executed: u64 = all.lines.iter().map(|line| line.times).sum();
    assert_eq!(executed, all.statements.len() as u64);
    let few = ok(text, &Config { statements_max: executed - 1, late_max: 3, ..config() });
    assert_eq!(few.statements, []);
    assert_eq!((few.makespan_us, &few.lines, few.late_count), (all.makespan_us, &all.lines, all.late_count));
    let mut longest: Vec<_> = all.late.iter().collect();
    longest.sort_by(|one, other| other.length_us().total_cmp(&one.length_us()));
    assert!(longest[2].length_us() > longest[3].length_us(), "the test says which are to be kept");
    assert!(longest[..3].iter().all(|late| few.late.contains(late)), "{:?}", few.late);
    assert_eq!(few.late.len(), 3);
    let enough = Config { statements_max: executed, ..config() };
    assert_eq!(ok(text, &enough), all);
}

#[test]
fn a_drawing_is_well_formed_and_names_its_labels() {
    let text = "scenario \"<&>\"\nranks 2\nrank 0\n first: send to 1 tag 0 size 1MiB\nrank 1\n recv from 0 tag 0 size 1MiB\n";
    let report = ok(text, &config());
    let svg = timeline::svg(&report);
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("first") && svg.contains("&lt;&amp;&gt;") && svg.contains("RTS"));
    assert!(timeline::html(&report).contains(&svg));
}
