//! Each protocol with rules has a page beside them, which names all of its messages, and whose runs are what the checker
//! and the simulator print.

use carrousel_tests::pages::Page;
use carrousel_tests::{carrousel, files, printed, root, stdout, text};
use std::collections::BTreeSet;
use std::fs;

/// The vocabulary of each protocol: what its page has to name, by the file of its source and the item there.
const VOCABULARY: [(&str, &str, &str); 16] = [
    ("rendezvous", "packet.rs", "Packet"),
    ("rendezvous", "packet.rs", "Hint"),
    ("epoch", "calls.rs", "Packet"),
    ("epoch", "calls.rs", "GrantWord"),
    ("lock", "words.rs", "Access"),
    ("lock", "words.rs", "Owner"),
    ("lock", "words.rs", "Word"),
    ("connection", "handshake.rs", "Hello"),
    ("registration", "registration_cache.rs", "Route"),
    ("registration", "cache/mod.rs", "Acquired"),
    ("registration", "cache/mod.rs", "Registration"),
    ("registration", "cache/mod.rs", "RegistrationError"),
    ("registration", "cache/mod.rs", "Deregister"),
    ("registration", "uses/mod.rs", "Path"),
    ("schedule", "schedule.rs", "Place"),
    ("schedule", "schedule.rs", "Granted"),
];

/// The protocols that have rules.
fn protocols() -> BTreeSet<String> {
    let entries = fs::read_dir(root().join("protocols")).expect("there are protocols");
    let directories = entries.map(|entry| entry.expect("it can be read").path());
    let with_rules = directories.filter(|directory| directory.join("rules.toml").exists());
    let name = |directory: std::path::PathBuf| directory.file_name().map(|name| name.display().to_string());
    with_rules.filter_map(name).collect()
}

fn page(protocol: &str) -> Page {
    Page::read(format!("protocols/{protocol}/PROTOCOL.md"))
}

/// The variants of an enumeration, or the fields of a structure; its own name, if these have none.
fn parts(source: &str, item: &str) -> Vec<String> {
    let code = syn::parse_file(source).expect("it is Rust");
    let parts = code.items.iter().find_map(|found| match found {
        syn::Item::Enum(it) if it.ident == item => {
            Some(it.variants.iter().map(|variant| variant.ident.to_string()).collect())
        }
        syn::Item::Struct(it) if it.ident == item => {
            let fields = it.fields.iter().filter_map(|field| field.ident.as_ref()).map(ToString::to_string);
            let fields: Vec<String> = fields.collect();
            Some(if fields.is_empty() { vec![item.to_owned()] } else { fields })
        }
        _ => None,
    });
    parts.unwrap_or_else(|| panic!("there is no {item}"))
}

#[test]
fn every_protocol_has_a_page_that_names_its_messages() {
    let protocols = protocols();
    assert!(protocols.len() >= 6, "{protocols:?}");
    for protocol in &protocols {
        let page = page(protocol);
        let vocabulary: Vec<_> = VOCABULARY.iter().filter(|(of, ..)| of == protocol).collect();
        assert!(!vocabulary.is_empty(), "the test does not know what {protocol} says");
        for (_, file, item) in vocabulary {
            let source = text(format!("protocols/{protocol}/src/{file}"));
            for part in parts(&source, item) {
                let is_named = page.text.contains(&format!("`{part}`"));
                assert!(is_named, "protocols/{protocol}/PROTOCOL.md does not name `{part}` of {item}");
            }
        }
    }
}

/// Lines without the white space at their ends, and without empty ones.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect()
}

/// Whether the parts of `shown` between lines of three dots are in `found`, in this order, each without a gap.
fn is_excerpt(shown: &[&str], found: &[&str]) -> bool {
    let mut rest = found;
    shown.split(|line| *line == "...").all(|part| {
        let at = rest.windows(part.len().max(1)).position(|lines| lines == part);
        let at = if part.is_empty() { Some(0) } else { at };
        at.is_some_and(|at| {
            rest = &rest[at + part.len()..];
            true
        })
    })
}

#[test]
fn the_runs_of_a_page_are_what_the_commands_print() {
    let counterexamples: Vec<String> =
        files(&root().join("tests/tests/snapshots"), "snap").iter().map(text).collect();
    for protocol in protocols() {
        let mut runs = 0;
        for block in page(&protocol).blocks() {
            let block_text = block.lines.join("\n");
            let shown = lines(&block_text);
            runs += 1;
            match (block.words.join(",").as_str(), shown.split_first()) {
                ("console", Some((command, shown))) => {
                    let arguments = command.strip_prefix("$ carrousel ").expect("the command is ours");
                    let output = carrousel().args(arguments.split_whitespace()).output().expect("it runs");
                    let found = stdout(&output);
                    let is_it = is_excerpt(shown, &lines(&found));
                    assert!(is_it, "{protocol}: `{command}` prints otherwise:\n{}", printed(&output));
                }
                // Of the suite of ablations, which has a test of its own that keeps what it finds.
                ("text", Some((rule, _))) if rule.starts_with("without ") => {
                    let is_kept = counterexamples.iter().any(|kept| is_excerpt(&shown, &lines(kept)));
                    assert!(is_kept, "{protocol}: the suite finds something else `{rule}`");
                }
                _ => panic!("{protocol}: a block is neither a command nor a counterexample: {shown:?}"),
            }
        }
        assert!(runs >= 2, "{protocol} shows {runs} runs");
    }
}

#[test]
fn an_excerpt_has_no_gaps_but_those_that_it_shows() {
    let found = ["a", "b", "c", "d"];
    for (shown, is_one) in [
        (vec!["a", "b"], true),
        (vec!["b", "...", "d"], true),
        (vec!["...", "c"], true),
        (vec!["a", "...", "..."], true),
        (vec!["a", "c"], false),
        (vec!["d", "...", "a"], false),
        (vec!["e"], false),
    ] {
        assert_eq!(is_excerpt(&shown, &found), is_one, "{shown:?}");
    }
}
