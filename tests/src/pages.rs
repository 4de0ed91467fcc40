//! The pages for readers: code blocks, headings and links of the README, of the book in `docs/`, and of other texts.

use crate::{files, root, text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A text in Markdown.
#[derive(Debug)]
pub struct Page {
    /// From the workspace's directory on.
    pub path: PathBuf,
    /// Its bytes.
    pub text: String,
}

/// A block of code between fences.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CodeBlock {
    /// The words behind the first fence: the language, then marks.
    pub words: Vec<String>,
    /// The lines between the fences.
    pub lines: Vec<String>,
}

/// What a line of a page is.
enum Line<'a> {
    /// The fence before a block, and the words behind it.
    Open(&'a str),
    Close,
    Code(&'a str),
    Prose(&'a str),
}

impl Page {
    /// A page of the workspace.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn read(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { text: text(&path), path }
    }

    fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut inside = false;
        self.text.lines().map(move |line| match line.trim_start().strip_prefix("```") {
            Some(words) => {
                inside = !inside;
                if inside { Line::Open(words) } else { Line::Close }
            }
            None if inside => Line::Code(line),
            None => Line::Prose(line),
        })
    }

    /// The blocks of code.
    ///
    /// # Panics
    /// When one has no end.
    pub fn blocks(&self) -> Vec<CodeBlock> {
        let mut blocks: Vec<CodeBlock> = Vec::new();
        let mut block: Option<CodeBlock> = None;
        for line in self.lines() {
            match line {
                Line::Open(words) => {
                    let words = words.split([',', ' ']).filter(|word| !word.is_empty());
                    let words = words.map(ToOwned::to_owned).collect();
                    block = Some(CodeBlock { words, lines: Vec::new() });
                }
                Line::Close => blocks.extend(block.take()),
                Line::Code(code) => block.iter_mut().for_each(|block| block.lines.push(code.to_owned())),
                Line::Prose(_) => {}
            }
        }
        assert!(block.is_none(), "{}: a block has no end", self.path.display());
        blocks
    }

    /// The lines outside of blocks.
    pub fn prose(&self) -> impl Iterator<Item = &str> {
        self.lines().filter_map(|line| if let Line::Prose(text) = line { Some(text) } else { None })
    }

    /// The headings, as links name them: a heading that there is twice gets a number the second time.
    pub fn anchors(&self) -> Vec<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut anchors = Vec::new();
        for heading in self.prose().filter_map(|line| line.strip_prefix('#')) {
            let words = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
            let before = seen.entry(anchor.clone()).or_default();
            anchors.push(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
            *before += 1;
        }
        anchors
    }

    /// The targets of the links to something of the workspace: a path from this page on, and behind a `#` a heading.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        let targets = self.prose().flat_map(|line| line.split("](").skip(1));
        let targets = targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        targets.filter(|target| !target.contains("://"))
    }

    /// Each link that leads to nothing: no such file, or no such heading in it.
    pub fn broken_links(&self) -> Vec<&str> {
        self.links().filter(|target| !self.leads_somewhere(target)).collect()
    }

    fn leads_somewhere(&self, target: &str) -> bool {
        let (path, heading) = target.split_once('#').map_or((target, None), |(path, it)| (path, Some(it)));
        let has = |page: &Self| heading.is_none_or(|heading| page.anchors().iter().any(|it| it == heading));
        if path.is_empty() {
            return has(self);
        }
        let path = self.path.parent().unwrap_or(Path::new("")).join(path);
        let is_page = path.extension().is_some_and(|ending| ending == "md");
        let is_there = root().join(&path).exists();
        is_there && if is_page { has(&Self::read(path)) } else { heading.is_none() }
    }
}

/// The pages below a directory of the workspace, by path.
fn below(directory: &str) -> Vec<Page> {
    let mut paths = files(&root().join(directory), "md");
    paths.sort();
    let relative = |path: &PathBuf| path.strip_prefix(root()).expect("it is below the root").to_owned();
    paths.iter().map(relative).map(Page::read).collect()
}

/// The README and the pages of the book, by path.
///
/// # Panics
/// When one cannot be read.
pub fn book() -> Vec<Page> {
    [Page::read("README.md")].into_iter().chain(below("docs")).collect()
}

/// The pages of the book and of the protocols, and the other texts that people read.
///
/// # Panics
/// When one cannot be read.
pub fn pages() -> Vec<Page> {
    let others = [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "GLOSSARY.md",
        "schema/README.md",
        "tests/unsafe.md",
    ];
    book().into_iter().chain(below("protocols")).chain(others.map(Page::read)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Page {
        Page { path: "docs/page.md".into(), text: text.to_owned() }
    }

    #[test]
    fn blocks_have_the_words_of_their_fence() {
        let page = page("text\n```sh,not-run\n# no heading\n```\n- item\n  ```\n  x\n  ```\n");
        let block = |words: &[&str], line: &str| CodeBlock {
            words: words.iter().map(ToString::to_string).collect(),
            lines: vec![line.to_owned()],
        };
        assert_eq!(page.blocks(), [block(&["sh", "not-run"], "# no heading"), block(&[], "  x")]);
        assert_eq!(page.prose().collect::<Vec<_>>(), ["text", "- item"]);
        assert_eq!(page.anchors(), Vec::<String>::new());
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let page = page(
            "# A page\n# `two` words: here\n# A page\n[it](#a-page), [this](#a-page-1), [words](#two-words-here)\n\
             [code](../Cargo.toml), [page](language.md#checks), [net](https://example.org/)\n\
             [no](#b), [no](c.md), [no](language.md#d), [no](../Cargo.toml#e)",
        );
        assert_eq!(page.broken_links(), ["#b", "c.md", "language.md#d", "../Cargo.toml#e"]);
    }
}
