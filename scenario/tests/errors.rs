//! Every kind of error of a file, as the first line of its message.

use carrousel_scenario::{Error, load};

fn errors(input: &str) -> Error {
    match load("f", input.as_bytes()) {
        Ok(_) => panic!("no error in:\n{input}"),
        Err(error) => error,
    }
}

/// The file is wrong, and this is its first error; `f:` is left out.
#[track_caller]
fn check_err(input: &str, expected_first_line: &str) {
    let found = errors(input).to_string();
    assert_eq!(found.strip_prefix("f:").unwrap(), expected_first_line, "in:\n{input}");
}

/// A statement in line 4 of a file of two ranks with a window `w` of 64 bytes is wrong.
#[track_caller]
fn check_statement(statement: &str, expected_first_line: &str) {
    let input = format!("ranks 2\nwindow w 64\nrank 0\n{statement}\n");
    check_err(&input, &format!("4:{expected_first_line}"));
}

/// Two lines of declarations are wrong: `ranks 2`, and this one.
#[track_caller]
fn check_declaration(line: &str, expected_first_line: &str) {
    check_err(&format!("ranks 2\n{line}\n"), &format!("2:{expected_first_line}"));
}

/// Some fault of the file has this help.
#[track_caller]
fn check_help(input: &str, help: &str) {
    let text = errors(input).render(false);
    assert!(text.contains(help), "no {help:?} in:\n{text}");
}

#[test]
fn the_text_has_to_be_utf8() {
    let error = load("f", b"ranks 2\n# caf\xe9\n").unwrap_err();
    assert_eq!(error.to_string(), "f:2:6: the file is not UTF-8: the byte 0xe9 cannot stand here");
    assert!(error.render(false).contains("2 | # caf"));
}

#[test]
fn lines_begin_with_a_statement_or_a_declaration() {
    check_statement("isnd to 1", "1: unknown statement `isnd`, expected a statement or a declaration");
    check_statement("[0]", "1: found `[`, expected a statement or a declaration");
    check_statement("a: 7", "4: unknown statement `7`, expected a statement or a declaration");
    check_statement("é", "1: found `é`, expected a statement or a declaration");
    check_statement("a:", "3: found the end of the line, expected a statement or a declaration");
    check_statement("\u{1}", "1: found the character U+0001, expected a statement or a declaration");
}

#[test]
fn statements_have_their_words_in_order() {
    check_statement("send tag 1", "6: found `tag`, expected `to` and a rank");
    check_statement("send to 1 size 1", "11: found `size`, expected `tag` and a tag");
    check_statement("send to 1 tag 1", "16: found the end of the line, expected `size` and a size");
    check_statement("recv from 1 tag 1 siz 4", "19: found `siz`, expected `size` and a size");
    check_statement("start w [0]", "9: found `[`, expected `to` and a group");
    check_statement("read x", "6: found `x`, expected `buf` and the name of a buffer");
    check_statement("barrier 1", "9: found `1`, expected `on` or the end of the line");
    check_statement(
        "put w to 0 size 8 bof b",
        "19: found `bof`, expected `at`, `count`, `stride`, `buf` or the end of the line",
    );
    check_statement("put w to 0 size 8 buf b at 0", "25: found `at`, expected the end of the line");
    check_statement("fence", "6: found the end of the line, expected the name of a window");
    check_statement("lock w at 0", "12: found the end of the line, expected `shared` or `exclusive`");
    check_statement("acc w to 0 size 8 op sun", "22: found `sun`, expected an operation like `sum`");
    check_statement(
        "fence w assert",
        "15: found the end of the line, expected `nostore`, `noput`, `noprecede`, `nosucceed`",
    );
    check_statement("start w to [0] assert noput", "23: found `noput`, expected `nocheck`");
    check_statement(
        "post w from [0] assert noput noput",
        "30: found `noput`, expected `nocheck`, `nostore` or the end of the line",
    );
    check_statement(
        "put w to 0 size 8 count 2",
        "25: `count` and `stride` stand together, expected both or none",
    );
    check_statement(
        "get w from 0 size 8 stride 2",
        "28: `count` and `stride` stand together, expected both or none",
    );
    check_statement(
        "put w to 0 size 8 count 2 stride 4",
        "34: a stride of 4 bytes, expected at least 8: blocks must not overlap",
    );
    check_statement("put w to 0 size 1 count 65537 stride 1", "25: 65537 blocks, expected at most 65536");
    check_statement("lock w at 0 exclsive", "13: found `exclsive`, expected `shared` or `exclusive`");
    check_statement("test", "5: found the end of the line, expected the name of a request");
    check_statement("wait", "5: found the end of the line, expected `all` or the names of requests");
    check_statement("wait all e", "10: found `e`, expected the end of the line");
    check_statement("wait e all", "8: found `all`, expected `wait all` alone, or names only");
    check_statement("wait [0]", "6: found `[`, expected `all` or the names of requests");
    check_statement("send to any tag 0 size 1", "9: found `any`, expected a rank");
    check_statement("recv from anny tag 0 size 1", "11: found `anny`, expected a rank or `any`");
}

