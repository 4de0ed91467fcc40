//! `scenario`, `ranks`, `nodes`, `window`, `comm`, `option`, `expect`: each once, in any order.

use std::collections::HashMap;
use std::sync::Arc;

use super::values::Values;
use crate::ast::{Ast, Expr, Group, Item, Name, Setting, Tree, Value};
use crate::error::Faults;
use crate::ids::{CommunicatorId, WindowId};
use crate::limits::{RANKS_MAX, WINDOWS_MAX};
use crate::model::{Communicator, Expect, OptionSetting, OptionValue, Scenario, Window};
use crate::parse::{LocatedProblem, measure_time};
use crate::problem::{Problem, clip, did_you_mean};
use crate::span::Span;
use crate::units::Unit;
use crate::vocabulary::{OptionKind, OptionSpec, Vocabulary};

/// Reads the declarations into a scenario without programs. `None` when there is no right `ranks`,
/// without which nothing else has a meaning.
pub(super) fn read(
    ast: &Ast,
    numbers: &[u32],
    options: &Vocabulary,
    values: &mut Values,
    faults: &mut Faults,
) -> Option<Scenario> {
    let ranks = ranks(ast, values, faults)?;
    values.set_size(ranks);
    let mut reader = DeclarationReader {
        scenario: Scenario {
            title: None,
            file: ast.file.clone(),
            ranks,
            nodes: (0..ranks).collect(),
            windows: Vec::new(),
            communicators: vec![Communicator {
                name: Arc::from(""),
                line: 0,
                parent: CommunicatorId::WORLD,
                members: (0..ranks).collect(),
            }],
            options: Vec::new(),
            expects: Vec::new(),
            programs: Vec::new(),
            source: Arc::clone(&ast.source),
        },
        windows: HashMap::new(),
        declared: HashMap::new(),
        options,
        values,
    };
    // Windows first: an option may stand before the window whose flag it is.
    for windows in [true, false] {
        for (line, &number) in ast.lines.iter().zip(numbers) {
            if !faults.full()
                && matches!(line.item, Item::Window(_)) == windows
                && let Err((at, problem)) = reader.declaration(&line.item, line.at, number)
            {
                faults.add(at, problem, None);
            }
        }
    }
    Some(reader.scenario)
}

fn ranks(ast: &Ast, values: &mut Values, faults: &mut Faults) -> Option<u32> {
    let first = ast.lines.iter().find_map(|line| match &line.item {
        Item::Ranks(expr) => Some(expr),
        _ => None,
    });
    let Some(expr) = first else {
        let said = ast.lines.iter().find(|line| !matches!(line.item, Item::Remark(_)));
        let at = said.map_or(Span::default(), |line| line.at);
        faults.add(at, Problem::NoRanks, None);
        return None;
    };
    let count = values.number(expr).and_then(|value| {
        let count = u32::try_from(value).ok().filter(|count| (1..=RANKS_MAX).contains(count));
        count.ok_or((expr.at, Problem::RankCount { value }))
    });
    count.map_err(|(at, problem)| faults.add(at, problem, None)).ok()
}

/// What a file declares at most once.
#[derive(PartialEq, Eq, Hash)]
enum Once<'a> {
    Title,
    Ranks,
    Nodes,
    Window(&'a str),
    Communicator(&'a str),
    Option(Option<&'a str>, &'a str),
    Expect(&'a str),
}

impl Once<'_> {
    /// How a message calls it.
    fn describe(&self) -> String {
        match self {
            Once::Title => "a title".to_owned(),
            Once::Ranks => "`ranks`".to_owned(),
            Once::Nodes => "`nodes`".to_owned(),
            Once::Window(name) => format!("a window `{}`", clip(name)),
            Once::Communicator(name) => format!("a communicator `{}`", clip(name)),
            Once::Option(None, name) => format!("the option `{name}`"),
            Once::Option(Some(window), name) => format!("the option `{}.{name}`", clip(window)),
            Once::Expect(check) => format!("`expect {check}`"),
        }
    }
}

struct DeclarationReader<'a> {
    scenario: Scenario,
    windows: HashMap<&'a str, WindowId>,
    /// The line of each declaration.
    declared: HashMap<Once<'a>, u32>,
    options: &'a Vocabulary,
    values: &'a mut Values,
}

