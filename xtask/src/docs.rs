//! `cargo xtask docs`: what is generated from the command line's description, and the book.

use crate::book;
use crate::tools::{cargo, root};
use std::fs;
use std::path::Path;

/// Shells, each with the name that its completions are installed under.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "carrousel.bash"),
    ("zsh", "_carrousel"),
    ("fish", "carrousel.fish"),
    ("elvish", "carrousel.elv"),
    ("powershell", "_carrousel.ps1"),
];

/// Commands that have a page.
const COMMANDS: [&[&str]; 9] = [
    &["verify"],
    &["sim"],
    &["run"],
    &["bench"],
    &["bench", "pt2pt"],
    &["fmt"],
    &["info"],
    &["completions"],
    &["man"],
];

/// Writes the completions, the manual and the book.
pub(crate) fn run() -> Result<(), String> {
    let dist = root().join("dist");
    for (shell, name) in SHELLS {
        write(&dist.join("completions").join(name), &["completions", shell])?;
    }
    write(&dist.join("man/carrousel.1"), &["man"])?;
    for command in COMMANDS {
        let name = format!("man/carrousel-{}.1", command.join("-"));
        write(&dist.join(name), &[&["man"], command].concat())?;
    }
    println!("written: {}", dist.display());
    book::build()
}

fn write(path: &Path, arguments: &[&str]) -> Result<(), String> {
    let output =
        cargo(&[&["run", "--quiet", "--package", "carrousel-cli", "--"], arguments].concat()).output();
    let output = output.map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let wrong = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(wrong)?;
    }
    fs::write(path, output.stdout).map_err(wrong)
}
