//! `carrousel fi`: whether an MPI library, or another host of libfabric, would use the provider.
//!
//! A wrong path or a misspelt name is no error there: messages silently go another way. So this looks at what decides,
//! in the order in which it does: the files that libfabric loads (`files`), what the libfabric of each MPI in `PATH`
//! offers of them (`launchers`, `ask`), and what that MPI chooses (`open_mpi`, `mpich`).

mod ask;
mod files;
mod host;
mod human;
mod launchers;
mod list;
mod mpich;
mod open_mpi;
mod process;
mod report;
mod variables;

use self::report::{Report, VERSION};
use crate::failure::Failure;
use crate::out::Out;
use crate::report::{Format, json};
use crate::status::Status;
use std::path::PathBuf;

/// Say whether another MPI would use the libfabric provider, and why not
///
/// libfabric loads the provider from a directory of FI_PROVIDER_PATH, and an MPI library chooses it by variables of its
/// own. Where one of them is wrong, a job does not fail: its messages go another way. This command asks the libfabric of
/// each MPI that PATH has what it offers here, and reads what decides the rest. The answer is about the MPI of --mpiexec,
/// or of the first mpiexec of PATH; without any, about the libfabric that the system has.
///
/// Parameters on a launcher's command line (--mca) are not seen: set them by variables, OMPI_MCA_mtl=ofi.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel fi                                     what would an MPI load, and why?
  export FI_PROVIDER_PATH=$PWD/target/release FI_PROVIDER=carrousel
  carrousel fi && mpiexec -n 2 ./a.out             run only if the provider is used
  carrousel fi --mpiexec /opt/openmpi/bin/mpiexec
  carrousel fi --format json | jq '.hosts[] | {launcher, uses, problems}'
  CARROUSEL_REPORT=1 mpiexec -n 2 ./a.out          a line of the job itself: it is in use

Exit status:
  0  it would be used     1  it would not     2  wrong usage")]
pub(crate) struct FiArgs {
    /// The launcher of the MPI that the answer is about
    #[arg(long, value_name = "FILE")]
    mpiexec: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Asks, in a process of its own
    #[arg(long, hide = true, num_args = 2, value_names = ["WHAT", "FILE"])]
    ask: Vec<String>,
}

/// `carrousel fi`.
pub(crate) fn run(args: &FiArgs, out: &mut Out) -> Result<Status, Failure> {
    if let [what, file] = &args.ask[..] {
        out.line(&ask::answer(what, file)?)?;
        return Ok(Status::Fine);
    }
    let variables = variables::all();
    let files = files::all();
    let hosts = launchers::all(args.mpiexec.as_deref(), &variables, &files)?;
    let uses = hosts.first().is_some_and(|host| host.uses);
    let report = Report { version: VERSION, uses, variables, files, hosts };
    match args.format {
        Format::Json => out.line(&json(&report)?)?,
        Format::Human => human::print(&report, out)?,
    }
    Ok(if uses { Status::Fine } else { Status::Violated })
}