#[test]
fn only_what_starts_something_is_bound() {
    check_statement(
        "r = barrier",
        "1: `barrier` starts nothing that `r` could stand for, expected `ibarrier`, or no `r =`",
    );
    check_statement(
        "r = load w at 0 size 8",
        "1: `load` starts nothing that `r` could stand for, expected no `r =`",
    );
    check_statement("r = wait all", "1: `wait` starts nothing that `r` could stand for, expected no `r =`");
    check_statement("all = ibarrier", "1: a request cannot be called `all`, expected another name");
    check_statement("a: repeat 2", "1: `repeat` is not a statement of a rank, expected no label before it");
}

#[test]
fn names_are_short() {
    let name = "a".repeat(255);
    assert!(load("f", format!("ranks 1\nwindow {name} 1\n").as_bytes()).is_ok());
    check_declaration(&format!("window a{name} 1"), "8: a name of 256 bytes, expected at most 255");
    check_declaration("window wörld 1", "9: found `ö`, expected a size like 64 or 16KiB");
    check_declaration("window ö 1", "8: found `ö`, expected the name of a window");
}

#[test]
fn expressions_are_whole() {
    check_statement("send to", "8: found the end of the line, expected a rank");
    check_statement("send to 1+ tag 0", "12: found `tag`, expected a rank");
    check_statement("send to (1 tag 0", "12: found `tag`, expected an operator or `)`");
    check_statement("send to 1)", "10: found `)`, expected `tag` and a tag");
    check_statement("send to my tag 0", "9: found `my`, expected a rank");
    check_statement(
        "send to 1 tag 0 size 4 KiB",
        "24: found `KiB`, expected `buf`, `on` or the end of the line",
    );
}

#[test]
fn units_fit_what_they_measure() {
    check_statement(
        "send to 1 tag 4KiB size 8",
        "16: the unit `KiB` cannot stand here, expected a plain number",
    );
    check_statement(
        "bcast root 0 size 5us",
        "20: the unit `us` cannot stand here, expected a unit of size: `B`, `KiB`, `MiB` or `GiB`",
    );
    check_statement(
        "bcast root 0 size 5kib",
        "20: unknown unit `kib`, expected a unit of size: `B`, `KiB`, `MiB` or `GiB`",
    );
    check_statement("compute 5", "9: a time without a unit, expected one of `ns`, `us`, `ms`, `s`");
    check_statement("compute me", "9: a time without a unit, expected one of `ns`, `us`, `ms`, `s`");
    for mixed in ["5us+1", "1us*1us", "1/5us", "5us%2", "(5us)us"] {
        check_statement(
            &format!("compute {mixed}"),
            "9: times and plain numbers are mixed, expected a time like `5us` or `me*5us`",
        );
    }
    check_statement(
        "compute 5KiB",
        "10: the unit `KiB` cannot stand here, expected a unit of time: `ns`, `us`, `ms` or `s`",
    );
}

#[test]
fn values_fit_64_bits() {
    check_statement(
        "send to 99999999999999999999 tag 0 size 1",
        "9: the integer 99999999999999999999 is too large, expected at most 9223372036854775807",
    );
    let overflow = "19: the expression overflows, expected a value of 64 bits, signed";
    for expr in [
        "9223372036854775807+1",
        "9223372036854775808",
        "-9223372036854775807-2",
        "9223372036854775807*2",
        "9223372036854775807KiB",
        "(9223372036854775807)KiB",
        "-9223372036854775808/-1",
        "-(-9223372036854775808)",
    ] {
        check_statement(&format!("bcast root 0 size {expr}"), overflow);
    }
    let zero = "19: the expression divides by zero, expected another divisor";
    check_statement("bcast root 0 size 1/0", zero);
    check_statement("bcast root 0 size 1%(me-me)", zero);
}

