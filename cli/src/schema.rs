//! `carrousel schema`: what the reports for programs look like.

use crate::failure::Failure;
use crate::out::Out;
use crate::status::Status;
use clap::ValueEnum;

/// Print the JSON Schema of a report
///
/// Each report that a command prints with `--format json` has a `version`. It is raised when a field goes, or changes
/// its name, type or meaning, or gets a value that the schema did not name; it is not when a field is added, so a
/// script ignores fields that it does not know.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel schema verify > verify.schema.json
  carrousel schema verify | jq '.\"$defs\".step.properties'    the fields of a step")]
pub(crate) struct SchemaArgs {
    /// Which report
    #[arg(value_name = "REPORT", value_enum)]
    report: ReportSchema,
}

/// The reports that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportSchema {
    /// `verify FILE`: verdicts and counterexamples
    Verify,
    /// `verify --suite` and `verify --merge`: the table of a suite
    Suite,
    /// `sim` and `run`: the times of statements
    #[value(alias = "sim")]
    Run,
    /// `check`: whether the model allows a trace
    Check,
    /// `info`: this host, what is chosen of it, and the options
    Info,
    /// `fi`: whether another MPI would use the provider
    Fi,
    /// figures.json, which `cargo xtask figures` writes: the papers' figures beside ours
    Figures,
}

/// `carrousel schema`.
pub(crate) fn run(args: &SchemaArgs, out: &mut Out) -> Result<Status, Failure> {
    out.text(match args.report {
        ReportSchema::Verify => include_str!("../../schema/verify.schema.json"),
        ReportSchema::Suite => include_str!("../../schema/suite.schema.json"),
        ReportSchema::Run => include_str!("../../schema/run.schema.json"),
        ReportSchema::Check => include_str!("../../schema/check.schema.json"),
        ReportSchema::Info => include_str!("../../schema/info.schema.json"),
        ReportSchema::Fi => include_str!("../../schema/fi.schema.json"),
        ReportSchema::Figures => include_str!("../../schema/figures.schema.json"),
    })?;
    Ok(Status::Fine)
}
