//! Arguments of `carrousel bench pt2pt`.

use crate::failure::{Failure, shown};
use crate::verify::Drawing;
use carrousel_bench::{Benchmark, Budget, PLOTTED, Plan, PlotError, REPETITIONS_MAX};
use carrousel_options::parse_size;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum MeasurementFormat {
    /// Tables, for a person.
    #[default]
    Human,
    /// One object with everything, at the end.
    Json,
    /// A result a line, as soon as it is there.
    Jsonl,
}

/// Measure messages from point to point
///
/// Starts its own ranks, 2 of them, and pins rank r to the r-th core that it may use. Under another
/// launcher (mpiexec -n 2 carrousel bench pt2pt) the processes are its.
///
/// A value is the median over batches of calls. A batch takes at least half a millisecond, begins with a
/// barrier, and ends with a check of the received data. Next to the value stand the quartiles: half of the
/// batches were between them. Where these are far apart, something else was running: use more --seconds,
/// or a quieter machine.
///
/// The library adapts to what it has seen (`speculation`; see `carrousel info`), and carries that from one
/// measurement into the next of the same job. To see one alone, name it: --bench overlap.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Measurements:
  latency           half a round trip of send and recv, in us
  bandwidth         64 isend to 64 irecv, then an acknowledgement, in MB/s
                    (10^6 bytes a second); each irecv has a buffer of its own
  bibandwidth       the same both ways at once, bytes of both counted
  message_rate      messages of `bandwidth` a second, of 8 bytes
  stream            send after send of 8 bytes, each to a recv from any source,
                    then an acknowledgement: a message, in us
  reversed          ten messages of 8 bytes with different tags have come; each
                    is received, the last one first: what a recv takes, in us
  sendrecv          both ranks exchange messages: a call, in us
  reuse_none        half a round trip, in us, each message from memory that is
                    new to the library: mapped and touched since the last batch
  reuse_half        the same with every second message from memory used before
  reuse_full        the same with all messages from memory used before
  reuse_ratio       `reuse_none` by `reuse_full`: what it costs that memory is
                    new. Near 1: nothing
  multi_latency     rank 0 sends to each of k partners in turn, then receives
                    from each in turn: half of the time, by k, in us; for k of
                    1, 2, 4 and so on, up to all. With -n 3 and more
  multi_bandwidth   `bandwidth` from rank 0 to each of k partners at once, all
                    bytes counted; for the same k. Of pairs: multi_pair
  multi_pair        `bandwidth` from each rank 2k to rank 2k+1 at once, by the
                    time of the slowest pair; with -n 4 and more
  overlap           as a plain program does it: a barrier; irecv at one rank,
                    isend at the other; both compute 1 ms, or 4 times what the
                    transfer takes, if that is longer; both wait. What each of
                    these calls takes, in us. A wait near 0: the data has moved
                    while both computed. Nothing else enters the library in
                    between. Cases: receiver_early (the isend begins 50 us after
                    the irecv), sender_early, and each with two messages, one
                    right behind the other (.._two). `out of order` counts
                    exchanges in which the early rank was stopped by the system
                    until the late one began
  hidden_send       isend, compute, wait; the other rank waits in recv: how much
                    of the transfer's time the sender's computation can hide, in
                    percent. 100 is all
  hidden_receive    irecv, compute, wait; the other rank is in send: the same of
                    the receiver's computation
  allreduce         an allreduce of all ranks that sums doubles, in us
  barrier           a barrier of all ranks, in us

Examples:
  carrousel bench pt2pt                                everything; some 20 s
  carrousel bench pt2pt --bench latency --size 8,1MiB --seconds 2
  carrousel bench pt2pt --bench latency,bandwidth --plot speed.svg
  carrousel bench pt2pt -n 4                           several partners, and collectives
  carrousel bench pt2pt --bench overlap --size 1MiB    do transfers go on while both compute?
  carrousel bench pt2pt --format json | jq '.results[] | {bench, size, value}'
  CARROUSEL_EAGER_THRESHOLD=64KiB carrousel bench pt2pt --bench latency

Exit status: 0 when all is measured; 1 when what came is not what was sent, or
the library failed; 2 for a wrong command line, or too little memory; that of
a rank which died otherwise.")]
pub(crate) struct Pt2ptArgs {
    /// How many ranks
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub(super) ranks: Option<u32>,
    /// Only these measurements
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', hide_possible_values = true)]
    #[arg(value_parser = benchmarks())]
    bench: Vec<Benchmark>,
    /// Sizes of messages, up to 16MiB: 8, 64KiB, 1MiB; without it, each measurement's own
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', value_parser = parse_size)]
    size: Vec<u64>,
    /// Time of each measurement, without warming up
    #[arg(long, default_value_t = Budget::default().seconds, value_parser = seconds)]
    seconds: f64,
    /// Batches of each measurement, instead of a time
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(REPETITIONS_MAX)))]
    repetitions: Option<u32>,
    /// How to print the results: human, json (one object) or jsonl (a result a line)
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub(super) format: MeasurementFormat,
    /// Draw latency, bandwidth, reuse_ratio and overlap over the size
    #[arg(long, value_name = "OUT.svg")]
    pub(super) plot: Option<PathBuf>,
    /// The terminal on which rank 0 shows how far it is
    #[arg(long, hide = true)]
    pub(super) terminal: Option<PathBuf>,
}

impl Pt2ptArgs {
    /// How much of each.
    pub(super) fn budget(&self) -> Budget {
        Budget { seconds: self.seconds, repetitions: self.repetitions }
    }

    /// The plan for a job of so many ranks.
    pub(super) fn plan(&self, ranks: u32) -> Result<Plan, Failure> {
        if let Some(asked) = self.ranks.filter(|asked| *asked != ranks) {
            return Err(Failure::wrong(format_args!("-n asks for {asked} ranks, and the job has {ranks}"))
                .with_help("under another launcher, leave -n to it"));
        }
        let plan = Plan::new(ranks, &self.bench, &self.size, self.budget()).map_err(Failure::wrong)?;
        if let Some(path) = &self.plot {
            if Drawing::of(path)? != Drawing::Svg {
                let wrong = format_args!("{} is not an .svg file", shown(path));
                return Err(Failure::wrong(wrong).with_help("a plot is an SVG document: --plot OUT.svg"));
            }
            if !plan.steps().iter().any(|step| PLOTTED.contains(&step.benchmark) && step.size > 0) {
                return Err(Failure::wrong(PlotError::Nothing));
            }
        }
        Ok(plan)
    }
}

fn benchmarks() -> impl TypedValueParser<Value = Benchmark> {
    let names = PossibleValuesParser::new(Benchmark::ALL.map(Benchmark::name));
    names.try_map(|name| Benchmark::from_name(&name).ok_or("there is no such measurement"))
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if seconds > 0.0 && seconds <= 3600.0 => Ok(seconds),
        _ => Err("expected seconds, more than 0 and at most 3600".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_positive() {
        assert_eq!(seconds("0.05"), Ok(0.05));
        for text in ["0", "-1", "nan", "inf", "1e9", "1s"] {
            assert!(seconds(text).is_err(), "{text:?}");
        }
    }
}
