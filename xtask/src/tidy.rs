//! The first impressions of a reader that a program can judge: how comments begin, names that stand for several types,
//! and the subjects of commits. What is not tidy yet is counted in `tidy.toml`, and may only become less.

use crate::steps::StepOutcome;
use crate::tools::{output_of, root};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a comment does not begin: with a pronoun, or an indirect question, in place of the thing that it is about.
const OPENINGS: [&str; 6] = ["Who ", "Whoever ", "Whom ", "Whose ", "One that ", "Those that "];
/// Phrases that no comment has: a word of the field is shorter.
const PHRASES: [&str; 3] = ["that there is not", "that there are not", "besides"];
/// The longest subject of a commit.
const SUBJECT_MAX: usize = 72;

/// The exceptions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// The last commit whose subject may be of any length.
    commits_since: String,
    /// Comments that begin with one of [`OPENINGS`], or have one of [`PHRASES`], by directory.
    comments: BTreeMap<String, usize>,
    /// Names of types that several files of one crate define.
    types: BTreeMap<String, BTreeSet<String>>,
}

/// Compares the sources and the commits with what is known of them.
pub(crate) fn check() -> Result<StepOutcome, String> {
    if !root().join(".git").exists() {
        return Ok(StepOutcome::Skipped(
            "this is not a git repository, which says which files there are".to_owned(),
        ));
    }
    let path = root().join("xtask/tidy.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let known: Known = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut wrong = Vec::new();
    let (mut comments, mut types) = (BTreeMap::new(), BTreeMap::new());
    let sources = sources()?;
    for (directory, files) in &sources {
        let mut defined: BTreeMap<String, BTreeSet<&Path>> = BTreeMap::new();
        let mut count = 0;
        for (file, text) in files {
            count += text.lines().filter(|line| is_untidy(line)).count();
            for name in text.lines().filter_map(type_defined) {
                defined.entry(name.to_owned()).or_default().insert(file);
            }
        }
        let several = defined.into_iter().filter(|(_, files)| files.len() > 1).map(|(name, _)| name);
        let several: BTreeSet<String> = several.collect();
        if count > 0 {
            comments.insert(directory.clone(), count);
        }
        if !several.is_empty() {
            types.insert(directory.clone(), several);
        }
    }
    for directory in known.comments.keys().chain(comments.keys()).collect::<BTreeSet<_>>() {
        let count = |of: &BTreeMap<String, usize>| of.get(directory).copied().unwrap_or(0);
        let (before, now) = (count(&known.comments), count(&comments));
        if now != before {
            let files = sources.get(directory).filter(|_| now > before);
            let lines = files.map_or_else(String::new, untidy_lines);
            wrong.push(format!("{directory}: {now} comments that are not tidy, {before} are known{lines}"));
        }
    }
    for directory in known.types.keys().chain(types.keys()).collect::<BTreeSet<_>>() {
        let names = |of: &BTreeMap<String, BTreeSet<String>>| of.get(directory).cloned().unwrap_or_default();
        let (before, now) = (names(&known.types), names(&types));
        wrong.extend(
            now.difference(&before).map(|name| format!("{directory}: several types are called {name}")),
        );
        wrong.extend(
            before
                .difference(&now)
                .map(|name| format!("{directory}: {name} is one type now: not known any more")),
        );
    }
    wrong.extend(long_subjects(&known.commits_since)?);
    if wrong.is_empty() {
        Ok(StepOutcome::Passed)
    } else {
        Err(format!("xtask/tidy.toml does not say so:\n  {}", wrong.join("\n  ")))
    }
}

/// Files of a crate, and what is in them.
type Files = Vec<(PathBuf, String)>;

/// The sources of each crate, by its directory.
fn sources() -> Result<BTreeMap<String, Files>, String> {
    let list = output_of(Command::new("git").args(["ls-files", "*.rs"]).current_dir(root()))?;
    let mut sources: BTreeMap<String, Files> = BTreeMap::new();
    for file in list.lines() {
        // A file that was moved or deleted, which is not committed yet.
        let Ok(text) = fs::read_to_string(root().join(file)) else { continue };
        let mut parts = file.split('/');
        let first = parts.next().unwrap_or_default();
        let directory = match (first, parts.next()) {
            ("protocols", Some(second)) => format!("{first}/{second}"),
            _ => first.to_owned(),
        };
        sources.entry(directory).or_default().push((file.into(), text));
    }
    Ok(sources)
}

/// The lines of files that are not tidy, as lines of a message.
fn untidy_lines(files: &Files) -> String {
    let lines = files.iter().flat_map(|(file, text)| {
        let untidy = (1..).zip(text.lines()).filter(|(_, line)| is_untidy(line));
        untidy.map(move |(at, line)| format!("\n    {}:{at}: {}", file.display(), line.trim()))
    });
    lines.collect()
}

/// Whether a line is a comment that begins, or speaks, in a way that has to be read twice.
fn is_untidy(line: &str) -> bool {
    let line = line.trim_start();
    let Some(comment) = ["/// ", "//! ", "// "].iter().find_map(|start| line.strip_prefix(start)) else {
        return false;
    };
    OPENINGS.iter().any(|opening| comment.starts_with(opening))
        || PHRASES.iter().any(|phrase| comment.contains(phrase))
}

/// The name of the type that a line begins to define.
fn type_defined(line: &str) -> Option<&str> {
    // An indented type belongs to a function or a test.
    let line = match line.strip_prefix("pub") {
        Some(rest) => {
            rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest)
        }
        None => line,
    };
    let (kind, rest) = line.trim_start().split_once(' ')?;
    let is_type = ["struct", "enum", "union", "trait"].contains(&kind) && !line.starts_with("  ");
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    is_type.then_some(&rest[..end])
}

/// Commits whose subject is too long; none in a clone whose history does not reach so far back.
fn long_subjects(since: &str) -> Result<Vec<String>, String> {
    let mut git = Command::new("git");
    git.args(["log", "--no-merges", "--format=%h %s", &format!("{since}..")]).current_dir(root());
    let Ok(log) = output_of(&mut git) else { return Ok(Vec::new()) };
    let long = log.lines().filter_map(|line| line.split_once(' '));
    let long = long.filter(|(_, subject)| subject.chars().count() > SUBJECT_MAX);
    Ok(long.map(|(commit, subject)| format!("commit {commit}: the subject is too long: {subject}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_name_the_thing_first() {
        for line in
            ["    /// Whoever waits is woken.", "// One that is gone.", "//! Memory that there is not, here."]
        {
            assert!(is_untidy(line), "{line}");
        }
        for line in
            ["    /// Wakes the rank that waits.", "let text = \"// Whoever\";", "/// The one that is gone."]
        {
            assert!(!is_untidy(line), "{line}");
        }
    }

    #[test]
    fn definitions_of_types_are_found() {
        assert_eq!(type_defined("pub(crate) struct Line<'a> {"), Some("Line"));
        assert_eq!(type_defined("enum State {"), Some("State"));
        assert_eq!(type_defined("pub trait Payload: Sized {"), Some("Payload"));
        assert_eq!(type_defined("pub fn structure() {"), None);
        assert_eq!(type_defined("    struct Inner;"), None);
    }
}
