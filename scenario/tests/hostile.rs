//! Files that were made to hurt end soon, and in little memory.
//!
//! Each has a process of its own, because the peak of memory is one of the process.

use std::process::Command;
use std::time::{Duration, Instant};

use carrousel_scenario::{limits, load};

/// Far above what it takes (under a second each, optimized), so that a slow machine is no failure;
/// far below what any of the cases takes when its guard is gone.
const TIME_MAX: Duration = Duration::from_secs(15);
/// 100 MB, with the text of the file, for which a command has a copy too. What is without fault may
/// take more, if it has as many statements as may be and each has names of its own.
const MEMORY_KB_MAX: u64 = 100_000_000 / 1024;
/// Names the case for a process that has one only.
const CASE: &str = "CARROUSEL_HOSTILE_CASE";

/// What a line is repeated to: with a beginning before it, just below the limit.
const FULL: usize = limits::FILE_BYTES_MAX - 1_000;

/// A file of `ranks` ranks with this program on all of them.
fn all(ranks: u32, program: &str) -> String {
    format!("ranks {ranks}\nwindow w 8\nrank *\n{program}")
}

fn lines(line: &str) -> String {
    line.repeat(FULL / line.len())
}

/// A file is made when it is its turn: what the texts take together is not what is measured.
type Case = (&'static str, fn() -> String);

const SEND: &str = "e = isend to me tag 0 size 1\n";

fn deep(what: &str) -> String {
    what.repeat(64)
}

const WRONG_FILES: &[Case] = &[
    ("parentheses", || format!("ranks {}", "(".repeat(FULL))),
    ("minus signs", || format!("ranks {}", "-".repeat(FULL))),
    ("digits", || format!("ranks {}", "9".repeat(FULL))),
    ("operands", || format!("ranks {}1", "1+".repeat(FULL / 2))),
    ("a word", || "a".repeat(FULL)),
    ("a title", || format!("scenario \"{}", "x".repeat(FULL))),
    ("line ends", || "\n".repeat(FULL)),
    ("comments", || lines("#\n")),
    ("NUL", || "\0".repeat(FULL)),
    ("errors", || lines("x\n")),
    ("open repeats", || all(2, &lines("repeat 2\n"))),
    ("a bomb", || all(2, &format!("{}barrier\n{}", deep("repeat 1000000000\n"), deep("end\n")))),
    ("a bomb for all", || all(65_536, &"barrier\n".repeat(16))),
    ("many blocks", || format!("ranks 65536\n{}", lines("rank *\nbarrier\n"))),
    ("statements", || all(2, &lines("barrier\n"))),
    ("statements with arguments", || all(2, &lines("fence w\n"))),
    ("rounds of each rank", || all(65_536, &lines("repeat me\nend\n"))),
    ("repeats of nothing", || all(65_536, &format!("{SEND}{}", "repeat 0\nend\n".repeat(300_000)))),
    ("a group of each rank", || all(65_536, &format!("start w to [{}]\n", "me ".repeat(65_536)))),
    ("wait of each rank", || all(65_536, &format!("{SEND}wait {}\n", "e ".repeat(65_000)))),
    ("a wrong last rank", || all(65_536, &format!("{SEND}send to me+1 tag 0 size 1\n"))),
    ("nodes", || format!("ranks 65536\nnodes {}", "[0]".repeat(FULL / 3))),
    ("unknown windows", || {
        let windows: String = (0..1_000).map(|i| format!("window window_{i} 1\n")).collect();
        format!("ranks 2\n{windows}rank 0\n{}", "fence vindov_x\n".repeat(250_000))
    }),
    ("unknown requests of one rank", || {
        let requests: String = (0..1_000).map(|i| format!("request_{i} = ibarrier\n")).collect();
        format!("ranks 1\nrank 0\n{requests}{}", "wait reqest_x\n".repeat(250_000))
    }),
    ("a file above the limit", || "#".repeat(limits::FILE_BYTES_MAX + 1)),
    ("minus signs in groups", || format!("ranks 2\nnodes [{}", "--0 ".repeat(FULL / 4))),
    ("sums in groups", || format!("ranks 2\n{}", lines(&format!("nodes {}\n", "[0+0] ".repeat(1_000))))),
    ("labels", || (0..).map(|i| format!("l{i}:barrier\n")).take(250_000).fold(all(2, ""), |a, b| a + &b)),
    ("names of each rank, the last one unknown", || {
        let statement = |i| format!("l{i}: r{i} = isend to me tag me size 8 buf b{i}\n");
        all(65_536, &format!("{}wait q\n", (0..14).map(statement).collect::<String>()))
    }),
    ("names of one rank", || {
        let statement = |i| format!("l{i}:r{i}=isend to me tag 0 size 8 buf b{i}\n");
        all(65_536, "rank 1\n") + &(0..80_000).map(statement).collect::<String>() + "wait q\n"
    }),
    ("groups of each rank, the last one wrong", || {
        let group = "start w to [me (me+1)%size]\n";
        all(65_536, &format!("{}start w to [me+1]\n", group.repeat(14)))
    }),
    ("collectives of each rank, the last one another", || {
        let rank = "barrier\n".repeat(7);
        let last = "rank 65535\nallreduce size 8\nrank 0..65534\nbarrier\n";
        format!("ranks 65536\nrank *\nrepeat 1+me/65536\n{rank}end\n{rank}{last}")
    }),
    ("signs of each rank", || {
        let sum = vec![format!("{}me", "-".repeat(64)); 1_000].join("+");
        all(2_000, &format!("allreduce size {sum}\n").repeat(7))
    }),
    ("messages asked for in repeats", || {
        let (start, end) = (deep("repeat 1\n"), deep("end\n"));
        let receive = "r = recv from any tag any size 8\n";
        all(
            2,
            &format!("{receive}{start}{}{end}wait q\n", "send to source(r) tag 0 size 1\n".repeat(130_000)),
        )
    }),
    ("messages asked for by each rank", || {
        let receive = "r = recv from any tag any size 8\n";
        let sum = vec!["source(r)+me"; 500].join("+");
        all(65_536, &format!("{receive}{}", format!("send to {sum} tag 0 size 1\n").repeat(14)))
    }),
    ("comments in repeats", || all(2, &format!("{}{}", deep("repeat 1\n"), lines("#\n")))),
    ("indentation", || {
        all(2, &format!("{}{}{}", deep("repeat 1\n"), "#\n".repeat(2_000_000), deep("end\n")))
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

fn cases() -> impl Iterator<Item = (&'static Case, bool)> {
    let wrong = WRONG_FILES.iter().map(|case| (case, false));
    wrong.chain(RIGHT_FILES.iter().map(|case| (case, true)))
}

#[test]
fn hostile_files_end_soon_and_in_little_memory() {
    let this = std::env::current_exe().expect("a test knows its file");
    for (&(name, _), _) in cases() {
        let one = ["--exact", "one_hostile_file", "--nocapture"];
        let output = Command::new(&this).args(one).env(CASE, name).output().expect("it can be started");
        let printed = String::from_utf8_lossy(&output.stdout);
        println!("{}", printed.lines().find(|line| line.starts_with("case ")).unwrap_or(name));
        assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Not a test of its own: what the other test starts this program again for, once for each case.
#[test]
fn one_hostile_file() {
    let Ok(wanted) = std::env::var(CASE) else { return };
    let found = cases().find(|((name, _), _)| *name == wanted);
    let (&(name, file), is_right) = found.expect("a case");
    let text = file();
    let start = Instant::now();
    let loaded = load(name, text.as_bytes());
    assert_eq!(loaded.is_ok(), is_right, "{name}: {:?}", loaded.err().map(|error| error.to_string()));
    if let Err(error) = loaded {
        assert!(error.render(false).len() < 20_000, "{name}: a long message");
    }
    let took = start.elapsed();
    // Behind the name of the test, which stands on the same line.
    println!("\ncase {name}: {took:?}, peak {:?} kB", peak_kb());
    assert!(took < TIME_MAX, "{name} took {took:?}");
    if let Some(peak) = peak_kb() {
        assert!(peak < MEMORY_KB_MAX, "{name} took the peak to {peak} kB");
    }
}
