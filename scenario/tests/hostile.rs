//! Files that were made to hurt end soon, and in little memory.
//!
//! All cases are one test in a binary of its own, because the peak of memory is one of the process.

use std::time::{Duration, Instant};

use carrousel_scenario::load;

/// Far above what it takes (under a second each, optimized), so that a slow machine is no failure;
/// far below what any of the cases takes when its guard is gone.
const TIME_MAX: Duration = Duration::from_secs(15);
/// As above; the largest cases take some 140 MB, their texts of 10 MB included.
const MEMORY_KB_MAX: u64 = 300_000;

const MEGABYTES_10: usize = 10_000_000;

/// A file of `ranks` ranks with this program on all of them.
fn all(ranks: u32, program: &str) -> String {
    format!("ranks {ranks}\nwindow w 8\nrank *\n{program}")
}

fn lines_of_10_megabytes(line: &str) -> String {
    line.repeat(MEGABYTES_10 / line.len())
}

/// A file is made when it is its turn: what the texts take together is not what is measured.
type Case = (&'static str, fn() -> String);

const SEND: &str = "e = isend to me tag 0 size 1\n";

fn deep(what: &str) -> String {
    what.repeat(64)
}

const WRONG_FILES: &[Case] = &[
    ("parentheses", || format!("ranks {}", "(".repeat(MEGABYTES_10))),
    ("minus signs", || format!("ranks {}", "-".repeat(MEGABYTES_10))),
    ("digits", || format!("ranks {}", "9".repeat(MEGABYTES_10))),
    ("operands", || format!("ranks {}1", "1+".repeat(MEGABYTES_10 / 2))),
    ("a word", || "a".repeat(MEGABYTES_10)),
    ("a title", || format!("scenario \"{}", "x".repeat(MEGABYTES_10))),
    ("line ends", || "\n".repeat(MEGABYTES_10)),
    ("comments", || lines_of_10_megabytes("#\n")),
    ("NUL", || "\0".repeat(MEGABYTES_10)),
    ("a million errors", || "x\n".repeat(1_000_000)),
    ("open repeats", || all(2, &lines_of_10_megabytes("repeat 2\n"))),
    ("a bomb", || all(2, &format!("{}barrier\n{}", deep("repeat 1000000000\n"), deep("end\n")))),
    ("a bomb for all", || all(65_536, &"barrier\n".repeat(16))),
    ("many blocks", || format!("ranks 65536\n{}", "rank *\nbarrier\n".repeat(500_000))),
    ("statements", || all(2, &lines_of_10_megabytes("barrier\n"))),
    ("statements with arguments", || all(2, &lines_of_10_megabytes("fence w\n"))),
    ("rounds of each rank", || all(65_536, &"repeat me\nend\n".repeat(500_000))),
    ("repeats of nothing", || all(65_536, &format!("{SEND}{}", "repeat 0\nend\n".repeat(500_000)))),
    ("a group of each rank", || all(65_536, &format!("start w to [{}]\n", "me ".repeat(65_536)))),
    ("wait of each rank", || all(65_536, &format!("{SEND}wait {}\n", "e ".repeat(65_000)))),
    ("a wrong last rank", || all(65_536, &format!("{SEND}send to me+1 tag 0 size 1\n"))),
    ("nodes", || format!("ranks 65536\nnodes {}", "[0]".repeat(MEGABYTES_10 / 3))),
    ("unknown windows", || {
        let windows: String = (0..1_000).map(|i| format!("window window_{i} 1\n")).collect();
        format!("ranks 2\n{windows}rank 0\n{}", "fence vindov_x\n".repeat(500_000))
    }),
    ("unknown requests of one rank", || {
        let requests: String = (0..1_000).map(|i| format!("request_{i} = ibarrier\n")).collect();
        format!("ranks 1\nrank 0\n{requests}{}", "wait reqest_x\n".repeat(500_000))
    }),
    ("unknown requests", || all(65_536, &format!("{}wait f\n", SEND.repeat(14)))),
];

const RIGHT_FILES: &[Case] = &[
    ("empty repeats", || all(2, &format!("{}{}barrier\n", deep("repeat 1000000000\n"), deep("end\n")))),
    ("groups a million times", || {
        let members: String = (0..1_000).map(|rank| format!("{rank} ")).collect();
        format!("ranks 1000\nwindow w 8\nrank 0\nrepeat 1000000\nstart w to [{members}]\nend\n")
    }),
    ("waits a million times", || {
        let waits = format!("wait {}\n", "e ".repeat(65_000));
        format!("ranks 1\nrank 0\ne = ibarrier\nrepeat 900000\n{waits}end\n")
    }),
    ("as many statements as may be", || {
        let pair = "send to (me+1)%size tag 0 size 64\nrecv from any tag me size 64\n";
        all(65_536, &format!("{}barrier\n", pair.repeat(7)))
    }),
    ("as many statements as may be, shared", || all(65_536, &"barrier\n".repeat(15))),
];

/// The most memory that this process ever had, where the system tells.
fn peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn hostile_files_end_soon_and_in_little_memory() {
    let wrong = WRONG_FILES.iter().map(|case| (case, false));
    let right = RIGHT_FILES.iter().map(|case| (case, true));
    for (&(name, file), is_right) in wrong.chain(right) {
        let text = file();
        let start = Instant::now();
        let loaded = load(name, text.as_bytes());
        assert_eq!(loaded.is_ok(), is_right, "{name}: {:?}", loaded.err().map(|error| error.to_string()));
        if let Err(error) = loaded {
            assert!(error.render(false).len() < 20_000, "{name}: a long message");
        }
        let took = start.elapsed();
        println!("{name}: {took:?}, peak {:?} kB", peak_kb());
        assert!(took < TIME_MAX, "{name} took {took:?}");
        if let Some(peak) = peak_kb() {
            assert!(peak < MEMORY_KB_MAX, "{name} took the peak to {peak} kB");
        }
    }
}
