//! The parameter file: written files can be read again, and errors name their line.

use carrousel_registration::{CLASSES, Path, Thresholds};
use proptest::prelude::*;

/// A file in which every line can be replaced.
const RIGHT: [&str; 4] = [
    "eager_by_write 1 2 3 4 5 6 7 8 9",
    "eager_by_send 1 2 3 4 5 6 7 8 9",
    "put 1 2 3 4 5 6 7 8 never",
    "get 1 2 3 4 5 6 7 8 9",
];

fn read(lines: &[&str]) -> Result<Thresholds, String> {
    lines.join("\n").parse::<Thresholds>().map_err(|error| error.to_string())
}

#[test]
fn the_published_thresholds_survive_the_file() {
    let text = Thresholds::PUBLISHED.to_string();
    assert_eq!(text.parse(), Ok(Thresholds::PUBLISHED), "{text}");
}

#[test]
fn the_file_is_a_table_for_people() {
    let thresholds = Thresholds { put: [Thresholds::NEVER; CLASSES], ..Thresholds::PUBLISHED };
    let expected = "\
# Uses of a buffer from which on registering it pays, by path and size of message.
# KiB from            0      1      2      3      4      5      6      7      8
eager_by_write      432    200    110     76     60     48     40     36     32
eager_by_send      1568    448    224    131     95     75     65     55     49
put               never  never  never  never  never  never  never  never  never
get                 196    128    128    125     56     33     29     26     25
";
    assert_eq!(thresholds.to_string(), expected);
}

#[test]
fn comments_empty_lines_and_any_order_are_read() {
    let [write, send, put, get] = RIGHT;
    let get = format!("\t{get}   # 1 2 3 are not counted\r");
    let read = read(&["# measured", "", get.as_str(), put, "   ", send, write]).expect("it is right");
    assert_eq!(read.of(Path::Get), &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(read.of(Path::Put)[CLASSES - 1], Thresholds::NEVER);
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_what_was_expected() {
    let wrong = |at: usize, line: &'static str| {
        let mut lines = RIGHT;
        lines[at] = line;
        read(&lines).expect_err("it is wrong")
    };
    let names = "expected eager_by_write, eager_by_send, put or get";
    assert_eq!(wrong(2, "puts 1 2"), format!("line 3: `puts` is no path: {names}"));
    assert_eq!(
        wrong(3, "put 1 2 3 4 5 6 7 8 9"),
        "line 4: put has a line already, line 3: expected one for each path"
    );
    let number = |found| {
        format!("`{found}` is no number of uses: expected 0 to 4294967294, or `never` where it never pays")
    };
    for found in ["x", "-1", "1.5", "4294967296", "NEVER"] {
        let line = format!("get 1 2 {found} 4 5 6 7 8 9");
        let lines = [RIGHT[0], RIGHT[1], RIGHT[2], &line];
        assert_eq!(read(&lines), Err(format!("line 4: {}", number(found))));
    }
    let count = "expected 9, for messages from 0 KiB, 1 KiB, up to 8 KiB and more";
    assert_eq!(wrong(0, "eager_by_write 1 2"), format!("line 1: eager_by_write has 2 numbers: {count}"));
    assert_eq!(wrong(3, "get 1 2 3 4 5 6 7 8 9 10"), format!("line 4: get has 10 numbers: {count}"));
    assert_eq!(wrong(1, "get # 1 2"), format!("line 2: get has 0 numbers: {count}"));
    assert_eq!(
        wrong(1, "# none"),
        "line 5, the end: there is no line for eager_by_send: expected one for each path"
    );
    assert!(read(&[]).is_err_and(|error| error.starts_with("line 1, the end")));
}

#[test]
fn a_file_that_is_none_is_not_repeated() {
    let error =
        format!("a{}", "ü".repeat(1 << 20)).parse::<Thresholds>().expect_err("it is none").to_string();
    assert!(error.len() < 200, "{}", error.len());
}

/// Any row; `never` more often than one of all numbers would be.
fn row() -> impl Strategy<Value = [u32; CLASSES]> {
    prop::array::uniform9(prop_oneof![3 => any::<u32>(), 1 => Just(Thresholds::NEVER), 1 => 0..3u32])
}

/// Lines that are nearly right.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let name = prop::sample::select(vec!["eager_by_write", "eager_by_send", "put", "get", "#", "other", ""]);
    let word = prop_oneof![30 => "[0-9]{1,10}", 4 => Just("never".to_owned()), 1 => "#|aé{1,30}"];
    let numbers = prop::collection::vec(word, 7..12);
    let line = (name, numbers).prop_map(|(name, numbers)| format!("{name} {}", numbers.join(" ")));
    prop::collection::vec(line, 0..6)
}

proptest! {
    #[test]
    fn all_thresholds_survive_the_file(
        eager_by_write in row(), eager_by_send in row(), put in row(), get in row(),
    ) {
        let thresholds = Thresholds { eager_by_write, eager_by_send, put, get };
        prop_assert_eq!(thresholds.to_string().parse(), Ok(thresholds));
    }

    #[test]
    fn any_lines_of_words_are_read_or_refused(lines in lines()) {
        let _ = lines.join("\n").parse::<Thresholds>();
    }
}
