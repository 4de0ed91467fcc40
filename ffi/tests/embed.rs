//! The C library as a host has it: installed, found by pkg-config, and linked with the example by every
//! compiler of this machine. Two processes of the example run under every checker that is here, and their
//! traces are replayed.

use carrousel_trace::Trace;
use carrousel_verify::replay::{self, ReplayVerdict};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What the ranks say, in order.
const SAID: [&[&str]; 2] = [
    &["rendezvous", "rendezvous", "rendezvous", "rendezvous", "to itself", "window, put", "window, exposed"],
    &[
        "rendezvous",
        "rendezvous",
        "rendezvous",
        "rendezvous",
        "eager",
        "eager, after a later one",
        "to itself",
        "window, put",
        "window, get",
        "window, under a lock",
    ],
];

/// What the static library needs of the system: `Libs.private` of pkg-config.
const SYSTEM: [&str; 7] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    output
}

/// Whether a tool is on this machine; if not, the test says what it leaves out.
fn has(tool: &str) -> bool {
    let there =
        Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !there {
        println!("skipped: {tool} is not here");
    }
    there
}

/// Installs the library below a directory.
fn install(prefix: &Path) {
    let binary = std::env::current_exe().expect("it has a path");
    let target = binary.ancestors().nth(3).expect("it is in the target directory");
    run(Command::new("make")
        .current_dir(root())
        .arg("install")
        .arg(format!("PREFIX={}", prefix.display()))
        .arg(format!("CARGO_TARGET_DIR={}", target.display()))
        .arg(format!("CARGO={}", env!("CARGO")))
        .arg("PROFILE=dev"));
}

fn flags(prefix: &Path, wanted: &str) -> Vec<String> {
    let output = run(Command::new("pkg-config")
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .args([wanted, "carrousel-ffi"]));
    text(&output.stdout).split_whitespace().map(str::to_owned).collect()
}

