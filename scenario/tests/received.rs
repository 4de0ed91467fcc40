//! `source(NAME)` and `tag(NAME)`: where they may stand, and what they come to.

use std::sync::Arc;

use carrousel_scenario::{
    Op, Program, Received, RequestId, Scenario, Source, TagSelector, format, load, parse,
};

fn loaded(text: &str) -> Scenario {
    load("f", text.as_bytes()).unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)))
}

fn of_rank_0(program: &str) -> Arc<Program> {
    Arc::clone(&loaded(&format!("ranks 3\nrank 0\n{program}")).programs[0])
}

/// The statement with this number of a program, when every name holds this message.
fn resolved(program: &Program, at: usize, source: u32, tag: u32) -> Result<Op, String> {
    let Op::Deferred(deferred) = &program.steps[at].op else { panic!("{:?}", program.steps[at]) };
    deferred.resolve(|_| Some(Received { source, tag })).map_err(|error| error.to_string())
}

fn wrong(program: &str) -> String {
    let text = format!("ranks 3\nrank 0\n{program}");
    match load("f", text.as_bytes()) {
        Ok(_) => panic!("it is right:\n{text}"),
        Err(error) => error.to_string(),
    }
}

const RECEIVE: &str = "r = recv from any tag any size 8\n";

#[test]
fn a_statement_has_its_values_when_its_rank_gets_there() {
    let program = of_rank_0(&format!(
        "{RECEIVE}send to source(r) tag tag(r)+1 size 4*tag(r)\n\
         irecv from (source(r)+1)%size tag -(0-tag(r)) size 8\n\
         sendrecv to source(r) tag 1 size 2 from source(r) tag tag(r) size (tag(r))KiB\n"
    ));
    let send = resolved(&program, 1, 2, 5);
    assert!(matches!(send, Ok(Op::Send { to: 2, tag: 6, size: 20, blocking: true, .. })), "{send:?}");
    let receive = resolved(&program, 2, 2, 5);
    let (from, tag) = (Source::Rank(0), TagSelector::Tag(5));
    assert_eq!(receive, Ok(Op::Recv { from, tag, size: 8, buf: None, blocking: false }));
    let both = Op::SendRecv {
        to: 2,
        send_tag: 1,
        send_size: 2,
        from: Source::Rank(2),
        recv_tag: TagSelector::Tag(5),
        recv_size: 5 << 10,
    };
    assert_eq!(resolved(&program, 3, 2, 5), Ok(both));
}

#[test]
fn probes_and_computations_have_values_too() {
    let program = of_rank_0(
        "p = probe from any tag any\nprobe from source(p) tag tag(p)\ncompute tag(p)*5us\n\
         recv from source(p) tag any size 8\n",
    );
    let (from, tag) = (Source::Rank(1), TagSelector::Tag(3));
    assert_eq!(resolved(&program, 1, 1, 3), Ok(Op::Probe { from, tag }));
    assert_eq!(resolved(&program, 2, 1, 3), Ok(Op::Compute { ns: 15_000 }));
    let received = resolved(&program, 3, 1, 3);
    assert!(matches!(received, Ok(Op::Recv { from: Source::Rank(1), tag: TagSelector::Any, .. })));
}

#[test]
fn each_name_has_its_own_message() {
    let program = of_rank_0(&format!(
        "{RECEIVE}s = recv from any tag any size 8\nsend to source(r) tag tag(s) size 0\n"
    ));
    let Op::Deferred(deferred) = &program.steps[2].op else { panic!("{:?}", program.steps[2]) };
    assert_eq!(deferred.reads().collect::<Vec<_>>(), [RequestId(0), RequestId(1)]);
    let of = |id: RequestId| Some(Received { source: id.0 + 1, tag: id.0 + 7 });
    assert!(matches!(deferred.resolve(of), Ok(Op::Send { to: 1, tag: 8, .. })));
    assert!(deferred.is_deferred(0) && deferred.is_deferred(1) && !deferred.is_deferred(2));
}

