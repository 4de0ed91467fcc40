//! Counterexamples of windows as people see them: epochs as bars, transfers as arrows, and who is late.

use carrousel_scenario::{Check, load};
use carrousel_verify::chart::{ArrowKind, Chart, EpochBar};
use carrousel_verify::explore::Limits;
use carrousel_verify::report::Counterexample;
use carrousel_verify::run::{Request, check};

fn counterexample(text: &str, violated: Check) -> Counterexample {
    let scenario = load("test.scn", text.as_bytes()).expect("a right scenario");
    let limits = Limits { threads: 1, ..Limits::default() };
    let report = check(&scenario, &Request { limits, ..Request::default() }).expect("it can be explored");
    let found = report.checks.into_iter().find(|check| check.name == violated.name());
    let mut found = found.and_then(|check| check.counterexample).expect("the check is violated");
    // What is drawn of each step is looked at here, not which steps are told.
    found.tell_all();
    found
}

/// Compares both drawings of a scenario with those that were looked at.
fn drawn(name: &str, violated: Check, text: &str) -> Counterexample {
    let found = counterexample(text, violated);
    let chart = &found.chart;
    insta::assert_snapshot!(name, format!("{}\n\n{}", found.summary, chart.text(100, false)), text);
    insta::assert_snapshot!(format!("{name}.svg"), chart.svg(), text);
    found
}

macro_rules! scenario {
    ($name:literal) => {
        include_str!(concat!("../../../tests/scenarios/rma/", $name, ".scn"))
    };
}

#[test]
fn groups_that_do_not_match() {
    let found = drawn("groups_that_do_not_match", Check::DeadlockFreedom, scenario!("wrong-group"));
    let late: Vec<Option<&str>> = found.chart.ends.iter().map(|end| end.late.as_deref()).collect();
    assert_eq!(late, [Some("rank 1 never posts for it"), Some("rank 2 never completes an access to it")]);
}

#[test]
fn locks_in_opposite_order() {
    let found = drawn("locks_in_opposite_order", Check::DeadlockFreedom, scenario!("lock-cycle"));
    assert_eq!(found.summary.matches("(Late Unlock)").count(), 2, "{}", found.summary);
    insta::assert_snapshot!("locks_in_opposite_order_narrow", found.chart.text(50, false));
}

#[test]
fn a_fence_is_missing() {
    drawn("a_fence_is_missing", Check::RmaRace, scenario!("missing-fence"));
}

#[test]
fn an_epoch_left_open() {
    let found = drawn("an_epoch_left_open", Check::EpochUsage, scenario!("left-open"));
    let [bar] = &found.chart.bars[..] else { panic!("{:?}", found.chart.bars) };
    assert_eq!(bar.completes, None);
}

#[test]
fn a_put_and_a_load() {
    drawn("a_put_and_a_load", Check::RmaRace, scenario!("load-after-test"));
}

/// The exposure is deferred behind the access that its rank has closed.
#[test]
fn an_access_and_an_exposure_that_is_deferred() {
    drawn("an_exposure_that_is_deferred", Check::DeadlockFreedom, scenario!("access-then-exposure"));
}

/// Fetches go to their targets and come back; gets come, puts go.
#[test]
fn each_kind_of_access_has_its_arrow() {
    let text = "\
ranks 2
window w 64
rank 0
  lock w at 1 shared
  fetch_op w at 1
  get w from 1 size 8 at 8
  put w to 1 size 8 at 16
  unlock w at 1
  lock w at 1 shared
  put w to 1 size 8
rank 1
  compute 1us
";
    let found = drawn("each_kind_of_access", Check::EpochUsage, text);
    let arrows = |kind: ArrowKind| {
        let of_kind = found.chart.arrows.iter().filter(move |arrow| arrow.kind == kind);
        of_kind.map(|arrow| (arrow.from, arrow.to, &*arrow.label)).collect::<Vec<_>>()
    };
    assert_eq!(arrows(ArrowKind::Transfer), [(1, 0, "get (line 6)"), (0, 1, "put (line 7)")]);
    assert_eq!(arrows(ArrowKind::Exchange), [(1, 0, "fetch_op (line 5)")]);
}

/// The bars of a rank, and the texts of the rows in which they begin, are closed, and end.
fn calls(chart: &Chart, bar: &EpochBar) -> [String; 3] {
    let text = |row: usize| chart.rows[row].text.clone();
    let closed = bar.parts.iter().find(|part| part.is_closed);
    let ends = bar.completes.map_or(String::new(), text);
    [text(bar.parts[0].from), closed.map_or(String::new(), |part| text(part.from)), ends]
}

#[test]
fn bars_begin_and_end_in_the_rows_of_their_calls() {
    let text = "\
ranks 2
window w 8
rank 0
  start w to [1]
  put w to 1 size 8
  complete w
  isend to 1 tag 0 size 8
rank 1
  post w from [0]
  wait_epoch w
";
    let chart = counterexample(text, Check::RequestLeak).chart;
    let calls: Vec<_> = chart.bars.iter().map(|bar| (chart.lanes[bar.lane], calls(&chart, bar))).collect();
    let words = |words: [&str; 3]| words.map(str::to_owned);
    assert_eq!(
        calls,
        [
            (0, words(["4: start w to [1]", "6: complete w", "transfer complete, line 6 complete"])),
            (1, words(["9: post w from [0]", "", ""])),
        ]
    );
}

/// Rank 1 has closed its fence epoch, and so has rank 0, whose data is not there yet.
#[test]
fn data_on_its_way_is_an_early_fence() {
    let text = "\
ranks 2
window w 8
rank 0
  fence w
  put w to 1 size 8 buf b
  e = ifence w
  recv from 1 tag 0 size 8
  write buf b
  wait e
rank 1
  fence w
  e = ifence w
  s = isend to 0 tag 0 size 8
  wait e s
";
    let found = counterexample(text, Check::BufferSafety);
    assert!(
        found.summary.contains("Meanwhile rank 1 waits at line 14 (`wait e s`): Early Fence of rank 0."),
        "{}",
        found.summary
    );
    let late: Vec<_> =
        found.chart.rows.iter().filter_map(|row| Some((&*row.text, row.late.as_deref()?))).collect();
    assert_eq!(late, [("12: e = ifence w", "Early Fence of rank 0")]);
}

#[test]
fn a_rank_that_forgets_a_fence_is_waited_for() {
    let text = "\
ranks 3
window w 8
rank 0..1
  fence w
  load w at 0 size 8
  fence w
rank 2
  fence w
";
    let found = counterexample(text, Check::DeadlockFreedom);
    let reason = "for rank 2 to call fence on window `w`, but rank 2 has finished";
    assert!(found.summary.contains(reason), "{}", found.summary);
}
