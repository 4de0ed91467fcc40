//! A way out that a message or a page names is one: an option that there is, with a value that it takes.

use carrousel_options::OptionEntry;
use carrousel_tests::pages::pages;
use carrousel_tests::{files, root};
use std::fs;
use std::path::{Path, PathBuf};

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

/// Variables of ours that are no options.
const OTHER_VARIABLES: [&str; 3] = ["options", "trace", "trace_limit"];

/// Each `CARROUSEL_NAME=value` of a text that sets no option, or to a value that it does not take.
fn wrong_variables(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || "`\"'(),;|".contains(c));
    let set = words.filter_map(|word| {
        let word = word.strip_prefix("FI_").unwrap_or(word);
        word.strip_prefix("CARROUSEL_")?.split_once('=')
    });
    let wrong = set.filter_map(|(name, value)| {
        let name = name.to_lowercase();
        if OTHER_VARIABLES.contains(&name.as_str()) {
            return None;
        }
        let Some(option) = OptionEntry::named(&name) else {
            return Some(format!("there is no option {name}"));
        };
        option.parse(value).err().map(|error| format!("{name}={value}: {error}"))
    });
    wrong.collect()
}

#[test]
fn variables_that_pages_set_are_options() {
    assert_eq!(wrong_variables("`CARROUSEL_VERBS=off x`, CARROUSEL_VERBS=all FI_CARROUSEL_X=1").len(), 2);
    for page in pages() {
        let wrong = wrong_variables(&page.text);
        assert!(wrong.is_empty(), "{}: {wrong:?}", page.path.display());
    }
}

#[test]
fn settings_that_are_named_are_settings() {
    assert_eq!(wrong_settings("say `verbs=off` or `verbs=all`, not `x=1`").len(), 1);
    let mut all: Vec<PathBuf> = pages().into_iter().map(|page| root().join(page.path)).collect();
    all.extend(files(root(), "rs"));
    assert!(all.len() > 100, "{} files", all.len());
    let this = Path::new(file!()).file_name();
    for path in all.iter().filter(|path| path.file_name() != this) {
        let wrong = wrong_settings(&fs::read_to_string(path).expect("it is text"));
        assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
    }
}
