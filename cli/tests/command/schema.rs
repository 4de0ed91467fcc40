//! What `--format json` prints is what its schema says, field by field: no schema allows a field that it does not name.

use crate::common::{Place, Ran};
use boon::{Compiler, SchemaIndex, Schemas};
use carrousel_trace::sealed;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A schema, as the command prints it.
pub(crate) struct Schema {
    all: Schemas,
    index: SchemaIndex,
    text: Value,
}

impl Schema {
    pub(crate) fn new(name: &str) -> Self {
        let text: Value = value(&Place::new().run(&format!("schema {name}")).status(0).out);
        let mut compiler = Compiler::new();
        let mut all = Schemas::new();
        compiler.add_resource("schema.json", text.clone()).expect("it is a document");
        let index = compiler.compile("schema.json", &mut all).expect("it is a schema");
        Self { all, index, text }
    }

    /// What is wrong with a report.
    fn refuses(&self, report: &Value) -> Option<String> {
        self.all.validate(report, self.index).err().map(|error| format!("{error:#}\n{report:#}"))
    }

    #[track_caller]
    pub(crate) fn takes(&self, report: &Value) {
        if let Some(error) = self.refuses(report) {
            panic!("{error}");
        }
    }
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn scenario(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios").join(name);
    fs::read_to_string(path).expect("it is there")
}

/// Of the schema of `verify`: the values that a field of a step may have.
fn values(schema: &Schema, field: &str) -> BTreeSet<String> {
    let of = &schema.text["$defs"]["step"]["properties"][field]["enum"];
    of.as_array().expect("they are named").iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A race of two ranks with packets of windows. Rank 2 has no part in it.
const UNFLUSHED: &str = "ranks 3\nwindow w 8\nrank 0\n  lock w at 1 shared\n  put w to 1 size 8\n  send to 1 tag 0 size 8\n  \
                         unlock w at 1\nrank 1\n  recv from 0 tag 0 size 8\n  load w at 0 size 8\nrank 2\n  \
                         lock w at 2 shared\n  unlock w at 2\n";

/// Two ranks wait for each other's lock.
const CROSSED: &str = "ranks 3\nwindow w 8\nrank 0..1\n  lock w at 1+me exclusive\n  put w to 1+me size 8\n  lock w at 2-me \
                       exclusive\n  put w to 2-me size 8\n  unlock w at 2-me\n  unlock w at 1+me\n";

/// With a rule off, an announced receive is taken for the wrong message.
const MISPREDICTED: &str = "ranks 2\nrank 0\n  irecv from 1 tag any size 64KiB\n  irecv from 1 tag any size 64KiB\n  \
                            wait all\nrank 1\n  send to 0 tag 0 size 8\n  send to 0 tag 1 size 64KiB\n";

#[test]
fn every_report_on_a_scenario_is_as_its_schema_says() {
    let schema = Schema::new("verify");
    let mut kinds = BTreeSet::new();
    let mut packets = BTreeSet::new();
    let mut verdicts = BTreeSet::new();
    for (words, name, status) in [
        ("", "halo.scn", 0),
        ("", "head-to-head.scn", 1),
        ("--portable", "eager-head-to-head.scn", 1),
        ("", "leak.scn", 0),
        ("", "reuse-before-wait.scn", 0),
        ("", "two-receives-one-buffer.scn", 0),
        ("", "truncation.scn", 0),
        ("", "wildcard-race.scn", 0),
        ("", "work-queue.scn", 0),
        ("", "missing-barrier.scn", 0),
        ("", "unflushed.scn", 1),
        ("--protocol published", "wildcard-race.scn", 0),
        ("--protocol published", "work-queue.scn", 0),
        ("--without EAGER_TAKES_ANNOUNCEMENT", "mispredicted.scn", 1),
        ("--max-states 3 --threads 1", "halo.scn", 3),
        ("--portable", "crossed.scn", 1),
    ] {
        let text = match name {
            "mispredicted.scn" => MISPREDICTED.to_owned(),
            "unflushed.scn" => UNFLUSHED.to_owned(),
            "crossed.scn" => CROSSED.to_owned(),
            name => scenario(name),
        };
        let place = Place::new().with(name, &text);
        let report = value(&place.run(&format!("verify --format json {words} {name}")).status(status).out);
        schema.takes(&report);
        assert_eq!((&report["version"], &report["file"]), (&json!(2), &json!(name)));
        for check in report["checks"].as_array().expect("a list") {
            verdicts.insert(check["verdict"].as_str().expect("text").to_owned());
            for step in check["counterexample"]["steps"].as_array().into_iter().flatten() {
                kinds.insert(step["kind"].as_str().expect("text").to_owned());
                packets.extend(step["packet"].as_str().map(str::to_owned));
            }
        }
    }
    // What the schema names is really printed.
    assert_eq!(kinds, values(&schema, "kind"));
    assert_eq!(verdicts.len(), 4, "{verdicts:?}");
    for packet in ["EAGER", "RTS", "RTR", "FIN", "ATS", "LOCK"] {
        assert!(packets.contains(packet), "{packet} is in no counterexample: {packets:?}");
    }
    let ran = Place::new().feed("verify --format json -", &scenario("halo.scn")).status(0);
    let report = value(&ran.out);
    schema.takes(&report);
    assert_eq!((&report["file"], &report["scenario"]), (&json!("<stdin>"), &json!("halo exchange")));
}

#[test]
fn a_step_says_who_does_what_with_whom() {
    let place = Place::new().with("head.scn", &scenario("head-to-head.scn"));
    let report = value(&place.run("verify --format json head.scn").status(1).out);
    let steps = &report["checks"][0]["counterexample"]["steps"];
    let own = json!({
        "kind": "statement", "rank": 0, "line": 7, "at": 0, "peer": 1, "packet": "RTS", "about": null,
        "sends": [{"packet": "RTS", "to": 1}], "what": "`send to 1 tag 0 size 1MiB`: sends RTS to rank 1",
        "matters": true, "wrong": "waits forever"
    });
    assert_eq!(steps[0], own);
    let network = json!({
        "kind": "packet", "rank": null, "line": null, "at": 0, "peer": 1, "packet": "RTS",
        "about": {"rank": 1, "line": 7}, "sends": [],
        "what": "RTS of rank 1's send (line 7) reaches rank 0, which has no receive for it yet", "matters": true
    });
    assert_eq!(steps[2], network);
}

#[test]
fn what_a_schema_does_not_name_is_no_report() {
    let place = Place::new().with("head.scn", &scenario("head-to-head.scn"));
    let schema = Schema::new("verify");
    let report = value(&place.run("verify --format json head.scn").status(1).out);
    schema.takes(&report);
    let changed = |path: &str, with: Value| {
        let mut report = report.clone();
        *report.pointer_mut(path).expect("it is there") = with;
        report
    };
    let step = "/checks/0/counterexample/steps/0";
    let mut wider = report.pointer(step).expect("it is there").clone();
    wider["colour"] = json!("red");
    let mut narrower = wider.clone();
    narrower.as_object_mut().expect("an object").retain(|name, _| name != "colour" && name != "at");
    for wrong in [
        changed("/version", json!(3)),
        changed("/verdict", json!("perhaps")),
        changed("/states", json!(-1)),
        changed("/checks/0/counterexample", Value::Null),
        changed("/checks/1/name", json!("matching_order")),
        changed(step, wider),
        changed(step, narrower),
        changed(&format!("{step}/packet"), json!("RTX")),
        changed(&format!("{step}/rank"), Value::Null),
    ] {
        assert!(schema.refuses(&wrong).is_some(), "{wrong:#}");
    }
}

#[test]
fn every_report_on_a_suite_is_as_its_schema_says() {
    let schema = Schema::new("suite");
    let place = Place::new();
    let report = |words: &str| {
        let report = value(&place.run(&format!("verify --format json {words}")).status(0).out);
        schema.takes(&report);
        report
    };
    let part = report("--suite memory --shard 1/7");
    assert_eq!(
        (&part["version"], &part["suite"], &part["shard"]),
        (&json!(1), &json!("memory"), &json!([1, 7]))
    );
    let ablation = report("--suite ablations --shard 1/60");
    assert_eq!(ablation["rows"][0]["verdict"], "violated");
    assert!(ablation["rows"][0]["counterexample"].is_string(), "{ablation:#}");
    // As if this part were all.
    let mut whole = part.clone();
    whole["shard"] = json!([1, 1]);
    let place = Place::new().with("whole.json", &whole.to_string());
    let ran = place.run("verify --format json --merge whole.json");
    let merged = value(&ran.out);
    schema.takes(&merged);
    assert_eq!(merged, whole);
    whole["version"] = json!(2);
    let place = place.with("other.json", &whole.to_string());
    place.run("verify --merge other.json").status(2).complains("other.json has version 2 of the report");
}

#[test]
fn every_report_on_a_run_is_as_its_schema_says() {
    let schema = Schema::new("run");
    let early = scenario("receiver-early.scn").replacen(
        "rank 0\n",
        "rank 0\n  last: isend to 0 tag 9 size 8\n  recv from 0 tag 9 size 8\n",
        1,
    );
    let place = Place::new().with("early.scn", &early);
    for (words, network) in [
        ("sim early.scn", "qdr"),
        ("sim --protocol rget --network shm --progress thread early.scn", "shm"),
        ("run early.scn", "shm"),
    ] {
        let report = value(&place.run(&format!("{words} --format json")).status(0).out);
        schema.takes(&report);
        assert_eq!((&report["version"], &report["file"]), (&json!(1), &json!("early.scn")));
        assert_eq!(report["network"], network);
    }
    // The same by its other name.
    assert_eq!(Schema::new("sim").text, schema.text);
}

/// A message from rank 0 to rank 1, as the two have recorded it.
fn trace(place: &Place, tag: u32, sends: &str) {
    let head = |rank: u32| {
        json!({
            "carrousel_trace": 5, "rank": rank, "ranks": 2, "command": ["./pair"],
            "options": {
                "eager_threshold": 16384, "eager_window": 4_194_304, "speculation": "adaptive", "transfer": "read",
                "rtr_limit": 64, "credit_every": 64
            }
        })
        .to_string()
    };
    let receives = [
        r#"{"call":{"call":{"receive":{"from":"any","tag":{"tag":0},"communicator":0,"len":8,"memory":{"address":0,"key":0}}},"answer":{"request":{"index":0,"generation":0}},"line":5}}"#.to_owned(),
        format!(r#"{{"event":{{"packet":{{"from":0,"context":0,"packet":{{"eager":{{"tag":{tag},"len":8}}}}}}}}}}"#),
        r#"{"release":{"request":{"index":0,"generation":0},"status":{"message":[0,0],"len":8}}}"#.to_owned(),
        r#"{"end":"left"}"#.to_owned(),
    ];
    let _ = fs::remove_dir_all(place.path("out"));
    fs::create_dir(place.path("out")).expect("it can be made");
    let (zero, one) = (head(0), head(1));
    let zero = sealed([zero.as_str()].into_iter().chain(sends.lines()));
    let one = sealed([one.as_str()].into_iter().chain(receives.iter().map(String::as_str)));
    fs::write(place.path("out/rank-0.jsonl"), zero).expect("it can be written");
    fs::write(place.path("out/rank-1.jsonl"), one).expect("it can be written");
}

const SENDS: &str = r#"{"call":{"call":{"send":{"to":1,"tag":0,"communicator":0,"len":8,"memory":{"address":0,"key":0},"synchronous":false}},"answer":{"request":{"index":0,"generation":0}},"line":3}}
{"release":{"request":{"index":0,"generation":0},"status":{"len":8}}}
{"end":"finalized"}"#;

#[test]
fn every_report_on_a_trace_is_as_its_schema_says() {
    let schema = Schema::new("check");
    let left = "ranks 2\nrank 0\n  send to 1 tag 0 size 8\n";
    let place = Place::new().with("halo.scn", &scenario("halo.scn")).with("left.scn", left);
    let report = |status: i32, verdict: &str| {
        let report = value(&place.run("check --format json out").status(status).out);
        schema.takes(&report);
        let said = (&report["version"], &report["trace"], &report["verdict"]);
        assert_eq!(said, (&json!(1), &json!("out"), &json!(verdict)));
        report
    };
    place.run("run --trace out halo.scn").status(0);
    report(0, "allowed");
    trace(&place, 0, SENDS);
    report(0, "allowed");
    // In a debug build the run itself says so, too.
    place.run("run --trace out left.scn");
    assert_eq!(report(1, "allowed")["misuses"][0]["not_received"]["place"]["line"], 3);
    trace(&place, 1, SENDS);
    assert!(report(1, "departed")["departure"].is_object());
    trace(&place, 0, "");
    assert_eq!(report(3, "incomplete")["gaps"][1]["why"], json!({"needs": 0}));
    fs::remove_file(place.path("out/rank-0.jsonl")).expect("it is there");
    assert_eq!(report(3, "incomplete")["gaps"][0]["why"], "missing");
}

/// Objects in a schema, and whether each is closed.
fn open_objects(schema: &Value, path: &str, open: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") && fields.get("type") == Some(&json!("object")) {
                let closed = fields.get("additionalProperties") == Some(&json!(false));
                if !closed {
                    open.push(path.to_owned());
                }
            }
            fields.iter().for_each(|(name, of)| open_objects(of, &format!("{path}/{name}"), open));
        }
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(at, of)| open_objects(of, &format!("{path}/{at}"), open))
        }
        _ => {}
    }
}

#[test]
fn schemas_are_printed_and_closed() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema");
    let mut names = 0;
    for entry in fs::read_dir(directory).expect("it is there") {
        let path = entry.expect("it can be read").path();
        let file = path.file_name().expect("it has one").to_string_lossy().into_owned();
        let Some(name) = file.strip_suffix(".schema.json") else { continue };
        names += 1;
        let Ran { out, .. } = Place::new().run(&format!("schema {name}")).status(0);
        assert_eq!(out, fs::read_to_string(&path).expect("it is text"), "{file}");
        let mut open = Vec::new();
        open_objects(&value(&out), name, &mut open);
        assert_eq!(open, Vec::<String>::new());
    }
    assert_eq!(names, 7);
    Place::new().run("schema").status(2);
    Place::new().run("schema magic").status(2).complains("verify");
}
