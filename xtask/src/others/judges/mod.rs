//! The judges: programs that nobody has changed, and what they have to show.

mod fabtests;
mod guests;
mod measurements;
mod mpi4py;
mod mpich_tests;
mod programs;
mod scalapack;

use super::finding::{Compared, Comparison, Finding};
use super::hosts::{MpiHost, Over};
use crate::guest::packages;
use guests::GuestsJudge;
use programs::PROGRAMS;
use std::path::{Path, PathBuf};

/// A program that judges.
#[derive(Clone, Debug)]
pub(super) enum Judge {
    /// Half a round trip of 8 bytes, against the host's best provider of libfabric's.
    Latency,
    /// Waits for 1 MiB behind a computation, receiver early and sender early.
    Overlap,
    /// mpi4py's own tests, or a module of them.
    Mpi4py(Option<&'static str>),
    /// A directory of MPICH's own tests.
    MpichTests(&'static str),
    /// `fi_pingpong`, without an MPI library.
    Pingpong,
    /// `fi_info`.
    Info,
    /// The tests of libfabric, whose sources are in this directory.
    Fabtests(PathBuf),
    /// A program of Debian's.
    Program(&'static programs::JudgeProgram),
    /// A program of ScaLAPACK's tests.
    Scalapack(&'static str),
    /// A program whose ranks are in two guests.
    Guests(GuestsJudge),
}

/// All of them.
pub(super) fn all(fabtests: Option<&Path>) -> Vec<Judge> {
    let mut judges = vec![Judge::Latency, Judge::Overlap, Judge::Mpi4py(None)];
    judges.extend(mpich_tests::DIRECTORIES.into_iter().map(Judge::MpichTests));
    judges.extend([Judge::Info, Judge::Pingpong]);
    judges.extend(fabtests.map(|sources| Judge::Fabtests(sources.to_owned())));
    judges.extend(PROGRAMS.iter().map(Judge::Program));
    judges.extend(scalapack::TESTS.into_iter().map(Judge::Scalapack));
    judges.extend(GuestsJudge::ALL.map(Judge::Guests));
    judges
}

impl Judge {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Latency => "latency, 8 B".to_owned(),
            Self::Overlap => "overlap, 1 MiB".to_owned(),
            Self::Mpi4py(_) => "mpi4py".to_owned(),
            Self::MpichTests(directory) => format!("MPICH's tests, {directory}"),
            Self::Pingpong => "fi_pingpong".to_owned(),
            Self::Info => "fi_info".to_owned(),
            Self::Fabtests(_) => "fabtests".to_owned(),
            Self::Program(program) => program.name.to_owned(),
            Self::Scalapack(test) => format!("scalapack, {test}"),
            Self::Guests(judge) => format!("two guests, {}", judge.name()),
        }
    }

    /// Whether it is meant for this host.
    pub(super) fn is_for(&self, host: MpiHost) -> bool {
        match self {
            Self::Latency | Self::Overlap => true,
            Self::Mpi4py(_) => host.python().is_some(),
            Self::MpichTests(_) => host == MpiHost::Mpich,
            // Once: with the libfabric that Debian's Open MPI has.
            Self::Pingpong | Self::Info | Self::Fabtests(_) => host == MpiHost::DebianOpenMpi,
            Self::Program(_) | Self::Scalapack(_) => host == MpiHost::DebianOpenMpi,
            Self::Guests(judge) => judge.case(host).is_some(),
        }
    }

    /// On how many ranks it runs; `None` if each of its tests says so itself.
    pub(super) fn ranks(&self, asked: &[u32]) -> Vec<Option<u32>> {
        match self {
            Self::MpichTests(_) | Self::Info => vec![None],
            Self::Latency | Self::Overlap | Self::Pingpong | Self::Fabtests(_) | Self::Guests(_) => {
                vec![Some(2)]
            }
            Self::Mpi4py(_) | Self::Scalapack(_) => asked.iter().copied().map(Some).collect(),
            Self::Program(program) => match program.ranks {
                Some(ranks) => vec![Some(ranks)],
                None => asked.iter().copied().map(Some).collect(),
            },
        }
    }

    /// Programs that it needs, and Debian's packages that have them.
    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Pingpong => &[("fi_pingpong", "libfabric-bin")],
            Self::Info => &[("fi_info", "libfabric-bin")],
            Self::Fabtests(_) => fabtests::NEEDS,
            Self::MpichTests(_) => mpich_tests::NEEDS,
            Self::Program(program) => program.needs,
            Self::Scalapack(_) => scalapack::NEEDS,
            Self::Guests(judge) => judge.needs(),
            Self::Latency | Self::Overlap | Self::Mpi4py(_) => &[],
        }
    }

    /// Runs it over the provider in this directory, and without. What it needs is installed first.
    pub(super) fn run(&self, host: MpiHost, ranks: Option<u32>, provider: &Path) -> Vec<Finding> {
        let found = packages::install(&packages::missing_of(self.needs()))
            .and_then(|()| self.compare(host, ranks.unwrap_or(2), provider));
        let finding = |Compared { of, ours, reference, verdict }| {
            let judge = format!("{}{of}", self.name());
            Finding { judge, host: host.name().to_owned(), ranks, ours, reference, verdict }
        };
        let failed = |ours| {
            vec![Compared { of: String::new(), ours, reference: String::new(), verdict: Comparison::Failed }]
        };
        found.unwrap_or_else(failed).into_iter().map(finding).collect()
    }

    fn compare(&self, host: MpiHost, ranks: u32, provider: &Path) -> Result<Vec<Compared>, String> {
        let over = Over::Carrousel(provider);
        match self {
            Self::Latency => measurements::latency(host, over).map(|found| vec![found]),
            Self::Overlap => measurements::overlap(host, over),
            Self::Mpi4py(module) => mpi4py::tests(host, ranks, over, *module),
            Self::MpichTests(directory) => mpich_tests::tests(host, over, directory).map(|found| vec![found]),
            Self::Pingpong => measurements::pingpong(provider).map(|found| vec![found]),
            Self::Info => fabtests::info(provider).map(|found| vec![found]),
            Self::Fabtests(sources) => fabtests::tests(sources, provider).map(|found| vec![found]),
            Self::Program(program) => program.compare(host, ranks, over).map(|found| vec![found]),
            Self::Scalapack(test) => scalapack::compare(host, ranks, over, test).map(|found| vec![found]),
            Self::Guests(judge) => judge.found(host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ() {
        let mut names: Vec<String> = all(Some(Path::new("fabtests"))).iter().map(Judge::name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
