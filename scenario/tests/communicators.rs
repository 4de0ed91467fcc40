//! `comm`, `on`, `me(NAME)` and `size(NAME)`.

use carrousel_scenario::{CommunicatorId, Op, Scenario, Source, load};

#[track_caller]
fn right(text: &str) -> Scenario {
    load("f", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// The first line of the message.
#[track_caller]
fn wrong(text: &str) -> String {
    load("f", text.as_bytes()).err().unwrap_or_else(|| panic!("no error in:\n{text}")).to_string()
}

/// Name, parent and members of the communicators, without the first one.
fn communicators(text: &str) -> Vec<(String, u32, Vec<u32>)> {
    let scenario = right(text);
    let plain = scenario.communicators.iter().skip(1);
    plain.map(|it| (it.name.to_string(), it.parent.0, it.members.to_vec())).collect()
}

/// The statements of a rank as a person would write them.
fn written(scenario: &Scenario, rank: u32) -> Vec<String> {
    let program = scenario.program(rank);
    program.steps.iter().map(|step| step.written(scenario, program).to_string()).collect()
}

#[test]
fn ranks_of_one_color_are_together_by_key_and_then_by_rank() {
    let grid = "ranks 6\ncomm row = split color me/3\ncomm column = split color me%3 key -me\n";
    let of = |name: &str, members: &[u32]| (name.to_owned(), 0, members.to_vec());
    assert_eq!(
        communicators(grid),
        [
            of("row", &[0, 1, 2]),
            of("row", &[3, 4, 5]),
            of("column", &[3, 0]),
            of("column", &[4, 1]),
            of("column", &[5, 2]),
        ]
    );
    // Equal keys leave the order as it is.
    assert_eq!(communicators("ranks 4\ncomm c = split color 0 key me/2\n"), [of("c", &[0, 1, 2, 3])]);
    assert_eq!(communicators("ranks 4\ncomm c = split color 0 key 1-me%2\n"), [of("c", &[1, 3, 0, 2])]);
}

#[test]
fn a_rank_with_a_negative_color_is_in_none() {
    let text = "ranks 3\ncomm c = split color -(me%2)\nrank 0\n  barrier on c\n";
    assert_eq!(communicators(text), [("c".to_owned(), 0, vec![0, 2])]);
    let scenario = right(text);
    assert_eq!(written(&scenario, 0), ["comm c = split color 0", "barrier on c"]);
    assert_eq!(written(&scenario, 1), ["comm c = split color -1"]);
    assert!(matches!(scenario.program(1).steps[0].op, Op::Split { color: None, made: None, .. }));
    let member = "f:4:14: rank 1 is not in `c`, expected a member (for rank 1)";
    assert_eq!(
        wrong("ranks 3\ncomm c = split color -(me%2)\nrank *\n  barrier  on c\n"),
        member.replace("14", "15")
    );
    assert_eq!(
        wrong("ranks 3\ncomm c = split color -(me%2)\nrank 0..1\n  compute me(c)*1us\n"),
        "f:4:11: rank 1 is not in `c`, expected a member (for rank 1)"
    );
    assert!(communicators("ranks 2\ncomm nobody = split color -1\n").is_empty());
}

#[test]
fn a_split_of_a_split_is_one_of_each_communicator_of_that_name() {
    let text = "ranks 5\ncomm half = split color me/3\ncomm odd = split color me(half)%2 key -me on half\n";
    let found = communicators(text);
    assert_eq!(
        found[2..],
        [
            ("odd".to_owned(), 1, vec![2, 0]),
            ("odd".to_owned(), 1, vec![1]),
            ("odd".to_owned(), 2, vec![3]),
            ("odd".to_owned(), 2, vec![4])
        ]
    );
    assert_eq!(
        written(&right(text), 2),
        ["comm half = split color 0", "comm odd = split color 0 key -2 on half"]
    );
    // Ranks that are not in the parent take no part.
    let text = "ranks 3\ncomm some = split color -(me/2)\ncomm more = split color me on some\n";
    assert_eq!(written(&right(text), 2), ["comm some = split color -1"]);
}

#[test]
fn ranks_behind_on_are_those_of_the_communicator() {
    let text = "ranks 6\ncomm c = split color me/3\nrank *\n  recv from size(c)-1 tag me(c) size size on c\n";
    let scenario = right(text);
    for rank in 0..6 {
        let step = &scenario.program(rank).steps[1];
        let expected = rank % 3;
        assert!(
            matches!(step.op, Op::Recv { from: Source::Rank(2), size: 6, .. }),
            "{:?} at rank {rank}",
            step.op
        );
        assert_eq!(step.on, CommunicatorId(1 + rank / 3));
        assert_eq!(written(&scenario, rank)[1], format!("recv from 2 tag {expected} size 6 on c"));
    }
    let beyond = "ranks 6\ncomm c = split color me/3\nrank 4\n  send to 3 tag 0 size 8 on c\n";
    assert_eq!(wrong(beyond), "f:4:11: rank 3 does not exist in `c`, expected 0 to 2");
    let beyond = "ranks 6\ncomm c = split color me/3\nrank 4\n  bcast root 3 size 8 on c\n";
    assert_eq!(wrong(beyond), "f:4:14: rank 3 does not exist in `c`, expected 0 to 2");
}

#[test]
fn programs_of_ranks_with_other_communicators_are_not_one() {
    let scenario = right("ranks 4\ncomm c = split color me/2\nrank *\n  barrier on c\n");
    let on = |rank: u32| scenario.program(rank).steps[1].on;
    assert_eq!([0, 1, 2, 3].map(on), [1, 1, 2, 2].map(CommunicatorId));
    // Also where only a number depends on the communicator.
    let scenario =
        right("ranks 4\ncomm c = split color me/3\nrank *\n  repeat size(c)\n  compute 1us\n  end\n");
    assert_eq!([0, 3].map(|rank| scenario.program(rank).steps.len()), [4, 2]);
}

#[test]
fn messages_may_be_asked_for_in_a_communicator() {
    let text = "ranks 4\ncomm c = split color me/2\nrank 2\n  r = recv from any tag any size 8 on c\n  \
                send to source(r)+me(c) tag tag(r) size size(c) on c\nrank 3\n  send to 0 tag 0 size 8 on c\n  \
                recv from 0 tag 0 size 8 on c\n";
    let scenario = right(text);
    let step = &scenario.program(2).steps[2];
    let Op::Deferred(deferred) = &step.op else { panic!("{:?}", step.op) };
    let message = |source| move |_| Some(carrousel_scenario::Received { source, tag: 9 });
    assert!(matches!(deferred.resolve(message(1)), Ok(Op::Send { to: 1, tag: 9, size: 2, .. })));
    let error = deferred.resolve(message(2)).expect_err("there are two ranks").to_string();
    assert!(error.starts_with("rank 2 does not exist in `c`, expected 0 to 1"), "{error}");
}

#[test]
fn collectives_of_each_communicator_agree() {
    // Another order on different communicators breaks no rule of the language.
    let crossed = "ranks 2\ncomm a = split color 0\ncomm b = split color 0\nrank 0\n  barrier on a\n  \
                   allreduce size 8 on b\nrank 1\n  allreduce size 8 on b\n  barrier on a\n";
    right(crossed);
    // Rows that call other collectives than each other.
    right(
        "ranks 4\ncomm row = split color me/2\nrank 0..1\n  barrier on row\nrank 2..3\n  allreduce size 8 on row\n",
    );
    let text = "ranks 4\ncomm row = split color me/2\nrank *\n  barrier\nrank 2\n  bcast root 0 size 8 on row\n\
                rank 3\n  bcast root 1 size 8 on row\n";
    assert_eq!(
        wrong(text),
        "f:8:3: found `bcast root 1 size 8` as collective 1 of rank 3 on `row`, expected `bcast root 0 size 8`, as \
         rank 2 calls in line 6"
    );
}

#[test]
fn declarations_that_are_wrong() {
    for (line, expected) in [
        ("comm", "5: found the end of the line, expected the name of a communicator"),
        ("comm c", "7: found the end of the line, expected `= split color` and a color"),
        ("comm c = splt color 0", "10: found `splt`, expected `split color` and a color"),
        ("comm c = split", "15: found the end of the line, expected `color` and a color"),
        ("comm c = split color", "21: found the end of the line, expected a color"),
        ("comm c = split color 0 ky 0", "24: found `ky`, expected `key`, `on` or the end of the line"),
        (
            "comm c = split color 0 on d",
            "27: unknown communicator `d`, expected one that a line before declares: `comm d = split color K`",
        ),
        (
            "comm c = split color 0 on c",
            "27: unknown communicator `c`, expected one that a line before declares: `comm c = split color K`",
        ),
        (
            "comm c = split color 1/me",
            "22: the expression divides by zero, expected another divisor (for rank 0)",
        ),
        (
            "comm c = split color 3000000000",
            "22: the color 3000000000 is out of range, expected at most 2147483647 (for rank 0)",
        ),
        (
            "comm c = split color 0 key 3000000000",
            "28: the key 3000000000 is out of range, expected a value of 32 bits, signed (for rank 0)",
        ),
        (
            "comm c = split color me(c)",
            "22: unknown communicator `c`, expected one that a line before declares: `comm c = split color K` (for rank 0)",
        ),
        (
            "comm c = split color source(r)",
            "22: `source(...)` is known only when the program runs, expected a number that is known before",
        ),
        (
            "window w size(c)",
            "10: `size(...)` has no value here, expected an expression that is the same on every rank",
        ),
        ("comm c = split color 0\ncomm c = split color 0", "TWICE"),
    ] {
        let found = wrong(&format!("ranks 2\n{line}\n"));
        match expected {
            "TWICE" => {
                assert_eq!(found, "f:3:6: a communicator `c` again, expected it once: line 2 has it already")
            }
            _ => assert_eq!(found, format!("f:2:{expected}"), "{line}"),
        }
    }
    let text = "ranks 2\ncomm row = split color 0\nrank 0\n  barrier on rows\n";
    let error = load("f", text.as_bytes()).expect_err("it is called row").render(false);
    assert!(error.contains("did you mean `row`?"), "{error}");
    // Also where nobody executes it.
    assert!(
        wrong("ranks 2\nrank 0\n  repeat 0\n  barrier on c\n  end\n")
            .starts_with("f:4:14: unknown communicator `c`")
    );
}

#[test]
fn a_request_may_be_called_comm() {
    right("ranks 2\nrank *\n  comm = ibarrier\n  wait comm\n");
}

#[test]
fn many_splits_of_many_ranks_are_refused() {
    let file = |splits: u32| {
        let lines: String = (0..splits).map(|i| format!("comm c{i} = split color me%7 key -me\n")).collect();
        format!("ranks 65536\n{lines}rank 0\n  barrier on c0\n")
    };
    assert!(load("f", file(2).as_bytes()).is_ok());
    assert!(wrong(&file(200)).contains("expected less"), "{}", wrong(&file(200)));
}
