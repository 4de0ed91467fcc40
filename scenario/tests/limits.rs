//! The limits that keep hostile files cheap: what is below one is read, what is above it is refused,
//! and not only once it has cost time and memory.

use std::io::{self, Read};

use carrousel_scenario::{Error, Problem, limits, load, parse, read};

fn problem(text: &str) -> Problem {
    match load("f", text.as_bytes()) {
        Ok(_) => panic!("no error in a file of {} bytes", text.len()),
        Err(error) => error.faults()[0].problem.clone(),
    }
}

/// `head`, then `line` as often as it fits into the largest file.
fn full_of(line: &str, head: &str) -> String {
    let times = (limits::FILE_BYTES_MAX - head.len()) / line.len();
    head.to_owned() + &line.repeat(times)
}

/// Counts what is read from it, which never ends.
struct Endless(usize);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer.fill(b'#');
        self.0 += buffer.len();
        Ok(buffer.len())
    }
}

#[test]
fn an_endless_file_is_not_read_to_its_end() {
    let mut endless = Endless(0);
    let bytes = read(&mut endless).expect("it can be read");
    assert!(endless.0 <= limits::FILE_BYTES_MAX + 1, "{} bytes were read", endless.0);
    let error = load("f", &bytes).expect_err("it is too large");
    assert_eq!(error.faults()[0].problem, Problem::FileTooLarge);
    assert_eq!(error.faults().len(), 1);
}

#[test]
fn a_file_may_be_as_large_as_the_limit() {
    let file = |bytes: usize| format!("ranks 1\n#{}", "x".repeat(bytes - "ranks 1\n#\n".len())) + "\n";
    assert!(load("f", file(limits::FILE_BYTES_MAX).as_bytes()).is_ok());
    assert_eq!(problem(&file(limits::FILE_BYTES_MAX + 1)), Problem::FileTooLarge);
}

#[test]
fn what_cannot_be_read_is_an_error() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    assert_eq!(read(Broken).expect_err("it is broken").to_string(), "broken");
}

#[test]
fn indentation_cannot_make_a_large_file_of_a_small_one() {
    let deep = |inside: &str| {
        let (open, close) = ("repeat 1\n".repeat(64), "end\n".repeat(64));
        format!("ranks 1\nrank 0\n{open}{inside}{close}")
    };
    // Of a kilobyte each; in canonical layout the second one is indented to over 4 MiB.
    assert!(load("f", deep(&"#\n\n".repeat(500)).as_bytes()).is_ok());
    match problem(&deep(&"#\n".repeat(40_000))) {
        Problem::LayoutTooLarge { bytes } => assert!(bytes > limits::FILE_BYTES_MAX, "{bytes}"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_tree_is_refused_before_it_outgrows_its_memory() {
    let dense = [
        full_of("[0+0]", "ranks 2\nnodes "),
        full_of("nodes [0+0][0+0][0+0]\n", "ranks 2\n"),
        full_of("start w to [--0 --0 --0 --0 --0 --0 --0 --0 --0 --0]\n", "ranks 2\nwindow w 8\nrank 0\n"),
        full_of(&format!("allreduce size {}0{}\n", "(".repeat(64), ")".repeat(64)), "ranks 2\nrank 0\n"),
        full_of("#\nbarrier\n", "ranks 2\nrank 0\n"),
    ];
    for text in dense {
        let error: Error = match parse("f", text.as_bytes()) {
            Ok(ast) => panic!("{} bytes of tree", ast.memory),
            Err(error) => error,
        };
        let first = &error.faults()[0].problem;
        assert!(matches!(first, Problem::TooMuchText | Problem::TooManyItems), "{first}");
        assert_eq!(error.faults().len(), 1, "what follows is not worth a message");
    }
    let plain = full_of("  send to 1 tag 0 size 64KiB\n", "ranks 2\nrank 0\n");
    let ast = parse("f", plain.as_bytes()).expect("ordinary statements fit, however many");
    assert!(ast.memory < limits::TREE_MEMORY_MAX);
}

#[test]
fn a_million_statements_are_right_whatever_they_name() {
    let all = |program: &str| format!("ranks 65536\nwindow w 8\nrank *\n{program}");
    let statement = |i| format!("l{i}: r{i} = isend to me tag 0 size 8 buf b{i}\n");
    let named: String = (0..15).map(statement).collect();
    let halo = "repeat 5\na = irecv from any tag me size 8\nb = isend to me tag me size 8\nwait a b\nend\n";
    for program in [&named, halo, &"start w to [me (me+1)%size]\n".repeat(15)] {
        let loaded = load("f", all(program).as_bytes()).expect("it has no more statements than may be");
        let statements = loaded.programs.iter().map(|program| program.steps.len() as u64).sum::<u64>();
        assert!(statements <= limits::STATEMENTS_MAX && statements > limits::STATEMENTS_MAX * 9 / 10);
    }
}

#[test]
fn the_names_of_a_rank_share_the_memory_of_the_tree() {
    let file = |statements: u32| {
        let statement = |i| format!("l{i:x}:r{i:x}=ibarrier\n");
        let program: String = (0..statements).map(statement).collect();
        format!("ranks 1\nrank 0\n{program}")
    };
    assert!(load("f", file(130_000).as_bytes()).is_ok());
    assert_eq!(problem(&file(132_000)), Problem::TooMuchMemory);
}

#[test]
fn signs_and_parentheses_are_work() {
    let minus = format!("{}me", "-".repeat(64));
    let parentheses = format!("{}me{}", "(".repeat(64), ")".repeat(64));
    for operand in [minus, parentheses] {
        let sum = vec![operand; 1_000].join("+");
        assert!(load("f", format!("ranks 2\nrank *\nsend to 0 tag 0 size {sum}\n").as_bytes()).is_ok());
        let text = format!("ranks 2000\nrank *\nsend to 0 tag 0 size {sum}\n");
        assert_eq!(problem(&text), Problem::TooMuchWork);
    }
}

#[test]
fn suggestions_are_looked_for_among_the_first_thousand_names() {
    let file = |before: u32| {
        let others: String = (0..before).map(|i| format!("window v{i} 1\n")).collect();
        format!("ranks 1\n{others}window halo_left 1\nrank 0\nfence halo_lefd\n")
    };
    let help = |text: &str| load("f", text.as_bytes()).expect_err("no such window").render(false);
    assert!(help(&file(999)).contains("did you mean `halo_left`?"));
    assert!(!help(&file(1_000)).contains("did you mean"));
}

#[test]
fn faults_are_no_more_than_a_person_reads() {
    for line in ["x\n", "send to\n", "rank 7\n", "window w 1\n", "end\n", "\0\n", "wait r\n"] {
        let text = full_of(line, "ranks 1\nrank 0\n");
        let error = load("f", text.as_bytes()).expect_err("every line is wrong");
        assert!(error.faults().len() <= limits::FAULTS_MAX, "{line:?}");
        assert!(error.render(false).len() < 20_000, "{line:?}");
    }
}
