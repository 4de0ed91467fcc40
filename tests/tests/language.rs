//! The page of the language: each example is what the page says that it is, and nothing of the language has none.
//!
//! An example is a block whose info string begins with `scn`: `scn` alone is verified, `scn portable` under the weakest
//! MPI, `scn wrong` is a wrong one, whose message is the `text` block behind it.

use carrousel_scenario::ast::{Arg, Ast, Expr, Field, Item, Local, Operator, Ranks, Tree, Value};
use carrousel_scenario::units::Unit;
use carrousel_scenario::verb::Verb;
use carrousel_scenario::{Assertion, Check, Combine, Error, Vocabulary, limits, load, parse};
use carrousel_tests::{root, text};
use carrousel_verify::explore::Limits;
use carrousel_verify::report::{Report, Verdict};
use carrousel_verify::run::{self, Request};
use std::collections::BTreeSet;

const PAGE: &str = "docs/language.md";
/// What the file is called in messages.
const FILE: &str = "example.scn";
/// No example has as many states.
const STATES_MAX: u64 = 200_000;

/// What the page says of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    AsExpected { portable: bool },
    Wrong,
}

/// A block of the page.
struct Block {
    info: String,
    /// Its first line in the page, from 1.
    line: usize,
    text: String,
}

struct Example {
    claim: Claim,
    line: usize,
    text: String,
    /// The text block behind a wrong one.
    message: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::new();
    let mut inside = false;
    for (at, line) in page.lines().enumerate() {
        if let Some(info) = line.strip_prefix("```") {
            inside = !inside;
            if inside {
                all.push(Block { info: info.to_owned(), line: at + 2, text: String::new() });
            }
        } else if let Some(block) = all.last_mut().filter(|_| inside) {
            block.text += line;
            block.text.push('\n');
        }
    }
    assert!(!inside, "the last block of {PAGE} does not end");
    all
}

fn examples() -> Vec<Example> {
    let mut blocks = blocks(&text(PAGE)).into_iter().peekable();
    let mut all = Vec::new();
    while let Some(Block { info, line, text }) = blocks.next() {
        let claim = match info.as_str() {
            "scn" => Claim::AsExpected { portable: false },
            "scn portable" => Claim::AsExpected { portable: true },
            "scn wrong" => Claim::Wrong,
            other => panic!("{PAGE}:{line}: a block of `{other}`, which no test knows"),
        };
        let message = match claim {
            Claim::Wrong => {
                let message = blocks.next_if(|block| block.info == "text");
                message.unwrap_or_else(|| panic!("{PAGE}:{line}: the message of this one is missing")).text
            }
            _ => String::new(),
        };
        all.push(Example { claim, line, text, message });
    }
    all
}

fn verify(text: &str, portable: bool) -> Result<Report, String> {
    let scenario = load(FILE, text.as_bytes()).map_err(|error| error.render(false))?;
    let limits = Limits { threads: 1, max_states: Some(STATES_MAX), ..Limits::default() };
    let request = Request { portable, limits, ..Request::default() };
    run::check(&scenario, &request).map_err(|error| error.to_string())
}

/// What is not as the page says.
fn contradiction(example: &Example) -> Option<String> {
    let Example { claim, text, message, .. } = example;
    match *claim {
        Claim::Wrong => match load(FILE, text.as_bytes()) {
            Ok(_) => Some("it is right".to_owned()),
            Err(error) => {
                let found = rendered(&error);
                (found != *message).then(|| format!("the message is\n{found}"))
            }
        },
        Claim::AsExpected { portable } => match verify(text, portable) {
            Err(error) => Some(error),
            Ok(report) => {
                let scenario = load(FILE, text.as_bytes()).ok()?;
                let expected: BTreeSet<Check> = scenario.expects.iter().map(|expect| expect.check).collect();
                let with = |verdict| {
                    let checks = report.checks.iter().filter(move |check| check.verdict == verdict);
                    checks.map(|check| check.check).collect::<BTreeSet<Check>>()
                };
                let violated = with(Verdict::Violated);
                let open = with(Verdict::Inconclusive);
                (violated != expected || !open.is_empty())
                    .then(|| format!("violated are {violated:?}, not decided {open:?}"))
            }
        },
    }
}

fn rendered(error: &Error) -> String {
    let text = error.render(false);
    if text.ends_with('\n') { text } else { text + "\n" }
}

