//! The arguments of `verify`.

use crate::report::Format;
use carrousel_options::parse_size;
use clap::ValueEnum;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// Prove a scenario, or find the shortest way in which it goes wrong
///
/// Explores every order in which the ranks, the protocol and the network can act, and reports nine
/// checks: `deadlock-freedom` and `matching-order`, `buffer-safety`, `match-determinism` (a note: it
/// does not change the exit status), `rma-race`, `epoch-usage`, `lock-exclusion`, `request-leak`,
/// `unmatched-message`. Each is `proven`, `violated` with a shortest counterexample, `inconclusive` when
/// a bound was hit, or `not-applicable` when the file has nothing that the check speaks of. Ctrl-C ends
/// the search, and its results so far are printed; another one, after a second or later, ends the command. A file with
/// `expect CHECK violated` lines is its own regression test.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel verify ring.scn                        prove a pattern
  carrousel verify --portable ring.scn             under every MPI: no send may count on buffers
  carrousel verify ring.scn --chart wrong.svg      draw the counterexample
  carrousel verify ring.scn --full                 every step of it, also those without a part in it
  carrousel verify ring.scn --format json          for a script
  carrousel verify ring.scn --explore              walk through the states in a browser
  carrousel verify --suite rendezvous              prove the protocol: every program up to a bound
  carrousel verify --suite memory                  prove the registration cache, and sends without a copy
  carrousel verify --suite connection              prove how connections are made, and kept from overrunning
  carrousel verify --suite lock                    prove the locks of windows
  carrousel verify --suite epoch                   prove the epochs of windows: every program up to a bound
  carrousel verify --suite ablations               each rule off in turn, and its race found
  carrousel verify --suite rendezvous --full --shard 2/8 --format json > 2.json
  carrousel verify --merge 1.json 2.json ...       one report from those of all shards

Exit status:
  0  all proven; or, with `expect` lines, exactly the expected checks violated
  1  some check violated (match-determinism aside); or, with `expect` lines, anything else than that
  2  a file is wrong, or holds what cannot be explored yet
  3  inconclusive: a bound was hit, or Ctrl-C pressed, before all was explored
Of several files, the worst: 2, then 1, then 3. With --suite: 1 when a line is not as it must be.")]
pub(crate) struct VerifyArgs {
    /// Scenarios; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["suite", "merge"])]
    pub(crate) files: Vec<PathBuf>,
    /// Ask for the weakest MPI: any standard send may wait for its receive, or not; a receive from any source
    /// may take any sender's message that has come; a collective may wait for all ranks, or only for those
    /// whose data it needs
    #[arg(long)]
    pub(crate) portable: bool,
    /// Stop after about so many distinct states; checks that are undecided by then are inconclusive
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_states: Option<u64>,
    /// Look at so many states in search of shorter counterexamples [default: as many as the proof took, at least 5,000];
    /// a counterexample that may not be a shortest one says so
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64), conflicts_with_all = ["suite", "merge"])]
    pub(crate) shortest_states: Option<u64>,
    /// Stop when this process has so much memory, such as 8GiB [default: three quarters of what the host and its
    /// control groups have left]. Limits of address space and data (`ulimit -v`, `ulimit -d`) are kept in any case
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_memory: Option<u64>,
    /// Threads that explore [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Draw the counterexample: OUT.svg, or OUT.html with the explanation and the steps; of several
    /// violated checks, the second and later ones go to OUT-CHECK.svg
    #[arg(long, value_name = "OUT.svg|OUT.html", conflicts_with_all = ["suite", "merge"])]
    pub(crate) chart: Option<PathBuf>,
    /// Switch a rule of the protocol off, to see its purpose; `carrousel info` lists the rules. With
    /// `--portable`, an order that MPI promises can be named as well, such as `FLUSH_COMPLETES_AT_TARGET`
    #[arg(long, value_name = "RULE", conflicts_with_all = ["suite", "merge"])]
    pub(crate) without: Option<String>,
    /// Serve the states to a browser on this host instead, step by step, at the address that is printed: it goes on
    /// with a secret. Without a port, at one that is free
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    #[arg(value_parser = parse_address, conflicts_with_all = ["suite", "merge", "chart"])]
    pub(crate) explore: Option<SocketAddr>,
    /// Explore every order, those too that make no difference; slow, for doubts about the reductions
    #[arg(long)]
    pub(crate) no_reduction: bool,
    /// The rendezvous protocol under the messages
    #[arg(long, value_enum, default_value_t, conflicts_with_all = ["suite", "merge"])]
    pub(crate) protocol: Protocol,
    /// Run a built-in suite instead of scenarios
    #[arg(long, value_enum, conflicts_with_all = ["files", "portable", "max_states"])]
    pub(crate) suite: Option<Suite>,
    /// Show every step of a counterexample, also those that are not needed to show it. With --suite: go as far as the longest
    /// search that was ever done; hours
    #[arg(long, conflicts_with = "merge")]
    pub(crate) full: bool,
    /// With --suite: only part I of N, for a job array
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    #[arg(requires = "suite", conflicts_with_all = ["files", "merge"])]
    pub(crate) shard: Option<(u32, u32)>,
    /// Merge the JSON reports of all shards of a suite into one
    #[arg(long, value_name = "REPORT.json", num_args = 1.., conflicts_with_all = ["files", "suite"])]
    pub(crate) merge: Vec<PathBuf>,
}