impl<'a> DeclarationReader<'a> {
    fn declaration(&mut self, item: &'a Item, at: Span, line: u32) -> Result<(), LocatedProblem> {
        match item {
            Item::Title(title) => {
                self.once(Once::Title, at, line)?;
                self.scenario.title = Some(title.to_string());
            }
            Item::Ranks(_) => self.once(Once::Ranks, at, line)?,
            Item::Nodes(groups) => {
                self.once(Once::Nodes, at, line)?;
                self.scenario.nodes = self.nodes(groups)?;
            }
            Item::Window(window) => {
                let (name, size) = &**window;
                self.once(Once::Window(&name.text), name.at, line)?;
                if self.scenario.windows.len() == WINDOWS_MAX {
                    return Err((name.at, Problem::TooManyWindows));
                }
                self.take::<Window>(&name.text, name.at)?;
                let id = WindowId(self.scenario.windows.len() as u32);
                self.windows.insert(&name.text, id);
                // Entered even when its size is wrong: it is declared, and used below.
                self.scenario.windows.push(Window { name: name.text.to_string(), size: 0, line });
                let size = self.values.count(size, "a size")?;
                self.scenario.windows[id.0 as usize].size = size;
            }
            Item::Split(split) => {
                self.once(Once::Communicator(&split.name.text), split.name.at, line)?;
                self.take::<Communicator>(&split.name.text, split.name.at)?;
            }
            Item::Setting(setting) => {
                let setting = self.setting(setting, line)?;
                self.scenario.options.push(setting);
            }
            Item::Expect(check) => {
                self.once(Once::Expect(check.name()), at, line)?;
                self.scenario.expects.push(Expect { check: *check, line });
            }
            Item::Remark(_) | Item::Block(_) | Item::Repeat(_) | Item::End | Item::Statement(_) => {}
        }
        Ok(())
    }

