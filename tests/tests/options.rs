//! A way out that a message or a page names is one: an option that there is, with a value that it takes; and a section that
//! a page refers to is in it.

use carrousel_options::OptionEntry;
use carrousel_tests::{files, root};
use std::fs;
use std::path::{Path, PathBuf};

fn pages() -> Vec<PathBuf> {
    let mut pages =
        vec![root().join("README.md"), root().join("ARCHITECTURE.md"), root().join("CONTRIBUTING.md")];
    pages.extend(files(&root().join("docs"), "md"));
    pages
}

/// Each `` `option=value` `` of a text whose option is one of ours, and whose value is not.
fn wrong_settings(text: &str) -> Vec<String> {
    let quoted = text.split('`').filter(|part| !part.contains(char::is_whitespace));
    let settings = quoted.filter_map(|part| part.split_once('='));
    let wrong = settings.filter_map(|(name, value)| {
        let option = OptionEntry::named(name)?;
        option.parse(value).err().map(|error| format!("`{name}={value}`: {error}"))
    });
    wrong.collect()
}

#[test]
fn settings_that_are_named_are_settings() {
    assert_eq!(wrong_settings("say `verbs=off` or `verbs=all`, not `x=1`").len(), 1);
    let mut all = pages();
    all.extend(files(root(), "rs"));
    assert!(all.len() > 100, "{} files", all.len());
    let this = Path::new(file!()).file_name();
    for path in all.iter().filter(|path| path.file_name() != this) {
        let wrong = wrong_settings(&fs::read_to_string(path).expect("it is text"));
        assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
    }
}

/// The headings of a page, as links name them.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter_map(|line| line.strip_prefix('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// Each section that a page names, `(README, "Section")` or `[text](#section)`, and that is not there.
fn missing_sections(page: &str, readme: &str) -> Vec<String> {
    let of_readme = page.split("README, \"").skip(1).filter_map(|rest| rest.split_once('"'));
    let missing = of_readme
        .filter(|(name, _)| !readme.lines().any(|line| line.trim_start_matches('#').trim() == *name));
    let mut missing: Vec<String> = missing.map(|(name, _)| name.to_owned()).collect();
    let own = page.split("](#").skip(1).filter_map(|rest| rest.split_once(')'));
    let known = anchors(page);
    missing.extend(
        own.filter(|(name, _)| !known.iter().any(|anchor| anchor == name)).map(|(name, _)| name.to_owned()),
    );
    missing
}

#[test]
fn sections_that_are_named_are_there() {
    let readme = fs::read_to_string(root().join("README.md")).expect("it is text");
    let page = "# A page\nsee [it](#a-page), [that](#no-page), README, \"No such section\"";
    assert_eq!(missing_sections(page, &readme), ["No such section", "no-page"]);
    for path in pages() {
        let missing = missing_sections(&fs::read_to_string(&path).expect("it is text"), &readme);
        assert!(missing.is_empty(), "{}: {missing:?}", path.display());
    }
}
