//! Example programs run, and their own checks of what has come hold.

use carrousel_tests::{carrousel, example, printed, stdout};

#[test]
fn a_plain_program_overlaps_in_both_orders_and_its_bytes_are_right() {
    let output =
        carrousel().args(["run", "-n", "2", "--"]).arg(example("overlap")).output().expect("it runs");
    // A byte that is not what was sent is a failure of the program.
    assert!(output.status.success(), "{}", printed(&output));
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    let starts =
        ["receiver first: irecv ", "receiver first: isend ", "sender first: irecv ", "sender first: isend "];
    assert_eq!(lines.len(), starts.len(), "{}", printed(&output));
    for (line, start) in lines.iter().zip(starts) {
        let times =
            line.strip_prefix(start).and_then(|rest| rest.strip_suffix(" us")?.split_once(" us, its wait "));
        let (call, wait) = times.unwrap_or_else(|| panic!("{start:?} does not begin {line:?}"));
        assert!([call, wait].iter().all(|us| us.parse::<f64>().is_ok_and(|us| us >= 0.0)), "{line:?}");
    }
}