#[test]
fn values_are_in_their_range() {
    check_statement("send to 2 tag 0 size 1", "9: rank 2 does not exist, expected 0 to 1");
    check_statement("send to me-1 tag 0 size 1", "9: rank -1 does not exist, expected 0 to 1");
    check_statement("start w to [0 2]", "15: rank 2 does not exist, expected 0 to 1");
    check_statement("send to 1 tag -1 size 1", "15: the tag -1 is out of range, expected 0 to 2147483647");
    check_statement(
        "send to 1 tag 2147483648 size 1",
        "15: the tag 2147483648 is out of range, expected 0 to 2147483647",
    );
    check_statement("bcast root 0 size -1", "19: a size of -1, expected 0 or more");
    check_statement("compute -5ns", "9: a time of -5, expected 0 or more");
    check_statement("load w at -8 size 8", "11: a displacement of -8, expected 0 or more");
    check_statement("repeat 0-1\nbarrier\nend", "8: a number of rounds of -1, expected 0 or more");
    check_err("ranks 1\nrank 0\nsend to 1 tag 0 size 1\n", "3:9: rank 1 does not exist, expected 0");
}

#[test]
fn a_rank_before_the_first_is_helped_around_the_ring() {
    let before = "ranks 4\nrank *\nsend to (me-1)%size tag 0 size 1\n";
    check_err(before, "3:9: rank -1 does not exist, expected 0 to 3 (for rank 0)");
    check_help(before, "in a ring, the rank before this one is `(me+size-1)%size`");
}

#[test]
fn an_error_in_a_block_of_several_ranks_says_for_which() {
    check_err(
        "ranks 3\nrank *\nsend to me+1 tag 0 size 1\n",
        "3:9: rank 3 does not exist, expected 0 to 2 (for rank 2)",
    );
    check_err(
        "ranks 3\nrank 1..2\nbcast root 0 size 1/(me-1)\n",
        "3:19: the expression divides by zero, expected another divisor (for rank 1)",
    );
    check_err(
        "ranks 3\nrank *\nrepeat 1-me\nend\n",
        "3:8: a number of rounds of -1, expected 0 or more (for rank 2)",
    );
}

#[test]
fn groups_are_separated_by_blanks_or_commas() {
    check_statement(
        "start w to [me - 1]",
        "18: a blank inside of an item, expected none: blanks separate the items of a group",
    );
    check_statement(
        "start w to [me- 1]",
        "17: a blank inside of an item, expected none: blanks separate the items of a group",
    );
    check_statement(
        "start w to [( me)]",
        "15: a blank inside of an item, expected none: blanks separate the items of a group",
    );
    check_statement(
        "start w to [(me )]",
        "17: a blank inside of an item, expected none: blanks separate the items of a group",
    );
    check_statement("start w to [me -1]", "16: rank -1 does not exist, expected 0 to 1");
    check_statement("start w to [0(1)]", "14: found `(`, expected a blank, a comma or `]` behind the rank");
    check_statement("start w to [0,]", "15: found `]`, expected a rank");
    check_statement("start w to [,]", "13: found `,`, expected a rank or `]`");
    check_statement(
        "start w to [0",
        "14: found the end of the line, expected a blank, a comma or `]` behind the rank",
    );
    check_statement("start w to [0 ", "15: found the end of the line, expected a rank");
    check_statement("start w to 0", "12: found `0`, expected a group like [0 1]");
}

#[test]
fn blocks_and_repeats_pair() {
    check_err("ranks 1\nbarrier\n", "2:1: `barrier` outside of a block, expected a `rank` line before it");
    check_err(
        "ranks 1\nrepeat 2\nend\n",
        "2:1: `repeat` outside of a block, expected a `rank` line before it",
    );
    check_err(
        "ranks 1\nrank 0\nbarrier\nwindow w 1\nbarrier\n",
        "5:1: `barrier` outside of a block, expected a `rank` line before it",
    );
    check_statement("end", "1: `end` without a `repeat`, expected a statement");
    check_statement("repeat 2", "1: this `repeat` has no `end`, expected one before the file ends");
    check_err(
        "ranks 1\nrank 0\nrepeat 2\nrank 0\n",
        "4:1: `rank` inside of the `repeat` of line 3, expected its `end` first",
    );
    check_err(
        "ranks 1\nrank 0\nrepeat 2\nwindow w 1\n",
        "4:1: `window` inside of the `repeat` of line 3, expected its `end` first",
    );
    check_statement("repeat\nend", "7: found the end of the line, expected a number of rounds");
}