#[test]
fn every_example_of_the_page_is_what_the_page_says() {
    let examples = examples();
    let wrong: Vec<String> = examples
        .iter()
        .filter_map(|example| Some(format!("{PAGE}:{}: {}", example.line, contradiction(example)?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What an example uses of the language, by the words of its right files.
#[derive(Default)]
struct Used(BTreeSet<&'static str>);

impl Used {
    fn file(&mut self, ast: &Ast) {
        for line in &ast.lines {
            if line.comment.is_some() {
                self.0.insert("a comment behind a statement");
            }
            self.item(&line.item);
        }
    }

    /// Exhaustive: a new kind of line does not compile until it has a name here, and fails until it has an example.
    fn item(&mut self, item: &Item) {
        let name = match item {
            Item::Remark(_) => "a comment",
            Item::Title(_) => "scenario",
            Item::Ranks(number) => {
                self.expression(number);
                "ranks"
            }
            Item::Nodes(_) => "nodes",
            Item::Window(_) => "window",
            Item::Split(split) => {
                self.expression(&split.color);
                split.key.iter().for_each(|key| self.expression(key));
                self.0
                    .extend(split.key.iter().map(|_| "key").chain(split.parent.iter().map(|_| "comm .. on")));
                "comm"
            }
            Item::Setting(setting) => {
                if let Value::Number(number) = &setting.value {
                    self.expression(number);
                }
                if setting.window.is_some() { "option of a window" } else { "option" }
            }
            Item::Expect(_) => "expect",
            Item::Block(Ranks::One(_)) => "rank R",
            Item::Block(Ranks::Range(_)) => "rank R..S",
            Item::Block(Ranks::All) => "rank *",
            Item::Repeat(_) => "repeat",
            Item::End => "end",
            Item::Statement(statement) => {
                if statement.label.is_some() {
                    self.0.insert("LABEL:");
                }
                if statement.bind.is_some() {
                    self.0.insert("NAME =");
                }
                for (slot, arg) in statement.verb.slots().iter().zip(&statement.args) {
                    if slot.optional && !matches!(arg, Arg::Absent) {
                        self.0.insert(slot.word);
                    }
                    self.arg(arg);
                }
                statement.verb.name()
            }
        };
        self.0.insert(name);
    }

    fn arg(&mut self, arg: &Arg) {
        match arg {
            Arg::Absent | Arg::Name(_) | Arg::Names(_) => {}
            Arg::Expr(value) => self.expression(value),
            Arg::Group(group) => {
                self.0.insert("[R...]");
                group.0.iter().for_each(|value| self.expression(value));
            }
            Arg::Any => drop(self.0.insert("any")),
            Arg::All => drop(self.0.insert("wait all")),
            Arg::Shared => drop(self.0.insert("shared")),
            Arg::Exclusive => drop(self.0.insert("exclusive")),
            Arg::Combine(combine) => drop(self.0.insert(combine.name())),
            Arg::Assertions(assertions) => self.0.extend(assertions.iter().map(Assertion::name)),
        }
    }

    fn expression(&mut self, value: &Expr) {
        self.tree(&value.tree);
    }

    fn tree(&mut self, tree: &Tree) {
        let name = match tree {
            Tree::Number(_, unit) => unit.name(),
            Tree::Me => "me",
            Tree::Size => "size",
            Tree::Local(Local::Me, _) => "me(C)",
            Tree::Local(Local::Size, _) => "size(C)",
            Tree::Received(Field::Source, _) => "source(NAME)",
            Tree::Received(Field::Tag, _) => "tag(NAME)",
            Tree::Minus(inner) => {
                self.tree(inner);
                "unary minus"
            }
            Tree::Parentheses(inner, unit) => {
                self.tree(inner);
                self.0.insert(unit.name());
                "parentheses"
            }
            Tree::Chain(chain) => {
                self.tree(&chain.0);
                for (operator, operand) in &chain.1 {
                    self.0.insert(match operator {
                        Operator::Add => "+",
                        Operator::Subtract => "-",
                        Operator::Multiply => "*",
                        Operator::Divide => "/",
                        Operator::Remainder => "%",
                    });
                    self.tree(operand);
                }
                return;
            }
        };
        self.0.insert(name);
    }
}

/// All that the language has, but for its options and checks.
fn language() -> BTreeSet<&'static str> {
    let words = [
        "a comment",
        "a comment behind a statement",
        "scenario",
        "ranks",
        "nodes",
        "window",
        "option",
        "option of a window",
        "expect",
        "rank R",
        "rank R..S",
        "rank *",
        "repeat",
        "end",
        "LABEL:",
        "NAME =",
        "[R...]",
        "any",
        "wait all",
        "shared",
        "exclusive",
        "me",
        "size",
        "comm",
        "key",
        "comm .. on",
        "me(C)",
        "size(C)",
        "source(NAME)",
        "tag(NAME)",
        "unary minus",
        "parentheses",
        "+",
        "-",
        "*",
        "/",
        "%",
    ];
    let units = Unit::WRITTEN.map(Unit::name);
    let verbs = Verb::ALL.iter().map(|verb| verb.name());
    let clauses = Verb::ALL.iter().flat_map(|verb| verb.slots()).filter(|slot| slot.optional);
    let clauses = clauses.map(|slot| slot.word);
    let promises = Assertion::ALL.map(Assertion::name).into_iter().chain(Combine::ALL.map(Combine::name));
    words.into_iter().chain(units).chain(verbs).chain(clauses).chain(promises).collect()
}

#[test]
fn nothing_of_the_language_is_without_an_example() {
    let mut used = Used::default();
    for example in examples().iter().filter(|example| example.claim != Claim::Wrong) {
        let ast = parse(FILE, example.text.as_bytes()).map_err(|error| error.render(false));
        used.file(&ast.unwrap_or_else(|error| panic!("{PAGE}:{}: {error}", example.line)));
    }
    let language = language();
    let missing: Vec<&&str> = language.difference(&used.0).collect();
    assert!(missing.is_empty(), "no example of {PAGE} has {missing:?}");
    let unknown: Vec<&&str> = used.0.difference(&language).filter(|word| !word.is_empty()).collect();
    assert!(unknown.is_empty(), "this test does not ask for {unknown:?}");
}

#[test]
fn the_page_says_how_each_statement_is_written() {
    // In a table, a `|` that is no border has a backslash before it.
    let page = text(PAGE).replace("\\|", "|");
    let missing: Vec<String> = Verb::ALL
        .iter()
        .map(|verb| format!("| `{}` |", verb.usage()))
        .filter(|row| !page.contains(row))
        .collect();
    assert!(missing.is_empty(), "{PAGE} has no row for {}", missing.join(", "));
}

#[test]
fn the_page_names_every_check_option_and_limit() {
    let page = text(PAGE);
    for check in Check::ALL {
        assert!(page.contains(&format!("| `{check}` | ")), "{PAGE} has no row for {check}");
    }
    let Vocabulary { engine, window } = Vocabulary::default();
    for option in engine.iter().chain(&window) {
        assert!(page.contains(&format!("`{}`", option.name)), "{PAGE} does not name {}", option.name);
    }
    let rows: [(&str, u64); 11] = [
        ("ranks", limits::RANKS_MAX.into()),
        ("statements of all ranks, with `repeat` unrolled", limits::STATEMENTS_MAX),
        ("nesting of `repeat`, and of parentheses", limits::NESTING_MAX as u64),
        ("bytes of a name", limits::NAME_BYTES_MAX as u64),
        ("tag", limits::TAG_MAX as u64),
        ("color", limits::COLOR_MAX as u64),
        ("bytes of the file", limits::FILE_BYTES_MAX as u64),
        ("operands of an expression", limits::OPERANDS_MAX as u64),
        ("windows", limits::WINDOWS_MAX as u64),
        ("blocks of an access", limits::BLOCKS_MAX.into()),
        ("items of a group, names behind a `wait`", limits::ITEMS_MAX as u64),
    ];
    for (what, most) in rows {
        let row = format!("| {what} | {} |", grouped(most));
        assert!(page.contains(&row), "{PAGE} does not have: {row}");
    }
    let faults = format!("Up to {} faults", limits::FAULTS_MAX);
    assert!(page.contains(&faults), "{PAGE} does not say: {faults}");
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let blocks: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|block| std::str::from_utf8(block).ok()).collect();
    blocks.join(",")
}

#[test]
fn the_page_is_found_from_the_readme_and_the_architecture() {
    assert!(root().join(PAGE).exists());
    for file in ["README.md", "ARCHITECTURE.md"] {
        assert!(text(file).contains(&format!("({PAGE})")), "{file} does not link to {PAGE}");
    }
}