    /// Takes memory for a `T` that has a name of its own, and an entry in each of three tables.
    fn take<T>(&self, name: &str, at: Span) -> Result<(), LocatedProblem> {
        let entries = 3 * 2 * size_of::<(Once<'_>, u32)>();
        let taken = self.values.take_list::<u8>(2 * size_of::<T>() + entries + name.len());
        taken.map_err(|problem| (at, problem))
    }

    fn once(&mut self, what: Once<'a>, at: Span, line: u32) -> Result<(), LocatedProblem> {
        if let Some(&line) = self.declared.get(&what) {
            return Err((at, Problem::Twice { what: what.describe(), line }));
        }
        self.declared.insert(what, line);
        Ok(())
    }

    /// The node of each rank: those of `groups` first, then one for each rank that none names.
    fn nodes(&mut self, groups: &[Group]) -> Result<Vec<u32>, LocatedProblem> {
        let mut nodes: Vec<Option<u32>> = vec![None; self.scenario.ranks as usize];
        let mut next = 0;
        for group in groups {
            let ranks = self.values.group(group)?;
            for (&rank, item) in ranks.iter().zip(&group.0) {
                if nodes[rank as usize].replace(next).is_some() {
                    return Err((item.at, Problem::RankOnTwoNodes { rank }));
                }
            }
            next += u32::from(!ranks.is_empty());
        }
        let alone = |node: Option<u32>| {
            node.unwrap_or_else(|| {
                next += 1;
                next - 1
            })
        };
        Ok(nodes.into_iter().map(alone).collect())
    }

    fn setting(&mut self, setting: &'a Setting, line: u32) -> Result<OptionSetting, LocatedProblem> {
        let name = &setting.name;
        let (window, spec) = match &setting.window {
            None => (None, self.options.engine_option(&name.text)),
            Some(window) => {
                let id = self.windows.get(&*window.text).copied();
                let id = id.ok_or_else(|| unknown_window(window, &self.scenario))?;
                (Some(id), self.options.window_option(&name.text))
            }
        };
        let spec = spec.ok_or_else(|| self.unknown_option(name, window.is_some()))?;
        let what = Once::Option(setting.window.as_ref().map(|window| &*window.text), &name.text);
        self.once(what, name.at, line)?;
        self.take::<OptionSetting>(&spec.name, name.at)?;
        let value = self.value(spec, &setting.value)?;
        Ok(OptionSetting { window, name: spec.name.to_string(), value, line })
    }

    fn unknown_option(&self, name: &Name, flag: bool) -> LocatedProblem {
        let (known, other) = match flag {
            false => (&self.options.engine, &self.options.window),
            true => (&self.options.window, &self.options.engine),
        };
        let names = || known.iter().map(|spec| &*spec.name);
        let misplaced = other.iter().any(|spec| *spec.name == *name.text);
        let help = match (misplaced, flag) {
            (true, false) => Some(format!("it is a flag of a window: `WINDOW.{}`", name.text)),
            (true, true) => Some("it is an option of the engine, not of a window".to_owned()),
            (false, _) => did_you_mean(&name.text, names()),
        };
        let expected = one_of(names());
        (name.at, Problem::UnknownOption { name: clip(&name.text), expected, help })
    }

    fn value(&mut self, spec: &OptionSpec, value: &Value) -> Result<OptionValue, LocatedProblem> {
        let value_of = |values: &mut Values, expr: &Expr| match spec.kind {
            OptionKind::Size | OptionKind::SizeOr(_) if !has_unit(&expr.tree, Unit::is_time) => {
                Ok(Some(OptionValue::Size(values.count(expr, "a size")?)))
            }
            OptionKind::Time if !has_unit(&expr.tree, Unit::is_size) => {
                measure_time(&expr.tree, expr.at)?;
                Ok(Some(OptionValue::TimeNs(values.count(expr, "a time")?)))
            }
            OptionKind::Integer if !has_unit(&expr.tree, |unit| unit != Unit::None) => {
                Ok(Some(OptionValue::Integer(values.number(expr)?)))
            }
            _ => Ok(None),
        };
        let (found, at) = match value {
            Value::Number(expr) => (value_of(self.values, expr)?, expr.at),
            Value::Word(word) => {
                let found = match (&spec.kind, &*word.text) {
                    (OptionKind::OnOff, "on") => Some(OptionValue::OnOff(true)),
                    (OptionKind::OnOff, "off") => Some(OptionValue::OnOff(false)),
                    (OptionKind::Choice(words), text) if words.iter().any(|word| word == text) => {
                        Some(OptionValue::Word(text.to_owned()))
                    }
                    (OptionKind::SizeOr(other), text) if *other == text => {
                        Some(OptionValue::Word(text.to_owned()))
                    }
                    _ => None,
                };
                (found, word.at)
            }
        };
        found.ok_or_else(|| self.wrong_value(spec, at))
    }

    fn wrong_value(&self, spec: &OptionSpec, at: Span) -> LocatedProblem {
        let text = self.scenario.source.get(at.start as usize..at.end()).unwrap_or("");
        let (expected, help) = match &spec.kind {
            OptionKind::Size => ("a size like 16KiB".to_owned(), None),
            OptionKind::SizeOr(word) => {
                (format!("a size like 16KiB, or `{word}`"), did_you_mean(text, [*word]))
            }
            OptionKind::Time => ("a time like 5us".to_owned(), None),
            OptionKind::Integer => ("a plain number".to_owned(), None),
            OptionKind::OnOff => ("`on` or `off`".to_owned(), did_you_mean(text, ["on", "off"])),
            OptionKind::Choice(words) => {
                let words = || words.iter().map(|word| &**word);
                (one_of(words()), did_you_mean(text, words()))
            }
        };
        let (name, value) = (spec.name.to_string(), clip(text));
        (at, Problem::OptionValue { name, value, expected, help })
    }
}

/// The fault that `name` is no window.
pub(super) fn unknown_window(name: &Name, scenario: &Scenario) -> LocatedProblem {
    let names = || scenario.windows.iter().map(|window| &*window.name);
    let expected = match scenario.windows.is_empty() {
        true => format!("a line `window {} SIZE` that declares it", clip(&name.text)),
        false => one_of(names()),
    };
    let help = did_you_mean(&name.text, names());
    (name.at, Problem::UnknownWindow { name: clip(&name.text), expected, help })
}

/// "`a`", "`a` or `b`", "one of `a`, `b`, `c`"; the first ones only, if there are many.
fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    const SHOWN_MAX: usize = 8;
    let mut words: Vec<String> = words.take(SHOWN_MAX + 1).map(|word| format!("`{}`", clip(word))).collect();
    if words.len() > SHOWN_MAX {
        words[SHOWN_MAX] = "...".to_owned();
    }
    match &*words {
        [] => "none".to_owned(),
        [only] => only.clone(),
        [one, other] => format!("{one} or {other}"),
        _ => format!("one of {}", words.join(", ")),
    }
}

fn has_unit(tree: &Tree, is: fn(Unit) -> bool) -> bool {
    match tree {
        Tree::Number(_, unit) => is(*unit),
        Tree::Me | Tree::Size | Tree::Received(..) | Tree::Local(..) => false,
        Tree::Minus(inner) => has_unit(inner, is),
        Tree::Parentheses(inner, unit) => is(*unit) || has_unit(inner, is),
        Tree::Chain(chain) => {
            has_unit(&chain.0, is) || chain.1.iter().any(|(_, operand)| has_unit(operand, is))
        }
    }
}
