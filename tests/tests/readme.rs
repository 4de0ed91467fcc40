//! The README and the pages of the book do what they say: each command is run, and prints what stands there; the programs that
//! they show, and the numbers of states, are those of the files; and each link leads somewhere.

use carrousel_tests::pages::{CodeBlock, Page, book, pages};
use carrousel_tests::{carrousel, example, printed, stdout, text};
use std::collections::{BTreeMap, BTreeSet};

/// Where the pages have the example programs, which the tests have elsewhere.
const EXAMPLES: &str = "target/release/examples/";
/// The most bytes of the README, which is read in one go.
const README_BYTES_MAX: usize = 8 << 10;

/// Languages of blocks that have no commands.
const WITHOUT_COMMANDS: [&str; 6] = ["c", "json", "rust", "scn", "text", "toml"];
/// Languages of blocks that have nothing but commands, and what these print.
const OF_COMMANDS: [&str; 2] = ["console", "sh"];
/// The mark of a block of commands that no test runs.
const NOT_RUN: &str = "not-run";
/// What a line of a shell begins with, on these pages.
const PROGRAMS: [&str; 9] =
    ["$ ", "apt-get ", "carrousel ", "cargo ", "export ", "make ", "mpicc ", "mpiexec ", "srun "];

/// A command, and what it prints.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shown {
    command: String,
    output: String,
}

/// The commands of a page that are run.
///
/// # Errors
/// When it is not clear whether those of a block are run.
fn commands(page: &Page) -> Result<Vec<Shown>, String> {
    // `carrousel = ..` is a line of a `Cargo.toml`.
    let is_command = |line: &str| {
        PROGRAMS.iter().any(|program| line.strip_prefix(program).is_some_and(|rest| !rest.starts_with('=')))
    };
    if let Some(line) = page.prose().find(|line| line.strip_prefix("    ").is_some_and(is_command)) {
        return Err(format!("a command has to stand between fences: {line}"));
    }
    let mut all = Vec::new();
    for CodeBlock { words, lines } in page.blocks() {
        let (language, marks) = words.split_first().ok_or("a block has no language")?;
        let language = language.as_str();
        let is_not_run = marks.iter().any(|mark| mark == NOT_RUN);
        if WITHOUT_COMMANDS.contains(&language) {
            if let Some(line) = lines.iter().find(|line| is_command(line)) {
                return Err(format!("a block of commands is `console` or `sh`, not `{language}`: {line}"));
            }
        } else if !OF_COMMANDS.contains(&language) {
            return Err(format!("a block has the language `{language}`, which is not known here"));
        } else if !is_not_run {
            if language != "console" || !lines.first().is_some_and(|line| line.starts_with("$ ")) {
                let first = lines.first().map_or("", String::as_str);
                return Err(format!(
                    "a block is run if it is `console` and begins with `$ `, or has the mark `{NOT_RUN}`: {first}"
                ));
            }
            for line in &lines {
                if let Some(command) = line.strip_prefix("$ ") {
                    all.push(Shown { command: command.to_owned(), output: String::new() });
                } else if let Some(last) = all.last_mut() {
                    last.output += line;
                    last.output.push('\n');
                }
            }
        }
    }
    Ok(all)
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

/// Runs a command, and compares what it prints with what is shown, where `...` stands for lines that are left out.
fn check(page: &str, Shown { command, output: expected }: &Shown) {
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("carrousel"), "{page}: `{command}` is no command of ours");
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
    let (found, expected) = (comparable(command, &found), comparable(command, expected));
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
        let next = next
            .unwrap_or_else(|| panic!("{page}: `{command}` does not print `{line}`:\n{}", printed(&output)));
        at = next + 1;
        skipping = false;
    }
    assert!(skipping || at == found.len(), "{page}: `{command}` prints more:\n{}", printed(&output));
}

#[test]
fn every_command_prints_what_stands_there() {
    for page in book() {
        let name = page.path.display().to_string();
        let shown = commands(&page).unwrap_or_else(|error| panic!("{name}: {error}"));
        let enough = match name.as_str() {
            "README.md" => 4,
            "docs/quick-start.md" | "docs/tutorial.md" => 7,
            _ => 0,
        };
        assert!(shown.len() >= enough, "{name} shows few commands");
        shown.iter().for_each(|shown| check(&name, shown));
    }
}

