//! The book of `docs/`, as a tree of HTML beside the files that it links to.

use crate::tools::{self, cargo, find, note, root, target};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of mdBook that is compiled where there is none.
const MDBOOK: &str = "0.5.4";
/// The pages, from the workspace's directory on. The book has the same place in its own tree, so that links to files
/// elsewhere in the workspace lead to copies of those.
pub(crate) const PAGES: &str = "docs";

/// Builds the book, and says where it is; or why there is none, where mdBook cannot be had.
pub(crate) fn build() -> Result<(), String> {
    let mdbook = match mdbook() {
        Ok(mdbook) => mdbook,
        Err(why) => {
            note(&format!("the book is left out, as mdBook cannot be installed: {why}"));
            note(&format!("its pages can be read as they are: {PAGES}/SUMMARY.md names them"));
            return Ok(());
        }
    };
    let place = target().join("book");
    let mut command = Command::new(mdbook);
    command.arg("build").arg(root().join(PAGES)).arg("--dest-dir").arg(place.join(PAGES));
    tools::run(command)?;
    for path in linked()? {
        let wrong = |error: io::Error| format!("{} cannot be copied: {error}", path.display());
        copy(&root().join(&path), &place.join(&path)).map_err(wrong)?;
    }
    println!("written: {}", place.join(PAGES).join("index.html").display());
    Ok(())
}

/// The program: one that is installed, or else one in cargo's build directory, where it is compiled if it is missing.
fn mdbook() -> Result<PathBuf, String> {
    if let Some(installed) = find("mdbook") {
        return Ok(installed);
    }
    let place = target().join(format!("mdbook-{MDBOOK}"));
    let program = place.join("bin/mdbook");
    if !program.is_file() {
        note(&format!("mdBook {MDBOOK} is missing: compiling it"));
        // Without its server and its watcher, which are most of it.
        let mut install = cargo(&["install", "--locked", "--no-default-features", "--features", "search"]);
        install.args(["--version", MDBOOK, "mdbook", "--root"]).arg(place);
        tools::run(install)?;
    }
    Ok(program)
}

/// The files and directories outside of the book to which its pages link, from the workspace's directory on.
pub(crate) fn linked() -> Result<BTreeSet<PathBuf>, String> {
    let pages = root().join(PAGES);
    let wrong = |error: io::Error| format!("{}: {error}", pages.display());
    let mut linked = BTreeSet::new();
    for entry in fs::read_dir(&pages).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_some_and(|ending| ending == "md") {
            linked.extend(links_out(&fs::read_to_string(&path).map_err(wrong)?));
        }
    }
    Ok(linked)
}

/// The targets of links that lead out of the directory of a page.
fn links_out(page: &str) -> impl Iterator<Item = PathBuf> {
    let targets = page.split("](../").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.split('#').next().unwrap_or(target).into())
}

/// Copies a file, or a directory with what is below it. mdBook lets links to other pages end in `.html`, so a page is
/// copied as one that shows its text.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            if name != "target" {
                copy(&from.join(&name), &to.join(&name))?;
            }
        }
        return Ok(());
    }
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory)?;
    }
    if from.extension().is_some_and(|ending| ending == "md") {
        fs::write(to.with_extension("html"), as_html(&fs::read_to_string(from)?))
    } else {
        fs::copy(from, to).map(|_| ())
    }
}

/// A page that shows this text as it is.
fn as_html(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<pre style=\"white-space: pre-wrap\">\n{text}</pre>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_outside_of_the_book_are_copied_under_the_names_that_its_links_have() {
        let page = "[a](../tests/a.scn), [b](other.md), [c](../C.md#part), [d](https://example.org/)";
        assert_eq!(links_out(page).collect::<Vec<_>>(), [Path::new("tests/a.scn"), Path::new("C.md")]);
        let place = tempfile::tempdir().expect("there is room");
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("target")).expect("there is room");
        fs::write(from.join("a.scn"), "ranks 1\n").expect("there is room");
        fs::write(from.join("C.md"), "a < b & c\n").expect("there is room");
        copy(&from, &to).expect("there is room");
        assert_eq!(fs::read_to_string(to.join("a.scn")).expect("it is copied"), "ranks 1\n");
        assert!(fs::read_to_string(to.join("C.html")).expect("it is shown").contains("\na &lt; b &amp; c\n"));
        assert!(!to.join("C.md").exists() && !to.join("target").exists());
    }
}
