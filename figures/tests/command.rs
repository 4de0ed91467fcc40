//! The program: what it prints and writes, and its exit status.

use std::path::Path;
use std::process::{Command, Output};

fn figures(arguments: &[&str], out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carrousel-figures"));
    command.args(arguments).arg("--out").arg(out).output().expect("it can be started")
}

/// What the schema finds wrong with a `figures.json`.
fn refused(json: &serde_json::Value) -> Option<String> {
    let schema = include_str!("../../schema/figures.schema.json");
    let schema = serde_json::from_str(schema).expect("it is JSON");
    let (mut compiler, mut all) = (boon::Compiler::new(), boon::Schemas::new());
    compiler.add_resource("schema.json", schema).expect("it is a document");
    let index = compiler.compile("schema.json", &mut all).expect("it is a schema");
    all.validate(json, index).err().map(|error| format!("{error:#}"))
}

#[test]
fn it_writes_a_page_and_json_of_the_figures_that_are_asked_for() {
    let directory = tempfile::tempdir().expect("it can be made");
    let out = directory.path().join("new");
    let Output { status, stdout, stderr } = figures(&["--few", "--only", "nb 2", "--only", "NB 8"], &out);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let table = String::from_utf8(stdout).expect("it is text");
    assert!(table.contains("NB 2") && table.contains("NB 8") && !table.contains("NB 3"), "{table}");
    // No progress bar where no terminal is.
    assert_eq!(String::from_utf8_lossy(&stderr), "");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("it was written");
    let html = read("figures.html");
    assert!(html.contains("<svg") && html.contains("id=\"NB-8\""), "{html}");
    let json: serde_json::Value = serde_json::from_str(&read("figures.json")).expect("it is JSON");
    if let Some(wrong) = refused(&json) {
        panic!("{wrong}");
    }
    let mut renamed = json.clone();
    renamed["families"][0]["figures"][0]["panels"][0]["scale"] = "logarithmic".into();
    assert!(refused(&renamed).is_some());
    let late_post = &json["families"][0]["figures"][0];
    assert_eq!(late_post["id"], "NB 2");
    let point = &late_post["panels"][0]["series"][2]["points"][1];
    assert_eq!((point["x"].as_str(), point["paper"].as_f64()), (Some("next activity"), Some(340.0)));
    assert!(point["ratio"].as_f64().is_some_and(|ratio| (0.9..1.1).contains(&ratio)), "{point}");
}

#[test]
fn a_number_that_no_figure_has_is_answered_with_those_that_there_are() {
    let directory = tempfile::tempdir().expect("it can be made");
    let Output { status, stdout, stderr } = figures(&["--only", "NB 99"], directory.path());
    assert_eq!((status.code(), stdout.len()), (Some(2), 0));
    let error = String::from_utf8_lossy(&stderr);
    assert!(error.starts_with("error: no figure begins with `NB 99`: there are NB 1, NB 2"), "{error}");
}
