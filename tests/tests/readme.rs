//! The README's quick start does what it says: each command is run, and prints what stands there.

use carrousel_tests::{carrousel, example, printed, stdout, text};

/// Where the README has the example programs, which the tests have elsewhere.
const EXAMPLES: &str = "target/release/examples/";

/// A command, and what it prints.
struct Shown {
    command: String,
    output: String,
}

/// The commands in the `console` blocks of the quick start.
fn shown() -> Vec<Shown> {
    let readme = text("README.md");
    let start = readme.find("## Quick start").expect("the README has a quick start");
    let rest = &readme[start + 3..];
    let quick_start = &rest[..rest.find("\n## ").unwrap_or(rest.len())];
    let mut all: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in quick_start.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && let Some(command) = line.strip_prefix("$ ") {
            all.push(Shown { command: command.to_owned(), output: String::new() });
        } else if inside && let Some(last) = all.last_mut() {
            last.output += line;
            last.output.push('\n');
        }
    }
    all
}

/// Commands whose numbers are the same in every run, on every host, but for the time that they took.
const REPEATABLE: [&str; 3] = ["verify", "sim", "fmt"];

/// What a command prints that is the same in every run: of most commands all but the numbers, and with them the width
/// of columns; of [`REPEATABLE`] ones all but the time at the end of a line. How many states are seen until something is
/// found to be wrong is a matter of how many threads look.
fn comparable(command: &str, text: &str) -> Vec<String> {
    let stopped = text.lines().next().is_some_and(|heading| heading.ends_with(": violated"));
    match command.split_whitespace().nth(1) {
        Some(name) if REPEATABLE.contains(&name) => {
            let line = |line: &str| {
                let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
                match words.rsplit_once(", ") {
                    Some((before, time)) if is_time(time) && stopped => without_numbers(before).join(""),
                    Some((before, time)) if is_time(time) => before.to_owned(),
                    _ => words,
                }
            };
            text.lines().map(line).filter(|line| !line.is_empty()).collect()
        }
        _ => without_numbers(text),
    }
}

/// `0.04 s`.
fn is_time(text: &str) -> bool {
    text.strip_suffix(" s").is_some_and(|number| number.parse::<f64>().is_ok())
}

/// Numbers differ from run to run and from host to host, and with them the width of columns.
fn without_numbers(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let mut plain = String::new();
        let mut number = false;
        for c in line.chars() {
            let digit = c.is_ascii_digit() || (number && matches!(c, ',' | '.'));
            if digit && !number {
                plain.push('#');
            } else if !digit {
                plain.push(c);
            }
            number = digit;
        }
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_command_of_the_quick_start_prints_what_stands_there() {
    let shown = shown();
    assert!(shown.len() >= 4, "the quick start shows few commands");
    for Shown { command, output: expected } in shown {
        let mut words = command.split_whitespace();
        match words.next() {
            Some("carrousel") => {}
            // Building is what brought this test here; the tests cannot run themselves.
            Some("cargo") => continue,
            _ => panic!("`{command}` is no command of ours"),
        }
        let (arguments, status): (Vec<_>, _) = match command.split_once("; echo $?") {
            Some((before, _)) => (before.split_whitespace().skip(1).collect(), true),
            None => (words.collect(), false),
        };
        let mut built = None;
        let arguments = arguments.into_iter().map(|argument: &str| match argument.strip_prefix(EXAMPLES) {
            None => argument.to_owned(),
            Some(name) => {
                let path = example(name).display().to_string();
                built = Some((path.clone(), argument));
                path
            }
        });
        let arguments: Vec<String> = arguments.collect();
        let output = carrousel().args(arguments).output().expect("it runs");
        let mut found = stdout(&output);
        if let Some((path, written)) = built {
            found = found.replace(&path, written);
        }
        if status {
            found += &format!("{}\n", output.status.code().unwrap_or(-1));
        }
        let (found, expected) = (comparable(&command, &found), comparable(&command, &expected));
        // `...` stands for lines that the README leaves out.
        let mut at = 0;
        let mut skipping = false;
        for line in &expected {
            if line == "..." {
                skipping = true;
                continue;
            }
            let next = match skipping {
                true => found[at..].iter().position(|other| other == line).map(|skipped| at + skipped),
                false => (found.get(at) == Some(line)).then_some(at),
            };
            let next =
                next.unwrap_or_else(|| panic!("`{command}` does not print `{line}`:\n{}", printed(&output)));
            at = next + 1;
            skipping = false;
        }
        assert!(skipping || at == found.len(), "`{command}` prints more:\n{}", printed(&output));
    }
}

/// The rows of the figures that say how many states a scenario has: its file, and the number.
fn figures() -> Vec<(String, String)> {
    let readme = text("README.md");
    let rows = readme.lines().filter_map(|line| line.strip_prefix("| `carrousel verify tests/scenarios/"));
    let figure = |row: &str| {
        let (name, rest) = row.split_once('`')?;
        let (before, _) = rest.split_once(" states |")?;
        Some((format!("tests/scenarios/{name}"), before.rsplit(' ').next()?.to_owned()))
    };
    rows.map(|row| figure(row).unwrap_or_else(|| panic!("no number of states: {row}"))).collect()
}

#[test]
fn scenarios_have_as_many_states_as_the_figures_say() {
    let figures = figures();
    assert!(figures.len() >= 3, "{figures:?}");
    for (file, states) in figures {
        let output = carrousel().args(["verify", &file]).output().expect("it runs");
        let found = stdout(&output);
        assert!(found.contains(&format!("\n  {states} states, ")), "{file}: {states} states?\n{found}");
    }
}

#[test]
fn every_file_that_the_readme_names_is_there() {
    let readme = text("README.md");
    for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        if !link.contains("://") && !link.starts_with('#') {
            assert!(carrousel_tests::root().join(link).exists(), "the README links to {link}");
        }
    }
}