/// Builds the example. False if this machine lacks what `more` needs. Older valgrinds read no later DWARF.
fn build(prefix: &Path, compiler: &str, more: &[&str], is_static: bool, program: &Path) -> bool {
    let source = root().join("examples/embed");
    let mut command = Command::new(compiler);
    command
        .args(["-std=c99", "-O1", "-gdwarf-4", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(program)
        .args(more);
    command.args(flags(prefix, "--cflags")).args([source.join("main.c"), source.join("engine.c")]);
    if is_static {
        command.arg(prefix.join("lib/libcarrousel_ffi.a"));
        command.args(SYSTEM);
    } else {
        command.args(flags(prefix, "--libs")).arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
    }
    let output = command.output().expect("it can be started");
    let err = text(&output.stderr);
    if !more.is_empty() && err.contains("cannot find") {
        println!("skipped: {compiler} {} lacks its library", more.join(" "));
        return false;
    }
    assert!(output.status.success(), "{command:?}\n{err}");
    true
}

/// Runs both ranks, and replays what they have recorded.
fn run_job(program: &Path, under: &[&str], traces: &Path) {
    fs::create_dir_all(traces).expect("it can be made");
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = listener.local_addr().expect("it is bound").port().to_string();
    drop(listener);
    let start = |rank: &str| {
        let mut command = Command::new(under.first().map_or(program.as_os_str(), |first| first.as_ref()));
        if let [_, options @ ..] = under {
            command.args(options).arg(program);
        }
        command.args([rank, &port]).env("CARROUSEL_TRACE", traces);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started")
    };
    let ranks = [start("0"), start("1")];
    for (rank, (child, said)) in ranks.into_iter().zip(SAID).enumerate() {
        let output = child.wait_with_output().expect("it ends");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{} {under:?}, rank {rank}: {out}{err}", program.display());
        let lines: Vec<&str> = out.lines().filter_map(|line| line.split(": ").nth(1)).collect();
        assert_eq!(lines, said, "{out}");
    }
    let checked = check(traces);
    assert_eq!(checked, Ok(ReplayVerdict::Allowed));
}

/// As `carrousel check`: what the model says of the traces, or why they are none.
fn check(traces: &Path) -> Result<ReplayVerdict, String> {
    let trace = Trace::open(traces).map_err(|error| error.to_string())?;
    let report = replay::check(trace, &|_| ()).map_err(|error| error.to_string())?;
    Ok(report.verdict)
}

#[test]
fn the_example_runs_with_every_compiler_and_under_every_checker() {
    let directory = tempfile::tempdir().expect("there is room");
    let prefix = directory.path().join("prefix");
    install(&prefix);
    let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let mut runs = 0;
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has(compiler)) {
        let variants: [(&str, &[&str], bool); 3] =
            [("shared", &[], false), ("static", &[], true), ("sanitized", &sanitizers, true)];
        for (name, more, is_static) in variants {
            let program = directory.path().join(format!("{compiler}-{name}"));
            if build(&prefix, compiler, more, is_static, &program) {
                run_job(&program, &[], &directory.path().join(format!("{compiler}-{name}-traces")));
                runs += 1;
            }
        }
    }
    assert!(runs > 0, "no compiler is here");
    if has("valgrind") {
        let program =
            fs::read_dir(directory.path()).expect("it can be read").flatten().map(|entry| entry.path());
        let program: PathBuf = program
            .into_iter()
            .find(|path| path.ends_with("gcc-static") || path.ends_with("clang-static"))
            .expect("one");
        let options = ["valgrind", "--quiet", "--leak-check=full", "--error-exitcode=9"];
        run_job(&program, &options, &directory.path().join("valgrind-traces"));
    }
}

/// A trace of the example that was changed is found to be changed, and one of a packet that nobody sent to be
/// impossible.
#[test]
fn a_trace_of_the_example_that_is_wrong_is_refused() {
    let directory = tempfile::tempdir().expect("there is room");
    let (prefix, program) = (directory.path().join("prefix"), directory.path().join("embed"));
    install(&prefix);
    let compiler = ["gcc", "clang"].into_iter().find(|compiler| has(compiler)).expect("a compiler is here");
    build(&prefix, compiler, &[], true, &program);
    let traces = directory.path().join("traces");
    run_job(&program, &[], &traces);
    let part = traces.join("rank-1.jsonl");
    let kept = fs::read_to_string(&part).expect("it is there");
    let changed = |text: &str| {
        fs::write(&part, text).expect("it can be written");
        check(&traces)
    };
    let other = kept.replacen("\"len\":64", "\"len\":65", 1);
    assert_ne!(other, kept);
    let refused = changed(&other).expect_err("it was changed");
    assert!(refused.contains("check value"), "{refused}");
    assert_eq!(changed(&carrousel_trace::sealed(other.lines())), Ok(ReplayVerdict::Departed));
    assert_eq!(changed(&kept), Ok(ReplayVerdict::Allowed));
}

/// Every function by which a C library gives memory is counted, those that the library calls included.
#[test]
fn an_object_with_an_allocator_takes_nothing_from_malloc() {
    let directory = tempfile::tempdir().expect("there is room");
    let (prefix, program) = (directory.path().join("prefix"), directory.path().join("no_malloc"));
    install(&prefix);
    let compiler = ["gcc", "clang"].into_iter().find(|compiler| has(compiler)).expect("a compiler is here");
    let mut build = Command::new(compiler);
    build
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .args(flags(&prefix, "--cflags"));
    let counted = ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign"];
    build.args(counted.map(|name| format!("-Wl,--wrap={name}"))).arg(root().join("tests/no_malloc.c"));
    build.arg(prefix.join("lib/libcarrousel_ffi.a")).args(SYSTEM);
    run(&mut build);
    run(&mut Command::new(program));
}

/// What the shared library exports has the version of the interface, and nothing else is there.
#[test]
fn the_symbols_of_the_shared_library_have_versions() {
    let directory = tempfile::tempdir().expect("there is room");
    install(directory.path());
    let library = directory.path().join("lib/libcarrousel_ffi.so.1");
    let output =
        run(Command::new("nm").args(["-D", "--defined-only", "--with-symbol-versions"]).arg(&library));
    let symbols = text(&output.stdout);
    let names: Vec<&str> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let header = fs::read_to_string(root().join("include/carrousel.h")).expect("it is there");
    let strange: Vec<_> = names
        .iter()
        .filter(|name| **name != "CARROUSEL_1")
        .filter(|name| {
            name.strip_suffix("@@CARROUSEL_1").is_none_or(|name| !header.contains(&format!("{name}(")))
        })
        .collect();
    assert!(strange.is_empty() && names.len() > 50, "{strange:?}");
}
