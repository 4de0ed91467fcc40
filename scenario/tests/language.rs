//! What right files mean: the table of statements, blocks, expressions, declarations.

use std::sync::Arc;

use carrousel_scenario::{
    Check, Op, OptionKind, OptionSpec, OptionValue, Scenario, Vocabulary, WindowId, load, load_with,
};

#[track_caller]
fn loaded(input: &str) -> Scenario {
    match load("f", input.as_bytes()) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{}\nin:\n{input}", error.render(false)),
    }
}

/// The statements of a rank as they are written canonically.
fn written(scenario: &Scenario, rank: u32) -> Vec<String> {
    let program = scenario.program(rank);
    program.steps.iter().map(|step| step.written(scenario, program).to_string()).collect()
}

/// In rank 1 of 4, with a window `w` of 1 KiB and an open request `e`, this statement is that.
#[track_caller]
fn check_statement(statement: &str, expected: &str) {
    let input = format!("ranks 4\nwindow w 1KiB\nrank 1\ne = ibarrier\n{statement}\n");
    assert_eq!(written(&loaded(&input), 1)[1], expected);
}

/// The expression has this value on rank 1 of 4.
#[track_caller]
fn check_value(expression: &str, expected: u64) {
    let scenario = loaded(&format!("ranks 4\nrank 1\nbcast root 0 size {expression}\n"));
    assert_eq!(scenario.programs[1].steps[0].op, Op::Bcast { root: 0, size: expected }, "{expression}");
}

#[test]
fn every_statement_is_understood() {
    for statement in [
        "compute 1ms",
        "send to 0 tag 1 size 2",
        "a = isend to 1 tag 2147483647 size 0 buf b",
        "ssend to 0 tag 1 size 2KiB buf b",
        "a = issend to 0 tag 1 size 2",
        "recv from 0 tag 1 size 2",
        "e = irecv from any tag any size 2 buf b",
        "sendrecv to 0 tag 1 size 2 from any tag 3 size 4",
        "probe from 2 tag any",
        "wait e",
        "wait e e",
        "wait all",
        "test e",
        "barrier",
        "ibarrier",
        "bcast root 3 size 8",
        "reduce root 3 size 8",
        "allreduce size 8",
        "gather root 3 size 8",
        "allgather size 8",
        "alltoall size 8",
        "read buf b",
        "write buf b",
        "load w at 0 size 1KiB",
        "store w at 8 size 8",
        "put w to 0 size 8",
        "put w to 0 size 8 at 1016 buf b",
        "get w from 0 size 8 buf b",
        "get w from 0 size 1 at 1023",
        "acc w to 0 size 16 at 8",
        "put w to 0 size 8 at 8 count 3 stride 64 buf b",
        "a = get w from 0 size 8 count 0 stride 8",
        "acc w to 0 size 8 count 2 stride 16 buf b op max",
        "a = get_acc w to 0 size 8 op no_op",
        "fetch_op w at 0 op replace",
        "a = cas w at 3",
        "fetch_op w at 0",
        "fetch_op w at 0 at 1016",
        "cas w at 3 at 8",
        "fence w",
        "a = ifence w",
        "fence w assert nostore noput noprecede nosucceed",
        "start w to [0 2] assert nocheck",
        "ipost w from [0] assert nocheck nostore noput",
        "lock w at 0 shared assert nocheck",
        "ilock_all w assert nocheck",
        "start w to [0 2]",
        "start w to []",
        "istart w to [0]",
        "complete w",
        "a = icomplete w",
        "post w from [0 1 2 3]",
        "ipost w from []",
        "wait_epoch w",
        "a = iwait_epoch w",
        "lock w at 0 shared",
        "lock w at 0 exclusive",
        "a = ilock w at 0 exclusive",
        "unlock w at 0",
        "iunlock w at 0",
        "lock_all w",
        "ilock_all w",
        "unlock_all w",
        "a = iunlock_all w",
        "flush w at 2",
        "iflush w at 2",
        "flush_local w at 2",
        "iflush_local w at 2",
        "flush_all w",
        "iflush_all w",
        "flush_local_all w",
        "a = iflush_local_all w",
    ] {
        check_statement(statement, statement);
    }
    // One block has none that it could overlap.
    check_statement("put w to 0 size 8 count 1 stride 0", "put w to 0 size 8");
}

#[test]
fn an_op_writes_itself_without_names() {
    let scenario = loaded(
        "ranks 2\nwindow win 8\nrank 0\nreq = isend to 1 tag 0 size 64KiB\nwait req\nput win to 1 size 8 buf b\n",
    );
    let ops: Vec<String> = scenario.programs[0].steps.iter().map(|step| step.op.to_string()).collect();
    assert_eq!(ops, ["isend to 1 tag 0 size 64KiB", "wait r0", "put w0 to 1 size 8 buf b0"]);
}

