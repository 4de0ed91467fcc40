//! The first impressions of a reader that a program can judge: how comments begin, names that stand for several types,
//! the subjects of commits, and merges whose two sides are both still there.

use crate::steps::StepOutcome;
use crate::tools::{output_of, root};
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

/// The last commit whose subject may be of any length.
const COMMITS_SINCE: &str = "2b3010f";

/// Reads the sources and the subjects of commits.
pub(crate) fn check() -> Result<StepOutcome, String> {
    if !root().join(".git").exists() {
        return Ok(StepOutcome::Skipped(
            "this is not a git repository, which says which files there are".to_owned(),
        ));
    }
    let mut wrong = Vec::new();
    for (directory, files) in &sources()? {
        let mut defined: BTreeMap<&str, BTreeSet<&Path>> = BTreeMap::new();
        for (file, text) in files {
            let untidy = (1..).zip(text.lines()).filter(|(_, line)| is_untidy(line));
            wrong.extend(untidy.map(|(at, line)| format!("{}:{at}: {}", file.display(), line.trim())));
            for name in text.lines().filter_map(type_defined) {
                defined.entry(name).or_default().insert(file);
            }
        }
        let several = defined.into_iter().filter(|(_, files)| files.len() > 1);
        wrong.extend(several.map(|(name, _)| format!("{directory}: several types are called {name}")));
    }
    wrong.extend(long_subjects(COMMITS_SINCE)?);
    wrong.extend(unresolved_merges()?);
    if wrong.is_empty() { Ok(StepOutcome::Passed) } else { Err(format!("\n  {}", wrong.join("\n  "))) }
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

/// Lines that git writes between the sides of a merge that somebody has to resolve, in any file.
fn unresolved_merges() -> Result<Vec<String>, String> {
    let list = output_of(Command::new("git").args(["ls-files", "-z"]).current_dir(root()))?;
    let mut wrong = Vec::new();
    for file in list.split_terminator('\0') {
        // Pictures and recordings are not text.
        let Ok(text) = fs::read_to_string(root().join(file)) else { continue };
        let left = (1..).zip(text.lines()).filter(|(_, line)| is_side_of_merge(line));
        wrong.extend(left.map(|(at, line)| format!("{file}:{at}: a merge is not resolved: {line}")));
    }
    Ok(wrong)
}

fn is_side_of_merge(line: &str) -> bool {
    ["<<<<<<< ", "||||||| ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark))
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
    fn sides_of_a_merge_are_found() {
        assert!(is_side_of_merge("<<<<<<< ours") && is_side_of_merge(">>>>>>> 1a2b3c4 (Docs: more)"));
        assert!(
            !is_side_of_merge("=======")
                && !is_side_of_merge("| a | b |")
                && !is_side_of_merge("a <<<<<<< b")
        );
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
