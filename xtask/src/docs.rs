//! `cargo xtask docs`: what is generated from the command line's description, and the book.

use crate::book;
use crate::built::COMMAND;
use crate::tools::{output_of, root};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Shells, each with the name that its completions are installed under.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "carrousel.bash"),
    ("zsh", "_carrousel"),
    ("fish", "carrousel.fish"),
    ("elvish", "carrousel.elv"),
    ("powershell", "_carrousel.ps1"),
];

/// Writes the completions, the manual and the book.
pub(crate) fn run() -> Result<(), String> {
    let dist = root().join("dist");
    let command = COMMAND.build()?;
    for (shell, name) in SHELLS {
        write(&dist.join("completions").join(name), &completions(&command, shell)?)?;
    }
    for page in manual(&command)? {
        write(&dist.join("man").join(page.name), &page.text)?;
    }
    println!("written: {}", dist.display());
    book::build()
}

/// The completions of a shell, as this build of the command prints them.
pub(crate) fn completions(command: &Path, shell: &str) -> Result<String, String> {
    output_of(Command::new(command).args(["completions", shell]))
}

/// A page of the manual.
pub(crate) struct ManPage {
    /// `carrousel-bench-pt2pt.1`.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The manual, as this build of the command prints it: its own page, and that of each command in it.
pub(crate) fn manual(command: &Path) -> Result<Vec<ManPage>, String> {
    let mut pages = Vec::new();
    let mut left: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = left.pop() {
        let text = output_of(Command::new(command).arg("man").args(&words))?;
        let name = ["carrousel"].into_iter().chain(words.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join("-");
        left.extend(commands_of(&name, &text).map(|command| [&words[..], &[command]].concat()));
        pages.push(ManPage { name: format!("{name}.1"), text });
    }
    Ok(pages)
}

/// The commands that the page of this name lists, without what each has to explain the others: `carrousel\-bench\-pt2pt(1)`
/// is `pt2pt` of `carrousel-bench`.
fn commands_of(name: &str, page: &str) -> impl Iterator<Item = String> {
    let listed = page.lines().skip_while(|line| *line != ".SH SUBCOMMANDS").skip(1);
    let listed = listed.take_while(|line| !line.starts_with(".SH "));
    let below = format!("{name}-");
    listed.filter_map(move |line| {
        let line = line.replace("\\-", "-");
        let command = line.strip_suffix("(1)")?.strip_prefix(&below)?;
        (command != "help").then(|| command.to_owned())
    })
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(wrong)?;
    }
    fs::write(path, text).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_lists_the_commands_that_have_pages() {
        let page = ".SH NAME\ncarrousel\\-x(1)\n.SH SUBCOMMANDS\n.TP\ncarrousel\\-bench(1)\nMeasure\n.TP\n\
                    carrousel\\-help(1)\nPrint\n.SH NOTES\ncarrousel\\-y(1)\n";
        assert_eq!(commands_of("carrousel", page).collect::<Vec<_>>(), ["bench"]);
        let page = ".SH SUBCOMMANDS\n.TP\ncarrousel\\-bench\\-pt2pt(1)\nMeasure\n";
        assert_eq!(commands_of("carrousel-bench", page).collect::<Vec<_>>(), ["pt2pt"]);
        assert_eq!(commands_of("carrousel-fmt", ".SH NAME\n").count(), 0);
    }
}