/// The built-in suites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Suite {
    /// Every program of two and three ranks up to a bound, in every order, under both rule sets
    Rendezvous,
    /// Messages with tags, masks and claims beside messages without tags, as libfabric's hosts have them
    Provider,
    /// What a driver takes in before a call, so that data moves while both ranks compute
    Progress,
    /// Registered memory: everything that an application, a kernel and an adapter can do, up to a bound
    Memory,
    /// Connections: everything that two ends and the network between them can do, up to a bound
    Connection,
    /// Locks of windows: everything that origins, a host and the network between them can do, up to a bound
    Lock,
    /// Epochs of windows: every program of two and three ranks up to a bound, in every order
    Epoch,
    /// Every rule off in turn; the counterexample must be found
    Ablations,
}

/// The rule sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// The sender mirrors the receiver's posted receives
    #[default]
    Mirror,
    /// The handshake of the thesis on speculative rendezvous, in its sound reading
    Published,
}

impl VerifyArgs {
    /// Threads that explore.
    pub(crate) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(cores, usize::from)
    }
}

fn parse_shard(text: &str) -> Result<(u32, u32), String> {
    let expected = || format!("`{text}` is no part; write I/N with I from 1 to N, such as 2/8");
    let (part, parts) = text.split_once('/').ok_or_else(expected)?;
    match (part.parse(), parts.parse()) {
        (Ok(part), Ok(parts)) if (1..=parts).contains(&part) => Ok((part, parts)),
        _ => Err(expected()),
    }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let named = text.to_socket_addrs().ok().and_then(|mut all| all.next());
    named.ok_or_else(|| {
        format!("`{text}` is no address; write a port, or HOST:PORT, and a scenario before --explore")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_means_this_host() {
        let here = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        assert_eq!(parse_address("3001"), Ok(here(3001)));
        assert_eq!(parse_address(":3001"), Ok(here(3001)));
        assert_eq!(parse_address("0.0.0.0:80"), Ok(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 80))));
        assert!(parse_address("halo.scn").is_err());
    }

    #[test]
    fn a_part_is_one_of_its_parts() {
        assert_eq!(parse_shard("2/8"), Ok((2, 8)));
        for wrong in ["0/8", "9/8", "2", "/", "1/0", "a/b", "-1/2"] {
            assert!(parse_shard(wrong).is_err(), "{wrong}");
        }
    }
}