#[test]
fn only_i_forms_start_requests() {
    for verb in carrousel_scenario::verb::Verb::ALL {
        assert_eq!(verb.starts_request(), verb.name().starts_with('i'), "{}", verb.name());
    }
}

#[test]
fn expressions_follow_the_usual_rules() {
    check_value("1+2*3", 7);
    check_value("(1+2)*3", 9);
    check_value("7-2-1", 4);
    check_value("100/7/2", 7);
    check_value("0-7/2+4", 1);
    check_value("-7%4+4", 1);
    check_value("7%-4", 3);
    check_value("- -5", 5);
    check_value("2--3", 5);
    check_value("size*10+me", 41);
    check_value(" ( me + 1 ) % size ", 2);
    check_value("9223372036854775807", i64::MAX as u64);
    check_value("-9223372036854775808+9223372036854775807+1", 0);
    check_value("-9223372036854775808%-1", 0);
}

#[test]
fn sizes_and_times_have_units() {
    check_value("64B", 64);
    check_value("16KiB", 16 << 10);
    check_value("1MiB", 1 << 20);
    check_value("2GiB", 2 << 30);
    check_value("me*4KiB+8", 4104);
    check_value("(me+1)KiB", 2048);
    for (time, ns) in [
        ("250ns", 250),
        ("5us", 5_000),
        ("1ms", 1_000_000),
        ("2s", 2_000_000_000),
        ("(me+1)*5us", 10_000),
        ("(me+1)us", 2_000),
        ("1us+1ns", 1_001),
        ("3us/2", 1_500),
        ("(4us/1us)*1ns", 4),
    ] {
        let scenario = loaded(&format!("ranks 2\nrank 1\ncompute {time}\n"));
        assert_eq!(scenario.programs[1].steps[0].op, Op::Compute { ns }, "{time}");
    }
}

#[test]
fn size_is_a_word_and_a_number() {
    check_statement("put w to size-1 size size*2 at size*4", "put w to 3 size 8 at 16");
    check_statement("put w to me size 8", "put w to 1 size 8");
}

#[test]
fn groups_are_sets() {
    check_statement("start w to [me-1 me+1]", "start w to [0 2]");
    check_statement("start w to [me+1,me-1 , 3]", "start w to [0 2 3]");
    check_statement("start w to [ (me+1)%size (me+1)%size ]", "start w to [2]");
}

#[test]
fn blocks_add_up_in_file_order() {
    let scenario = loaded(
        "ranks 4\nrank *\n compute 1us\nrank 1..2\n compute 2us\nrank size-1\n compute 3us\nrank 1\n compute 4us\n",
    );
    assert_eq!(written(&scenario, 0), ["compute 1us"]);
    assert_eq!(written(&scenario, 1), ["compute 1us", "compute 2us", "compute 4us"]);
    assert_eq!(written(&scenario, 2), ["compute 1us", "compute 2us"]);
    assert_eq!(written(&scenario, 3), ["compute 1us", "compute 3us"]);
    assert!(written(&loaded("ranks 2\nrank 0\nbarrier\n"), 1).is_empty());
}

#[test]
fn repeats_nest_and_may_differ_between_ranks() {
    let scenario =
        loaded("ranks 3\nrank *\nrepeat me\n compute 1us\n repeat 2\n compute 2us\n end\nend\nbarrier\n");
    assert_eq!(written(&scenario, 0), ["barrier"]);
    assert_eq!(written(&scenario, 1), ["compute 1us", "compute 2us", "compute 2us", "barrier"]);
    assert_eq!(scenario.programs[2].steps.len(), 7);
    assert_eq!(scenario.programs[2].steps[3].line, 4);
}

#[test]
fn what_is_repeated_never_needs_no_value() {
    let scenario = loaded("ranks 2\nrank *\nrepeat me\nsend to me-1 tag 0 size 1/me\nend\n");
    assert_eq!(written(&scenario, 1), ["send to 0 tag 0 size 1"]);
}

#[test]
fn labels_and_requests_are_kept() {
    let scenario = loaded(
        "ranks 1\nwindow w 8\nrank 0\nclose: e = icomplete w\nnext:f=ibarrier\ne = ibarrier\nwait f e\n",
    );
    let program = scenario.program(0);
    assert_eq!(program.steps[0].label.as_deref(), Some("close"));
    assert_eq!(program.steps[1].label.as_deref(), Some("next"));
    let names: Vec<&str> = program.requests.iter().map(|name| &**name).collect();
    assert_eq!(names, ["e", "f"]);
    assert_eq!(program.steps[0].bind, program.steps[2].bind);
    assert_eq!(written(&scenario, 0)[3], "wait f e");
}

