//! `carrousel fmt`: canonical layout.

use crate::failure::{Failure, shown};
use crate::input;
use crate::out::Out;
use crate::status::Status;
use crate::style::Style;
use carrousel_scenario::{format, parse};
use carrousel_system::record;
use carrousel_system::stderr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Print scenarios in canonical layout
///
/// Comments and the meaning stay; layout, blanks and empty lines become uniform. A file in canonical
/// layout is printed as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel fmt late.scn                     print it
  carrousel fmt --write tests/*.scn          rewrite the files that differ
  carrousel fmt --check tests/*.scn          name the files that differ, for CI
  carrousel fmt --stdin < late.scn           from an editor

Exit status: 0 done; 1 with --check, when a file differs; 2 when a file is wrong.")]
pub(crate) struct FmtArgs {
    /// The files; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "stdin")]
    files: Vec<PathBuf>,
    /// Name the files that differ from canonical layout, and print nothing else
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// Rewrite the files in place instead of printing them
    #[arg(long, short, conflicts_with = "stdin")]
    write: bool,
    /// Read standard input instead of files
    #[arg(long, conflicts_with = "files")]
    stdin: bool,
}

/// `carrousel fmt`.
pub(crate) fn run(args: &FmtArgs, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    let stdin = [PathBuf::from("-")];
    let files = if args.stdin { &stdin[..] } else { &args.files[..] };
    let mut worst = Status::Fine;
    for file in files {
        let result = one(args, file, out, errors);
        let status = out.settle(result, errors)?;
        worst = worst.max(status);
    }
    Ok(worst)
}

fn one(args: &FmtArgs, file: &Path, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    let bytes = input::read(file)?;
    let ast = parse(&input::name(file), &bytes)
        .map_err(|error| Failure::diagnostic(error.render(errors.color), Status::Wrong))?;
    let text = format(&ast);
    if args.check {
        if text.as_bytes() == bytes {
            return Ok(Status::Fine);
        }
        out.line(&input::name(file))?;
        return Ok(Status::Violated);
    }
    if args.write && file != Path::new("-") {
        if text.as_bytes() != bytes {
            replace(file, &text)?;
            stderr::tell(format!("formatted {}", shown(file)));
        }
        return Ok(Status::Fine);
    }
    out.text(&text)?;
    Ok(Status::Fine)
}

/// Replaces a file's text atomically: a reader sees the old text or the new.
fn replace(file: &Path, text: &str) -> Result<(), Failure> {
    // A symbolic link stays one.
    let target = fs::canonicalize(file).map_err(|error| Failure::of_file("write", file, &error))?;
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside = target.with_file_name(name);
    let write = || {
        record::replace(&beside)?.write_all(text.as_bytes())?;
        fs::set_permissions(&beside, fs::metadata(&target)?.permissions())?;
        fs::rename(&beside, &target)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&beside);
        Failure::of_file("write", file, &error)
    })
}