#[test]
fn ranks_is_declared_once() {
    check_err("", "1:1: no `ranks` line, expected one, like `ranks 2`");
    check_err("# nothing\n\nrank 0\n", "3:1: no `ranks` line, expected one, like `ranks 2`");
    check_declaration("ranks 2", "1: `ranks` again, expected it once: line 1 has it already");
    check_err("ranks 0\n", "1:7: 0 ranks, expected 1 to 65536");
    check_err("ranks 65537\n", "1:7: 65537 ranks, expected 1 to 65536");
    check_err("ranks -1\n", "1:7: -1 ranks, expected 1 to 65536");
    check_err(
        "ranks me\n",
        "1:7: `me` has no value here, expected an expression that is the same on every rank",
    );
    check_err("ranks size\n", "1:7: `size` has no value here, expected a number: it is what `ranks` defines");
    check_err("ranks\n", "1:6: found the end of the line, expected a number of ranks");
}

#[test]
fn block_headers_name_ranks_that_exist() {
    check_declaration("rank 2", "6: rank 2 does not exist, expected 0 to 1");
    check_declaration("rank 0..2", "9: rank 2 does not exist, expected 0 to 1");
    check_declaration("rank 1..0", "6: the range 1..0 is empty, expected the smaller rank first");
    check_declaration("rank", "5: found the end of the line, expected a rank, a range like 0..3, or `*`");
    check_declaration("rank 0..", "9: found the end of the line, expected the last rank of the range");
    check_declaration(
        "rank me",
        "6: `me` has no value here, expected an expression that is the same on every rank",
    );
    check_declaration("rank 0 barrier", "8: found `barrier`, expected the end of the line");
}

#[test]
fn titles_end_on_their_line() {
    check_declaration("scenario late", "10: found `late`, expected a title like \"late post\"");
    check_declaration("scenario \"late", "10: the title does not end, expected a `\"` on the same line");
    check_declaration("scenario \"a\\n\"", "12: unknown escape in a title, expected `\\\"` or `\\\\`");
    check_declaration("scenario \"a\x1b[31m\"", "12: a control character in a title, expected none but tabs");
    check_declaration("scenario \"a\\", "12: unknown escape in a title, expected `\\\"` or `\\\\`");
    check_err(
        "scenario \"a\"\nscenario \"b\"\nranks 1",
        "2:1: a title again, expected it once: line 1 has it already",
    );
}

#[test]
fn nodes_name_every_rank_at_most_once() {
    check_declaration("nodes", "6: found the end of the line, expected the ranks of a node, like [0 1]");
    check_declaration(
        "nodes [0] 1",
        "11: found `1`, expected the ranks of a node, like [0 1], or the end of the line",
    );
    check_declaration("nodes [0] [1 0]", "14: rank 0 is named twice, expected every rank on one node");
    check_declaration("nodes [0 2]", "10: rank 2 does not exist, expected 0 to 1");
    check_err(
        "ranks 2\nnodes [0]\nnodes [1]\n",
        "3:1: `nodes` again, expected it once: line 2 has it already",
    );
}

#[test]
fn windows_are_declared_once_and_have_a_size() {
    check_err(
        "ranks 1\nwindow w 1\nwindow w 2\n",
        "3:8: a window `w` again, expected it once: line 2 has it already",
    );
    check_declaration("window w", "9: found the end of the line, expected a size like 64 or 16KiB");
    check_declaration("window w -1", "10: a size of -1, expected 0 or more");
    check_declaration("window", "7: found the end of the line, expected the name of a window");
}

