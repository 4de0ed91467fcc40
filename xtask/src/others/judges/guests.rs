//! Programs whose ranks are in two guests, on an emulated network: what they find right, and what they wait for.
//!
//! There is no reference: libfabric's providers for such a network are not among Debian's.

use super::measurements::medians;
use crate::bench::record::{Record, parse};
use crate::guest::provider::{HPCC, MPICH_OVERLAPS, OPEN_MPI_OVERLAPS};
use crate::guest::{GuestCase, GuestMpi};
use crate::others::finding::{Compared, Comparison};
use crate::others::hosts::MpiHost;

/// The most that a wait for 1 MiB may take behind whose computation the message was moved, in milliseconds.
const WAIT_MS_MAX: f64 = 2.0;
/// Times that everything is measured: a guest's only processor emulates its adapter, too, when its scheduler says so.
const ROUNDS: usize = 3;

/// What ranks in two guests run.
#[derive(Clone, Copy, Debug)]
pub(in crate::others) enum GuestsJudge {
    /// Waits for 1 MiB behind a computation, receiver early and sender early.
    Overlap,
    /// Debian's `hpcc`.
    Hpcc,
}

impl GuestsJudge {
    pub(super) const ALL: [Self; 2] = [Self::Overlap, Self::Hpcc];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::Hpcc => "hpcc",
        }
    }

    /// What runs in the guests of a host; `None` if it is not for that host.
    pub(super) fn case(self, host: MpiHost) -> Option<&'static GuestCase> {
        match (self, host.in_guests()?) {
            (Self::Overlap, GuestMpi::OpenMpi) => Some(&OPEN_MPI_OVERLAPS),
            (Self::Overlap, GuestMpi::Mpich) => Some(&MPICH_OVERLAPS),
            (Self::Hpcc, GuestMpi::OpenMpi) => Some(&HPCC),
            (Self::Hpcc, GuestMpi::Mpich) => None,
        }
    }

    pub(super) fn needs(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Overlap => &[],
            Self::Hpcc => &[("hpcc", "hpcc")],
        }
    }

    pub(super) fn found(self, host: MpiHost) -> Result<Vec<Compared>, String> {
        let case = self.case(host).ok_or("it does not run in guests")?;
        match self {
            Self::Overlap => {
                let round = |_| parse(&printed(case)?.join("\n"));
                Ok(waits(&(0..ROUNDS).map(round).collect::<Result<Vec<_>, _>>()?))
            }
            Self::Hpcc => Ok(vec![Compared {
                of: String::new(),
                ours: results(&printed(case)?),
                reference: String::new(),
                verdict: Comparison::Met,
            }]),
        }
    }
}

/// What the first guest prints.
fn printed(case: &GuestCase) -> Result<Vec<String>, String> {
    let printed = case.printed()?;
    Ok(printed.iter().filter_map(|line| line.strip_prefix("[n0] ")).map(str::to_owned).collect())
}

/// Each wait, in milliseconds.
fn waits(rounds: &[Vec<Record>]) -> Vec<Compared> {
    let waits = medians(rounds).into_iter().filter(|(name, _)| name.contains("_wait"));
    let compared = waits.map(|(name, took)| Compared {
        of: format!(", {name}"),
        ours: format!("{took:.2} ms"),
        reference: String::new(),
        verdict: Comparison::of(took <= WAIT_MS_MAX),
    });
    compared.collect()
}

/// The lines of hpcc's results that say whether they are right.
fn results(printed: &[String]) -> String {
    const TOLD: [&str; 4] =
        ["Success=", "PTRANS_residual=", "MPIRandomAccess_ErrorsFraction=", "MPIFFT_maxErr="];
    let told = printed.iter().filter(|line| TOLD.iter().any(|name| line.starts_with(name)));
    told.map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_is_judged_and_nothing_else() {
        let record = |call: &str, value| Record {
            case: Some("sender_early".to_owned()),
            call: Some(call.to_owned()),
            value,
            ..Record::of("overlap", "ms")
        };
        let found = waits(&[vec![
            Record::of("latency", "us"),
            record("isend", 9.0),
            record("send_wait", 0.2),
            record("recv_wait", 2.5),
        ]]);
        let found: Vec<_> =
            found.iter().map(|wait| (wait.of.as_str(), wait.ours.as_str(), wait.verdict)).collect();
        assert_eq!(
            found,
            [
                (", sender_early recv_wait", "2.50 ms", Comparison::Missed),
                (", sender_early send_wait", "0.20 ms", Comparison::Met),
            ]
        );
    }

    #[test]
    fn what_hpcc_finds_right_is_told() {
        let printed = ["HPL_N=200", "PTRANS_residual=0", "CommWorldProcs=2", "Success=1"].map(str::to_owned);
        assert_eq!(results(&printed), "PTRANS_residual=0, Success=1");
    }
}
