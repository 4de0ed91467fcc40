//! Completions and manual pages, generated from the description of the command line.

use crate::failure::Failure;
use crate::out::Out;
use crate::status::Status;
use clap::Command;
use clap_complete::Shell;

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel completions bash > ~/.local/share/bash-completion/completions/carrousel
  carrousel completions zsh > ~/.zfunc/_carrousel
  carrousel completions fish > ~/.config/fish/completions/carrousel.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Print a page of the manual, in the format of man(1).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel man | man -l -
  carrousel man verify > ~/.local/share/man/man1/carrousel-verify.1
  carrousel man bench pt2pt | man -l -")]
pub(crate) struct ManArgs {
    /// The command whose page it is; without it, the page of carrousel itself
    command: Vec<String>,
}

/// `carrousel completions`, for the command line `cli`.
pub(crate) fn completions(
    args: &CompletionsArgs,
    mut cli: Command,
    out: &mut Out,
) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "carrousel", &mut script);
    out.text(&String::from_utf8_lossy(&script))?;
    Ok(Status::Fine)
}

/// `carrousel man`, for the command line `cli`.
pub(crate) fn man(args: &ManArgs, mut cli: Command, out: &mut Out) -> Result<Status, Failure> {
    cli.build();
    let mut page = &cli;
    for name in &args.command {
        page = match page.find_subcommand(name) {
            Some(command) => command,
            None => {
                let names: Vec<&str> = page.get_subcommands().map(|command| command.get_name()).collect();
                let failure = Failure::wrong(format_args!("there is no command `{name}`"));
                return Err(match &names[..] {
                    [] => failure,
                    names => failure.with_help(format_args!("there are {}", names.join(", "))),
                });
            }
        };
    }
    let mut text = Vec::new();
    let version = format!("carrousel {}", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(page.clone()).source(version).manual("Carrousel").render(&mut text)?;
    // Examples and exit statuses are laid out already: their lines must not be filled.
    let text = String::from_utf8_lossy(&text);
    out.text(
        &text.replace(".SH EXTRA\n", ".SH NOTES\n.nf\n").replace("\n.SH VERSION", "\n.fi\n.SH VERSION"),
    )?;
    Ok(Status::Fine)
}
