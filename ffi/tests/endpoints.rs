//! What the header writes of endpoints that number their peers themselves is read, and put together by their addresses.

use carrousel_trace::Trace;
use carrousel_verify::replay::{self, ReplayVerdict};
use std::path::Path;
use std::process::Command;

#[test]
fn parts_of_endpoints_are_put_together_by_their_addresses() {
    let directory = tempfile::tempdir().expect("there is room");
    let (program, traces) = (directory.path().join("endpoints"), directory.path().join("traces"));
    std::fs::create_dir(&traces).expect("it can be made");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let has = |compiler: &&str| Command::new(compiler).arg("--version").output().is_ok();
    let compiler = ["gcc", "clang"].into_iter().find(has).expect("a compiler is here");
    let mut build = Command::new(compiler);
    build.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"]).arg(root.join("include"));
    build.arg(root.join("tests/endpoints.c")).arg("-o").arg(&program);
    assert!(build.status().expect("it can be started").success());
    assert!(Command::new(&program).arg(&traces).status().expect("it can be started").success());
    let report =
        replay::check(Trace::open(&traces).expect("it is a trace"), &|_| ()).expect("it has records");
    assert_eq!(
        (report.verdict, report.departure, &report.misuses[..]),
        (ReplayVerdict::Allowed, None, &[][..])
    );
    assert_eq!((report.ranks, report.calls, report.events, report.answers), (2, 2, 1, 1));
    let names = report.endpoints.iter().map(|name| (name.rank, name.part.as_deref(), &*name.address));
    let expected = [(0, Some("endpoint-8-0.jsonl"), "net 0"), (1, Some("endpoint-7-0.jsonl"), "net 1")];
    assert_eq!(names.collect::<Vec<_>>(), expected);
}
