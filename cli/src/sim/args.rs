//! Arguments of `carrousel sim`.

use crate::report::Format;
use carrousel_options::parse_size;
use carrousel_transport_sim::{Acquisition, Copies, Progress, Protocol};
use std::ffi::OsString;
use std::path::PathBuf;

/// The most ranks of a simulated program: each is a task with buffers of its own.
const RANKS_MAX: i64 = 1 << 20;

/// Run a scenario, or a program, in virtual time over a simulated network
///
/// A program (--app) calls `carrousel_app::run` in its `main`, and is the same that `carrousel run` starts.
/// It is started once, and its ranks are tasks that send each other real bytes. Its computations take the time
/// that it declares for them. Its output comes first, and with --format json goes to standard error.
///
/// Every run with the same arguments is the same. Times are virtual microseconds: when each statement
/// was called, when the call returned, and when its request was complete. Between that return and that completion,
/// its rank computed for `computed us`, and was in calls that wait for `waited us`. Where data moves while the rank
/// computes, the second is next to nothing.
///
/// Of epochs it is told who waited for whom: an origin for a post (Late Post), a target for the end of an access
/// (Late Complete), a rank in a fence for data (Early Fence) or for another rank (Wait at Fence), an origin for a lock
/// that another holds (Late Unlock).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel sim early.scn                                    which rank waits how long
  carrousel sim early.scn --protocol rget                    and with the classical protocol
  carrousel sim early.scn --progress thread                  and with a progress thread
  carrousel sim early.scn --timeline early.html              draw it
  carrousel sim early.scn --format json | jq .makespan_us    for a script
  carrousel sim -n 1024 --app ./heat                         a program, on 1024 ranks
  carrousel sim -n 64 --ranks-per-node 8 --app ./heat -- 50  on 8 nodes, with an argument

Exit status:
  0  done
  1  deadlock, a message too long for its receive, a rank that failed, or a limit of the run
  2  the file or the request is wrong, or holds what cannot be simulated yet")]
pub(crate) struct SimArgs {
    /// The scenario; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "app")]
    pub(super) file: Option<PathBuf>,
    /// A program instead, which simulates its ranks
    #[arg(long, value_name = "PROGRAM", conflicts_with = "file", requires = "ranks")]
    pub(super) app: Option<PathBuf>,
    /// How many ranks the program has; a scenario says so itself
    #[arg(short = 'n', long, value_name = "N", requires = "app")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=RANKS_MAX))]
    pub(super) ranks: Option<u32>,
    /// How many ranks of the program share a node
    #[arg(long, value_name = "K", default_value_t = 1, requires = "app")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) ranks_per_node: u32,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGUMENT", requires = "app")]
    pub(super) arguments: Vec<OsString>,
    /// The parameter set of the machine: qdr, ddr-iwarp or shm
    #[arg(long, value_name = "NAME", default_value = "qdr")]
    pub(super) network: String,
    /// How large messages travel: mirror, published, rget or rput
    #[arg(long, value_name = "NAME", default_value = "mirror")]
    pub(super) protocol: Protocol,
    /// Means of progress while the application computes: none or thread
    #[arg(long, value_name = "MEANS", default_value = "none")]
    pub(super) progress: Progress,
    /// When copies within a node are made that an epoch asks for: scheduled, while the network streams, or as the papers'
    /// baselines deferred until it has ended, or self-at-call
    #[arg(long, value_name = "WHEN", default_value = "scheduled")]
    pub(super) copies: Copies,
    /// When locks of windows are requested: eager, as soon as possible, or as the papers' baseline lazy, when they are
    /// released
    #[arg(long, value_name = "WHEN", default_value = "eager")]
    pub(super) locks: Acquisition,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    /// Draw the run: ranks as lanes, and the messages between them
    #[arg(long, value_name = "OUT.svg|OUT.html")]
    pub(super) timeline: Option<PathBuf>,
    /// Give the simulation of a scenario up when this process has so much memory, such as 8GiB [default: three quarters of
    /// what the host and its control groups have left]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "app")]
    pub(super) max_memory: Option<u64>,
    /// Seed of the jitter
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
    /// Lengthen each latency and computation at random by up to so many thousandths
    #[arg(long, value_name = "PER_MILLE", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(super) jitter: u32,
}