#[test]
fn a_block_says_whether_its_commands_are_run() {
    let of = |text: &str| commands(&Page { path: "x.md".into(), text: text.to_owned() });
    let shown =
        |command: &str, output: &str| Shown { command: command.to_owned(), output: output.to_owned() };
    let run = of("```console\n$ carrousel a\none\n...\n$ carrousel b\n```\n").expect("it is clear");
    assert_eq!(run, [shown("carrousel a", "one\n...\n"), shown("carrousel b", "")]);
    assert_eq!(of("```sh,not-run\nrm -r x\n```\n```console,not-run\n$ reboot\n```\n"), Ok(Vec::new()));
    assert_eq!(of("```text\na table\n```\n"), Ok(Vec::new()));
    for unclear in [
        "```sh\nrm -r x\n```\n",
        "```console\nno prompt\n```\n",
        "```text\ncargo build\n```\n",
        "```\nanything\n```\n",
        "```bash,not-run\nls\n```\n",
        "    cargo build\n",
    ] {
        assert!(of(unclear).is_err(), "{unclear}");
    }
}

/// The commands on a page that no test runs, without what is around them: in sentences, and in marked blocks.
fn mentioned(page: &Page) -> Vec<String> {
    let spans = page.prose().flat_map(|line| line.split('`').skip(1).step_by(2)).map(ToOwned::to_owned);
    let lines = page.blocks().into_iter().filter(|block| block.words.iter().any(|word| word == NOT_RUN));
    let lines = lines.flat_map(|block| block.lines).map(|line| {
        let line = line.trim_start().trim_start_matches("$ ");
        line.split_once("  #").map_or(line, |(command, _)| command).to_owned()
    });
    spans.chain(lines).filter(|command| command.starts_with("carrousel ")).collect()
}

/// The part of a command that is its own: what a program gets is not.
fn own_words(command: &str) -> impl Iterator<Item = &str> {
    let words = command.split_whitespace().skip(1);
    words.take_while(|word| !matches!(*word, "--" | ":" | "|") && !word.starts_with("./"))
}

#[test]
fn commands_that_are_mentioned_have_the_options_that_are_named() {
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let mut seen = 0;
    for page in book() {
        for command in mentioned(&page) {
            let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
            let Some(name) = own_words(&command).next().filter(is_name) else { continue };
            let kind = own_words(&command).nth(1).filter(|_| name == "bench").filter(is_name);
            let words: Vec<&str> = [name].into_iter().chain(kind).collect();
            let help = helps.entry(words.join(" ")).or_insert_with(|| {
                let output = carrousel().args(&words).arg("--help").output().expect("it runs");
                assert!(output.status.success(), "{}: `{command}`: no such command", page.path.display());
                stdout(&output)
            });
            let options = own_words(&command).filter(|word| word.starts_with("--"));
            let options = options.map(|word| word.split('=').next().unwrap_or(word));
            let known: BTreeSet<&str> = help.split([' ', '\n', ',', ']']).collect();
            for option in options.filter(|option| *option != "--help") {
                assert!(known.contains(option), "{}: `{command}`: no `{option}`", page.path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 10, "{seen} options are named");
}

/// `file=PATH` behind the fence of a block says that it is this file, from the workspace's directory on.
#[test]
fn files_that_are_shown_are_the_files() {
    let mut shown = 0;
    for page in book() {
        for block in page.blocks() {
            if let Some(path) = block.words.iter().find_map(|word| word.strip_prefix("file=")) {
                let file = text(path);
                assert!(block.lines.iter().eq(file.lines()), "{}: this is not {path}", page.path.display());
                shown += 1;
            }
        }
    }
    assert!(shown >= 3, "{shown} files are shown");
}

/// The rows of the figures that say how many states a scenario has: its file, and the number.
fn figures() -> Vec<(String, String)> {
    let figures = text("docs/figures.md");
    let rows = figures.lines().filter_map(|line| line.strip_prefix("| `carrousel verify tests/scenarios/"));
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
fn every_link_leads_to_a_file_and_a_heading() {
    for page in pages() {
        let broken = page.broken_links();
        assert!(broken.is_empty(), "{}: {broken:?}", page.path.display());
    }
}

#[test]
fn the_readme_is_short() {
    let bytes = text("README.md").len();
    assert!(bytes <= README_BYTES_MAX, "README.md has {bytes} bytes, at most {README_BYTES_MAX} are read");
}

#[test]
fn the_book_has_every_page_once() {
    let summary = Page::read("docs/SUMMARY.md");
    let mut chapters: Vec<&str> = summary.links().collect();
    chapters.sort_unstable();
    let all = book();
    let pages = all.iter().filter_map(|page| page.path.strip_prefix("docs").ok()?.to_str());
    assert_eq!(chapters, pages.filter(|name| *name != "SUMMARY.md").collect::<Vec<_>>());
}