#[test]
fn words_of_the_language_may_be_names() {
    let scenario = loaded(
        "ranks 2\nwindow size 64\nrank 0\nsend: isend = isend to 1 tag 0 size size buf size\nput size to 1 size size\nwait isend\n1st: barrier\n",
    );
    assert_eq!(written(&scenario, 0)[1], "put size to 1 size 2");
}

#[test]
fn buffers_are_as_large_as_their_largest_use() {
    let scenario = loaded(
        "ranks 2\nrank 0\nwrite buf a\nsend to 1 tag 0 size 8 buf a\nsend to 1 tag 0 size 64 buf a\nread buf b\n",
    );
    let buffers: Vec<(&str, u64)> =
        scenario.programs[0].buffers.iter().map(|buffer| (&*buffer.name, buffer.size)).collect();
    assert_eq!(buffers, [("a", 64), ("b", 0)]);
}

#[test]
fn ranks_that_nodes_does_not_name_are_alone() {
    assert_eq!(loaded("ranks 3\n").nodes, [0, 1, 2]);
    assert_eq!(loaded("ranks 5\nnodes [3 1] [] [size-1]\n").nodes, [2, 0, 3, 0, 1]);
}

#[test]
fn declarations_stand_in_any_order() {
    let scenario = loaded(
        "expect rma-race violated\noption w.access_after_exposure on\nwindow w size*8\noption rtr_limit -3\n\
         option speculation off\noption eager_threshold 2*4KiB\nranks 3\nscenario \"a \\\"b\\\\\"\n",
    );
    assert_eq!(scenario.title.as_deref(), Some("a \"b\\"));
    assert_eq!(scenario.window(WindowId(0)).size, 24);
    assert_eq!(scenario.expects[0].check, Check::RmaRace);
    let options: Vec<_> = scenario.options.iter().map(|option| (&*option.name, &option.value)).collect();
    assert_eq!(
        options,
        [
            ("access_after_exposure", &OptionValue::OnOff(true)),
            ("rtr_limit", &OptionValue::Integer(-3)),
            ("speculation", &OptionValue::Word("off".to_owned())),
            ("eager_threshold", &OptionValue::Size(8192)),
        ],
    );
    assert_eq!(scenario.options[0].window, Some(WindowId(0)));
}

#[test]
fn the_caller_says_which_options_there_are() {
    let mut vocabulary = Vocabulary::default();
    vocabulary.engine.push(OptionSpec::new("poll_interval", OptionKind::Time));
    vocabulary.engine.push(OptionSpec::new("lazy", OptionKind::OnOff));
    let text = b"ranks 1\noption poll_interval 2*5us\noption lazy off\n";
    assert!(load("f", text).is_err());
    let scenario = load_with("f", text, &vocabulary).unwrap();
    assert_eq!(scenario.options[0].value, OptionValue::TimeNs(10_000));
    assert_eq!(scenario.options[1].value, OptionValue::OnOff(false));
    let error = load_with("f", b"ranks 1\noption poll_interval 5\n", &vocabulary).unwrap_err();
    assert_eq!(error.to_string(), "f:2:22: a time without a unit, expected one of `ns`, `us`, `ms`, `s`",);
}

#[test]
fn layout_does_not_matter() {
    let plain = loaded("ranks 2\nrank 0\nsend to 1 tag 0 size 64\n");
    for text in [
        "ranks 2\r\nrank 0\r\nsend to 1 tag 0 size 64\r\n",
        "\u{feff}ranks 2\nrank 0\nsend to 1 tag 0 size 64",
        "\tranks\t2#two\n   rank 0 # zero\n\t \tsend  to 1\ttag 0 size 64#x\n",
    ] {
        assert_eq!(loaded(text).programs, plain.programs);
    }
}

#[test]
fn ranks_with_the_same_statements_share_a_program() {
    let scenario = loaded("ranks 100\nrank *\nbarrier\nrank 5..7\nbarrier\n");
    assert!(Arc::ptr_eq(&scenario.programs[0], &scenario.programs[99]));
    assert!(Arc::ptr_eq(&scenario.programs[5], &scenario.programs[7]));
    assert!(!Arc::ptr_eq(&scenario.programs[0], &scenario.programs[5]));
}

#[test]
fn a_step_stays_small() {
    // A file may have a million.
    assert!(size_of::<carrousel_scenario::Step>() <= 80);
    assert!(size_of::<carrousel_scenario::ast::Line>() <= 64);
}

#[test]
fn every_check_has_a_name() {
    for check in Check::ALL {
        assert_eq!(check.name().parse(), Ok(check));
    }
    assert!("deadlock".parse::<Check>().is_err());
}

#[test]
fn source_lines_are_at_hand() {
    let scenario = loaded("ranks 1\nrank 0\n  barrier\n");
    assert_eq!(scenario.source_line(scenario.programs[0].steps[0].line), "barrier");
    assert_eq!(scenario.source_line(99), "");
}