#[test]
fn options_are_of_the_vocabulary() {
    check_declaration(
        "option eager_treshold 5",
        "8: unknown option `eager_treshold`, expected one of `eager_threshold`, `eager_window`, `speculation`, `rtr_limit`, `accumulate_eager`, `accumulate_buffers`, `intra_defer_threshold`",
    );
    check_declaration(
        "option v.access_after_access on",
        "8: unknown window `v`, expected a line `window v SIZE` that declares it",
    );
    check_declaration(
        "option eager_threshold on",
        "24: `on` is no value of `eager_threshold`, expected a size like 16KiB",
    );
    check_declaration(
        "option eager_threshold 5us",
        "24: `5us` is no value of `eager_threshold`, expected a size like 16KiB",
    );
    check_declaration(
        "option intra_defer_threshold mesured",
        "30: `mesured` is no value of `intra_defer_threshold`, expected a size like 16KiB, or `measured`",
    );
    check_declaration("option eager_threshold 0-1", "24: a size of -1, expected 0 or more");
    check_declaration(
        "option rtr_limit 4KiB",
        "18: `4KiB` is no value of `rtr_limit`, expected a plain number",
    );
    check_declaration(
        "option speculation alwys",
        "20: `alwys` is no value of `speculation`, expected one of `off`, `always`, `adaptive`",
    );
    check_declaration("option rtr_limit", "17: found the end of the line, expected a value");
    check_declaration("option", "7: found the end of the line, expected the name of an option");
    check_declaration("option rtr_limit [", "18: found `[`, expected a value");
    check_err(
        "ranks 1\noption rtr_limit 1\noption rtr_limit 2\n",
        "3:8: the option `rtr_limit` again, expected it once: line 2 has it already",
    );
    check_err(
        "ranks 1\nwindow w 1\noption w.access_after_access yes\n",
        "3:30: `yes` is no value of `access_after_access`, expected `on` or `off`",
    );
    check_err(
        "ranks 1\nwindow w 1\noption w.fast on\n",
        "3:10: unknown option `fast`, expected one of `access_after_access`, \
         `access_after_exposure`, `exposure_after_exposure`, `exposure_after_access`, `accumulate_ops`, `accumulate_ordering`",
    );
    check_err(
        "ranks 1\nwindow w 1\noption w.access_after_access on\noption w.access_after_access off",
        "4:10: the option `w.access_after_access` again, expected it once: line 3 has it already",
    );
}

#[test]
fn expectations_name_checks() {
    check_declaration(
        "expect deadlock violated",
        "8: unknown check `deadlock`, expected one of the nine checks",
    );
    check_declaration(
        "expect",
        "7: found the end of the line, expected the name of a check, like deadlock-freedom",
    );
    check_declaration("expect rma-race", "16: found the end of the line, expected `violated`");
    check_declaration("expect rma-race proven", "17: found `proven`, expected `violated`");
    check_err(
        "ranks 1\nexpect rma-race violated\nexpect rma-race violated\n",
        "3:1: `expect rma-race` again, expected it once: line 2 has it already",
    );
}

#[test]
fn names_are_known() {
    check_statement("fence v", "7: unknown window `v`, expected `w`");
    let unbound = "unknown request `e`, expected a name that an earlier statement of the rank binds";
    check_statement("wait e", &format!("6: {unbound}"));
    check_statement("test e", &format!("6: {unbound}"));
    check_statement("wait e\ne = ibarrier", &format!("6: {unbound}"));
}

#[test]
fn what_no_rank_comes_by_is_still_named_right() {
    check_err(
        "ranks 1\nwindow w 1\nrank 0\nrepeat 0\nfence v\nend\n",
        "5:7: unknown window `v`, expected `w`",
    );
}

#[test]
fn a_request_is_of_its_rank() {
    check_err(
        "ranks 2\nrank 0\ne = ibarrier\nrank 1\nwait e\n",
        "5:6: unknown request `e`, expected a name that an earlier statement of the rank binds",
    );
    check_err(
        "ranks 2\nrank *\nrepeat me\ne = ibarrier\nend\nwait e\n",
        "6:6: unknown request `e`, expected a name that an earlier statement of the rank binds (for rank 0)",
    );
}

#[test]
fn labels_are_unique_in_a_rank() {
    check_err(
        "ranks 1\nrank 0\na: barrier\nrank *\na: barrier\n",
        "5:1: the label `a` again, expected it once in a rank: line 3 has it already (for rank 0)",
    );
}

#[test]
fn bytes_stay_inside_of_the_window() {
    let outside = |first: u64, last: u64| {
        format!("bytes {first} to {last} are outside of the window `w`, expected an end at 64 or before")
    };
    check_statement("put w to 1 size 65", &format!("17: {}", outside(0, 64)));
    check_statement("get w from 1 size 8 at 57", &format!("19: {}", outside(57, 64)));
    check_statement("load w at 64 size 1", &format!("19: {}", outside(64, 64)));
    check_statement("store w at 0 size 65", &format!("19: {}", outside(0, 64)));
    check_statement("cas w at 1 at 64", &format!("15: {}", outside(64, 71)));
    check_statement(
        "put w to 1 size 9223372036854775807 at 9223372036854775807",
        &format!("17: {}", outside(i64::MAX as u64, u64::MAX - 2)),
    );
}

