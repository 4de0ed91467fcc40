//! A case: a command in guests, and what must come of it.

use super::job::{End, GuestJob, Program};
use super::mpi::GuestMpi;
use super::packages;
use super::run::Host;
use crate::built::{Built, PROVIDER};
use crate::steps::{StepOutcome, left_out};

/// A command in guests, and what must come of it.
#[derive(Debug)]
pub(crate) struct GuestCase {
    /// A sentence about what works.
    pub(super) name: &'static str,
    /// The status that each guest's command ends with; there are as many guests.
    pub(super) statuses: &'static [u8],
    /// Programs of Debian that it needs.
    pub(super) programs: &'static [&'static str],
    /// Programs of ours that it needs, found by name in the guest.
    pub(super) built: &'static [Built],
    /// An MPI library, and sources of programs for it, in C. With them come its launcher, and the provider for
    /// libfabric, as `carrousel_ofi`.
    pub(super) mpi: Option<(GuestMpi, &'static [&'static str])>,
    /// Whether it needs ssh between guests.
    pub(super) ssh: bool,
    pub(super) timeout_s: u32,
    /// Lines of shell, with the functions of [`PRELUDE`]. The first one that fails ends them.
    pub(super) command: &'static str,
    /// Parts of lines that must be printed.
    pub(super) says: &'static [&'static str],
}

/// The defaults of a case: one guest, whose command succeeds.
pub(super) const CASE: GuestCase = GuestCase {
    name: "",
    statuses: &[0],
    programs: &[],
    built: &[],
    mpi: None,
    ssh: false,
    timeout_s: 60,
    command: "",
    says: &[],
};

/// The beginning of the commands of all cases: `listens PORT` waits until a program of this guest does, `tell WORD`
/// and `hear WORD` are between guests, `tc` is not the one that busybox's shell prefers, and `pingpong` has what
/// `ibv_rc_pingpong` always needs; `meet TEST` is a test of the conformance suite whose ranks are in several guests.
/// `cut_power` ends a guest at once; `poweroff -f` would end its devices first, and a Soft-RoCE device whose link is
/// gone keeps the kernel busy for minutes with what it still has to send. `install_provider` puts the provider where
/// libfabric finds it. `overlaps COMMAND` runs a launcher, in the first guest, and fails unless its ranks tell their waits.
pub(super) const PRELUDE: &str = r#"set -e
listens() { until grep -q ":$(printf %04X $1) 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; do usleep 10000; done; }
tell() { : >/shared/$1; }
hear() { until [ -e /shared/$1 ]; do usleep 10000; done; }
cut_power() { echo b >/proc/sysrq-trigger; }
tc() { /usr/local/bin/tc "$@"; }
pingpong() { ibv_rc_pingpong -d $RDMA_DEV -g $RDMA_GID_INDEX "$@"; }
install_provider() {
    # libfabric loads what is called so, from directories that it is told.
    mkdir /tmp/provider
    ln -s /usr/local/bin/carrousel_ofi /tmp/provider/libcarrousel-fi.so
    tell provider.$NODE_ID
    [ $NODE_ID = 0 ] || exit 0
    hear provider.1
}
overlaps() {
    "$@" >/tmp/printed 2>&1 || status=$?
    cat /tmp/printed
    [ ${status:-0} = 0 ]
    # Milliseconds that the ranks wait for 1 MiB after they have computed for 300: on a busy machine the network's.
    waits='s/.*"case": "\([a-z]*_early\)", "call": "\([a-z]*_wait\)",.*"value": \([^,]*\),.*/\1 \2 \3/p'
    [ $(sed -n "$waits" /tmp/printed | wc -l) = 4 ]
}
meet() { CARROUSEL_MEETING=/shared conformance --ignored --nocapture --exact $1; }
"#;

impl GuestCase {
    /// Takes it as a step.
    pub(super) fn step(&self, host: &Host) -> Result<StepOutcome, String> {
        match self.install() {
            Ok(()) => self.run(host).map(|_| StepOutcome::Passed),
            Err(why) => left_out(why),
        }
    }

    /// What the guests print, when all is as it must be. What is missing is installed.
    pub(crate) fn printed(&self) -> Result<Vec<String>, String> {
        packages::install_missing()?;
        self.install()?;
        self.run(&Host::prepare()?)
    }

    fn install(&self) -> Result<(), String> {
        self.mpi.map_or(Ok(()), |(mpi, _)| mpi.install())
    }

    fn run(&self, host: &Host) -> Result<Vec<String>, String> {
        let mut printed = Vec::new();
        let ends = host.run(&self.job()?, &mut |line| {
            println!("{line}");
            printed.push(line.to_owned());
        })?;
        self.judge(&ends, &printed).map(|()| printed)
    }

    fn job(&self) -> Result<GuestJob, String> {
        let mut programs: Vec<Program> =
            self.programs.iter().map(|name| Program::find(name)).collect::<Result<_, _>>()?;
        let mut files = Vec::new();
        let mut built = self.built.to_vec();
        if let Some((mpi, sources)) = self.mpi {
            programs.extend(mpi.programs(sources)?);
            files.extend(mpi.files());
            built.push(PROVIDER);
        }
        for built in built {
            programs.push(Program { name: built.name.to_owned(), path: built.build()? });
        }
        Ok(GuestJob {
            nodes: self.statuses.len(),
            programs,
            files,
            environment: Vec::new(),
            ssh: self.ssh,
            timeout_s: self.timeout_s,
            cpus: None,
            memory_mib: 1024,
            command: vec!["sh".to_owned(), "-c".to_owned(), format!("{PRELUDE}{}", self.command)],
            out: None,
        })
    }

    /// Whether what came of it is what must.
    fn judge(&self, ends: &[End], printed: &[String]) -> Result<(), String> {
        // All of them: a guest that waits for one that has failed is late, and not to blame.
        let statuses: Vec<u8> = ends.iter().map(End::status).collect();
        if statuses != self.statuses {
            return Err(format!("the guests have ended with {statuses:?} instead of {:?}", self.statuses));
        }
        match self.says.iter().find(|part| !printed.iter().any(|line| line.contains(*part))) {
            Some(part) => Err(format!("no guest has printed {part:?}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: GuestCase = GuestCase { statuses: &[0, 125], says: &["fine"], ..CASE };

    #[test]
    fn statuses_are_compared_node_by_node() {
        let printed = ["[n0] fine".to_owned()];
        assert_eq!(TWO.judge(&[End::Status(0), End::Died], &printed), Ok(()));
        let error = TWO.judge(&[End::Died, End::Died], &printed).unwrap_err();
        assert_eq!(error, "the guests have ended with [125, 125] instead of [0, 125]");
        let error = TWO.judge(&[End::Status(0), End::Status(0)], &printed).unwrap_err();
        assert_eq!(error, "the guests have ended with [0, 0] instead of [0, 125]");
    }

    #[test]
    fn what_must_be_printed_is_looked_for() {
        let error = TWO.judge(&[End::Status(0), End::Died], &["other".to_owned()]).unwrap_err();
        assert_eq!(error, "no guest has printed \"fine\"");
    }
}
