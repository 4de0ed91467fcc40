//! `cargo xtask guest`: small virtual machines with a Soft-RoCE device, for what needs InfiniBand.
//!
//! A guest is Debian's kernel and a root directory in memory, made for one run: no disk image, nothing installed,
//! nothing left behind. Its Ethernet carries RDMA, by the kernel's driver `rdma_rxe`. Begin reading at
//! [`run::Host::run`]; what happens inside is in [`init.sh`](init.sh).

mod archive;
mod bench;
mod case;
mod cases;
mod contents;
mod job;
mod kernel;
mod mpi;
pub(crate) mod packages;
mod paths;
pub(crate) mod provider;
mod qemu;
mod run;
mod signals;
mod ssh;

pub(crate) use case::GuestCase;
pub(crate) use cases::steps;
pub(crate) use mpi::GuestMpi;

use crate::steps::Steps;
use clap::{Args, Subcommand};
use job::{BROKEN, End, GuestJob, Program};
use run::Host;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// A command in guests, or the tests.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Guest {
    #[command(subcommand)]
    what: Option<What>,
    /// Take only the tests whose name contains this
    #[arg(long, default_value = "", value_name = "NAME")]
    only: String,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run a command in every guest
    ///
    /// COMMAND is a program and its arguments; write sh -c '...' for a line of shell. Guests start it
    /// together, and stay up until it has ended in all of them. It sees
    ///   NODE_ID, NODE_COUNT         this guest, from 0, and how many there are
    ///   NODE_ADDR, PEER_ADDR        its address, and that of the next guest
    ///   RDMA_DEV, RDMA_GID_INDEX    what to give to -d and -g of verbs programs
    ///   /out                        a directory that --out keeps
    ///   /shared                     a directory that all guests see (9p: no shared mmap)
    /// Guest I is called nI, at 10.9.0.(I+1). It has busybox, `rdma`, and `tc` with its netem.
    #[command(verbatim_doc_comment, after_help = AFTER_HELP)]
    Run(Run),
    /// Measure our transport, the bare verbs, and MPI libraries over UCX, side by side
    #[command(long_about = bench::ABOUT)]
    Bench(bench::GuestBench),
}

const AFTER_HELP: &str = "\
Examples:
  cargo xtask guest run -b ibv_devinfo -- ibv_devinfo
  cargo xtask guest run -n 2 --ssh -- sh -c 'ssh $PEER_ADDR hostname'
  cargo xtask guest run -n 2 -b ibv_rc_pingpong -- sh -c '
    if [ $NODE_ID = 0 ]; then ibv_rc_pingpong -d $RDMA_DEV -g $RDMA_GID_INDEX
    else sleep 1; ibv_rc_pingpong -d $RDMA_DEV -g $RDMA_GID_INDEX $PEER_ADDR; fi'

Each line of output begins with its guest, as [n0]. A guest whose power is cut
(echo b >/proc/sysrq-trigger) is a dead peer; the others go on. The shell prefers
what is in busybox: write /usr/local/bin/tc if you mean the one that was copied.
A command that hangs is killed, and where its threads are stuck is printed first.

Exit status: the highest of the guests'; 124 when the command was killed; 125 when
a guest could not be started, has died, or its kernel has logged a BUG, a WARNING
or an oops; 2 when the command line is wrong.

The kernel is Debian's newest when it is first needed; it stays in target/vm until
that is deleted. GUEST_ACCEL sets QEMU's accelerator (tcg,thread=multi): kvm is much
faster where it works.";

#[derive(Debug, Args)]
struct Run {
    /// How many guests, on one Ethernet segment
    #[arg(short = 'n', long, default_value_t = 1, value_name = "NODES")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=9))]
    nodes: u8,
    /// A program to copy in with its shared libraries: a path, or a name to look up in PATH
    #[arg(short, long = "binary", value_name = "PROGRAM")]
    binaries: Vec<String>,
    /// A file or a directory to copy in, at the same path
    #[arg(short, long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A variable for the command
    #[arg(short, long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Let guests reach each other by ssh, as root: `ssh n1 hostname`
    #[arg(long)]
    ssh: bool,
    /// Keep what guest I wrote to /out in OUT/nI, and its kernel's log in OUT/nI.log
    #[arg(short, long, value_name = "OUT")]
    out: Option<PathBuf>,
    /// How long the command may take
    #[arg(short, long, default_value_t = 60, value_name = "SECONDS")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=86_400))]
    timeout: u32,
    /// Processors of each guest [default: those of this machine, shared out, at most 4]
    #[arg(short, long, value_name = "CPUS", value_parser = clap::value_parser!(u8).range(1..))]
    cpus: Option<u8>,
    /// Memory of each guest, which also holds its files
    #[arg(short, long, default_value_t = 1024, value_name = "MB")]
    #[arg(value_parser = clap::value_parser!(u32).range(64..))]
    memory: u32,
    /// The program, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// `cargo xtask guest`.
pub(crate) fn run(guest: &Guest) -> ExitCode {
    let run = match &guest.what {
        Some(What::Run(run)) => run,
        Some(What::Bench(bench)) => return bench::run(bench),
        None => {
            let mut steps = Steps::new(&guest.only);
            cases::steps(&mut steps);
            return steps.finish();
        }
    };
    let done = run.job().and_then(|job| {
        Host::prepare()?.run(&job, &mut |line| {
            // A reader that has left does not change how the command ends.
            let _ = writeln!(std::io::stdout(), "{line}");
        })
    });
    match done {
        Ok(ends) => ExitCode::from(ends.iter().map(End::status).max().unwrap_or(0)),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(BROKEN)
        }
    }
}

impl Run {
    fn job(&self) -> Result<GuestJob, String> {
        if let Some(out) = &self.out {
            fs::create_dir_all(out).map_err(|error| format!("cannot make {}: {error}", out.display()))?;
        }
        Ok(GuestJob {
            nodes: self.nodes.into(),
            programs: self.binaries.iter().map(|named| Program::find(named)).collect::<Result<_, _>>()?,
            files: self.files.clone(),
            environment: self.env.clone(),
            ssh: self.ssh,
            timeout_s: self.timeout,
            cpus: self.cpus.map(usize::from),
            memory_mib: self.memory,
            command: self.command.clone(),
            out: self.out.clone(),
        })
    }
}

/// A variable that a shell can have, and that fits on a line, as ssh wants it.
fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("there is no `=` in it")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("{name:?} is no name of a variable"));
    }
    if value.contains('\n') {
        return Err("the value has more than one line".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_a_name_and_a_line() {
        assert_eq!(variable("A_1=b=c d"), Ok(("A_1".to_owned(), "b=c d".to_owned())));
        for wrong in ["A", "=b", "1A=b", "A B=c", "A-B=c", "A=b\nc"] {
            assert!(variable(wrong).is_err(), "{wrong:?}");
        }
    }
}