#[test]
fn a_value_that_leaves_its_range_says_which() {
    let program = of_rank_0(&format!(
        "{RECEIVE}send to source(r)+1 tag 0 size 8\nsend to 1 tag -tag(r) size 8\n\
         send to 1 tag 0 size 8-tag(r)\nsend to 1/tag(r) tag 0 size 8\ncompute (tag(r)-9)*1us\n"
    ));
    let says = |at: usize, tag: u32, expected: &str| {
        assert_eq!(resolved(&program, at, 2, tag), Err(expected.to_owned()))
    };
    says(1, 0, "rank 3 does not exist, expected 0 to 2, for `source(r)+1`, where `source(r)` is 2");
    says(2, 7, "the tag -7 is out of range, expected 0 to 2147483647, for `-tag(r)`, where `tag(r)` is 7");
    says(3, 9, "a size of -1, expected 0 or more, for `8-tag(r)`, where `tag(r)` is 9");
    says(
        4,
        0,
        "the expression divides by zero, expected another divisor, for `1/tag(r)`, where `tag(r)` is 0",
    );
    says(5, 0, "a time of -9000, expected 0 or more, for `(tag(r)-9)*1us`, where `tag(r)` is 0");
}

#[test]
fn what_no_message_can_make_right_is_wrong_before() {
    assert!(wrong(&format!("{RECEIVE}send to source(r)/0 tag 0 size 8\n")).contains("divides by zero"));
    assert!(wrong(&format!("{RECEIVE}send to source(r)+(1/0) tag 0 size 8\n")).contains("divides by zero"));
    assert!(wrong(&format!("{RECEIVE}send to source(r) tag -1 size 8\n")).contains("the tag -1"));
    assert!(wrong(&format!("{RECEIVE}compute tag(r)\n")).contains("a time without a unit"));
}

#[test]
fn a_message_is_asked_for_when_it_is_there() {
    let ask = "send to source(r) tag 0 size 8\n";
    let early = "f:4:9: `r` may not be complete here, expected a `wait r` before";
    let irecv = "r = irecv from any tag any size 8\n";
    assert_eq!(wrong(&format!("{irecv}{ask}")), early);
    assert_eq!(wrong(&format!("{irecv}send to source(r) tag 0 size 8\nwait r\n")), early);
    // A test may fail.
    assert!(wrong(&format!("{irecv}test r\n{ask}")).starts_with("f:5:9: `r` may not be complete here, "));
    assert!(wrong(&format!("{irecv}wait r\n{irecv}{ask}")).starts_with("f:6:9: `r` may not be complete"));
    assert!(
        wrong(&format!("{irecv}s = {}wait s\n{ask}", &irecv[4..])).contains("`r` may not be complete here, ")
    );
    for right in [
        format!("{irecv}wait r\n{ask}"),
        format!("{irecv}test r\nwait r\n{ask}wait r\n{ask}"),
        format!("{irecv}wait all\n{ask}"),
        format!("{RECEIVE}{ask}"),
        format!("r = sendrecv to 1 tag 0 size 8 from any tag any size 8\n{ask}"),
        format!("r = probe from any tag any\n{ask}r = recv from source(r) tag tag(r) size 8\n{ask}"),
    ] {
        of_rank_0(&right);
    }
}

#[test]
fn names_without_a_message_are_wrong() {
    let ask = "send to source(e) tag 0 size 8\n";
    let expected = "f:4:9: `e` is neither a receive nor a probe, expected one: only these have a message";
    assert_eq!(wrong(&format!("e = isend to 1 tag 0 size 8\n{ask}wait e\n")), expected);
    assert_eq!(wrong(&format!("e = ibarrier\n{ask}wait e\n")), expected);
    let unknown = "unknown request `e`, expected a name that an earlier statement of the rank binds";
    assert_eq!(wrong(ask), format!("f:3:9: {unknown}"));
    assert_eq!(wrong("e = recv from source(e) tag 0 size 8\n"), format!("f:3:15: {unknown}"));
    let bound = wrong("e = send to 1 tag 0 size 8\n");
    assert!(bound.contains("`send` starts nothing that `e` could stand for"), "{bound}");
}