#[test]
fn atomics_are_aligned() {
    let to_8 = "expected a multiple of 8: atomics work on 8-byte elements";
    check_statement("acc w to 1 size 4", &format!("17: a size of 4 bytes, {to_8}"));
    check_statement("acc w to 1 size 8 at 4", &format!("22: a displacement of 4 bytes, {to_8}"));
    check_statement("fetch_op w at 1 at 4", &format!("20: a displacement of 4 bytes, {to_8}"));
    check_statement("cas w at 1 at 1", &format!("15: a displacement of 1 bytes, {to_8}"));
}

#[test]
fn limits_have_their_messages() {
    let deep = |count: usize| format!("ranks {}1{}\n", "(".repeat(count), ")".repeat(count));
    assert!(load("f", deep(64).as_bytes()).is_ok());
    check_err(&deep(65), "1:71: nested more than 64 deep, expected fewer parentheses and minus signs");
    let repeats =
        |count: usize| format!("ranks 1\nrank 0\n{}{}", "repeat 1\n".repeat(count), "end\n".repeat(count));
    assert!(load("f", repeats(64).as_bytes()).is_ok());
    check_err(&repeats(65), "67:1: nested more than 64 deep, expected fewer repeats");
    let rounds = |count: u64| format!("ranks 2\nrank *\nrepeat {count}\nbarrier\nend\n");
    assert!(load("f", rounds(500_000).as_bytes()).is_ok());
    check_err(
        &rounds(500_001),
        "3:1: 1000002 statements over all ranks with `repeat` unrolled, expected at most 1000000",
    );
    let sum = |count: usize| format!("ranks 1{}\n", "+1".repeat(count - 1));
    assert!(load("f", sum(1024).as_bytes()).is_ok());
    check_err(&sum(1025), "1:2055: an expression of more than 1024 operands");
    let names = format!("ranks 1\nrank 0\ne = ibarrier\nwait {}\n", "e ".repeat(65_537));
    check_err(&names, "4:131078: a list of more than 65536 items");
}

#[test]
fn several_errors_are_reported_up_to_twenty() {
    let error = errors("ranks 2\nrank 0\nfoo\nsend to\nbarrier\nbar\n");
    let lines: Vec<u32> = error.faults().iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [3, 4, 6]);
    assert!(!error.may_have_more());

    let error = errors(&format!("ranks 2\n{}", "foo\n".repeat(100)));
    assert_eq!(error.faults().len(), 20);
    assert!(error.may_have_more());
    assert!(error.render(false).ends_with("stopped after 20 errors\n"));
}

#[test]
fn misspelt_words_get_a_suggestion() {
    let statement = |text: &str| format!("ranks 2\nwindow win 64\nrank 0\nreq = ibarrier\n{text}\n");
    check_help(&statement("ircv from 1 tag 0 size 1"), "did you mean `irecv`?");
    check_help(&statement("ISEND to 1 tag 0 size 1"), "did you mean `isend`?");
    check_help(&statement("widow w 64"), "did you mean `window`?");
    check_help(&statement("send to 1 tga 0"), "did you mean `tag`?");
    check_help(&statement("fence wim"), "did you mean `win`?");
    check_help(&statement("wait rec"), "did you mean `req`?");
    check_help(&statement("bcast root 0 size 4Kib"), "did you mean `KiB`?");
    check_help(&statement("lock win at 0 shard"), "did you mean `shared`?");
    check_help(&statement("put win to 0 size 8 at 0 bfu b"), "did you mean `buf`?");
    check_help("ranks 1\noption egaer_threshold 1", "did you mean `eager_threshold`?");
    check_help("ranks 1\noption speculation alwais", "did you mean `always`?");
    check_help("ranks 1\nexpect rma-rase violated", "did you mean `rma-race`?");
    check_help("ranks 1\noption access_after_access on", "it is a flag of a window");
    check_help(&statement("send to 1 tag 0 size 4 KiB"), "as in `4KiB`");
    check_help(&statement("send 1"), "the statement is `send to R tag T size N [buf B] [on C]`");
}