#[test]
fn later_rounds_of_a_repeat_are_looked_at_too() {
    let irecv = "r = irecv from any tag any size 8\n";
    let ask = "send to source(r) tag 0 size 8\n";
    let again = "`r` may not be complete here in a later round, expected a `wait r` before";
    assert_eq!(wrong(&format!("{RECEIVE}repeat 2\n{ask}{irecv}end\nwait all\n")), format!("f:5:9: {again}"));
    let nested = format!("{RECEIVE}repeat 2\nrepeat 3\n{ask}end\n{irecv}end\nwait all\n");
    assert_eq!(wrong(&nested), format!("f:6:9: {again}"));
    let other = wrong(&format!("{RECEIVE}repeat 2\n{ask}r = isend to 1 tag 0 size 8\nend\nwait all\n"));
    assert!(other.contains("neither a receive nor a probe"), "{other}");
    for right in [
        // One round only.
        format!("{RECEIVE}repeat 1\n{ask}{irecv}end\nwait all\n"),
        // The next one is on its way while this one is answered.
        format!("{irecv}repeat 3\nwait r\n{ask}{irecv}end\nwait r\n"),
        format!("{irecv}repeat 3\nwait all\nrepeat 2\n{ask}end\n{irecv}end\nwait r\n"),
        format!("{RECEIVE}repeat 3\n{ask}{irecv}wait r\nend\n"),
        format!("repeat 3\n{RECEIVE}{ask}end\n"),
        format!("{RECEIVE}repeat 0\n{ask}{irecv}end\n"),
    ] {
        of_rank_0(&right);
    }
}

#[test]
fn they_stand_only_where_the_file_does_not_need_their_values() {
    let late = "is known only when the program runs, expected a number that is known before";
    for statement in [
        "bcast root source(r) size 8",
        "allreduce size tag(r)",
        "repeat tag(r)\nend",
        "put w to source(r) size 8",
        "post w from [source(r)]",
        "lock w at source(r) shared",
    ] {
        let error = load("f", format!("ranks 3\nwindow w 64\nrank 0\n{RECEIVE}{statement}\n").as_bytes());
        let error = error.map(|_| ()).expect_err(statement).to_string();
        assert!(error.starts_with("f:5:") && error.ends_with(late), "{error}");
    }
    for declaration in ["ranks source(r)", "window w tag(r)", "nodes [source(r)]", "rank source(r)"] {
        let error = load("f", format!("{declaration}\n").as_bytes()).map(|_| ()).expect_err(declaration);
        assert!(error.to_string().ends_with(late), "{error}");
    }
    // The words of slots stay what they are.
    of_rank_0("send to 1 tag (2) size (8)\n");
    assert!(wrong("send to tag 1 size 8\n").contains("found `tag`, expected a rank"));
    assert!(
        wrong(&format!("{RECEIVE}send to source tag 1 size 8\n")).contains("found `source`, expected a rank")
    );
    assert!(
        wrong(&format!("{RECEIVE}send to source(r tag 1 size 8\n")).contains("found `tag`, expected `)`")
    );
    assert!(
        wrong(&format!("{RECEIVE}send to source() tag 1 size 8\n"))
            .contains("expected the name of a receive")
    );
}

#[test]
fn they_are_written_as_they_stand() {
    let text = "ranks 3\nrank *\n  r = recv from any tag any size 8 buf b\n  e = isend to (source( r )+me) % size   tag tag(r) size 8\n  compute tag(r)*1us\n";
    let ast = parse("f", text.as_bytes()).expect("it parses");
    let canonical = format(&ast);
    assert!(
        canonical.contains("  e = isend to (source(r)+me)%size tag tag(r) size 8\n  compute tag(r)*1us\n"),
        "{canonical}"
    );
    let scenario = loaded(text);
    // `me` is in it, so that each rank has its own.
    let program = &scenario.programs[2];
    let written = |at: usize| program.steps[at].written(&scenario, program).to_string();
    assert_eq!(written(0), "r = recv from any tag any size 8 buf b");
    assert_eq!(written(1), "e = isend to (source(r)+me)%size tag tag(r) size 8");
    assert_eq!(written(2), "compute tag(r)*1us");
    assert!(matches!(resolved(program, 1, 2, 4), Ok(Op::Send { to: 1, tag: 4, .. })));
    assert_eq!(program.steps[1].op.name(), "isend");
    assert!(program.steps[1].op.starts_request() && !program.steps[2].op.starts_request());
}

#[test]
fn ranks_that_only_ask_for_messages_share_their_program() {
    let scenario = loaded(&format!("ranks 3\nrank 1..2\n{RECEIVE}send to source(r) tag 0 size 8\n"));
    assert!(Arc::ptr_eq(&scenario.programs[1], &scenario.programs[2]));
}
