//! The script of the guests, and the reader of its output.

use crate::bench::record::{self, Record};
use crate::bench::results::{Results, Source};
use crate::guest::case::PRELUDE;

/// Steps of a round, at most.
pub(super) const STEPS: u32 = 5;
/// How lines begin by which the script says where it is.
const MARK: &str = "== ";
/// The suffix of a measurement for which Carrousel had to copy.
const COPIED: &str = "_copied";
/// Lines of a step that has failed, which are shown.
const LAST_LINES: usize = 6;

/// Guest 1 waits for orders, which are servers of perftest to be started, and looks at nothing meanwhile, so that it
/// disturbs no other rank. UCX finds its peers by datagrams, which it can send with global identifier 0 only.
const STEPS_OF_A_ROUND: &str = r#"
if [ $NODE_ID = 1 ]; then
    mkfifo /tmp/orders /tmp/answers
    # Open for writing, too: there is no end of it between two who give orders.
    exec 3<>/tmp/orders
    while read -r order <&3; do
        [ "$order" != over ] || exit 0
        # In a shell of their own: a server that does not start must not keep others from starting.
        (timeout 50 $order >/dev/null 2>&1 & listens 18515; echo ready >/tmp/answers) &
    done
fi
until ssh n1 test -p /tmp/answers; do :; done
echo "== $(grep -m 1 MHz /proc/cpuinfo)"
step() { # SOURCE MEASUREMENT COMMAND...
    echo "== step $round $1 $2"
    shift 2
    status=0
    "$@" 2>&1 || status=$?
    echo "== end $status"
}
perftest() { # PROGRAM OPTION...
    timeout 20 ssh n1 "echo '$*' >/tmp/orders; read -r ready </tmp/answers"
    timeout 50 "$@" n1
}
verbs="-F -d $RDMA_DEV -x $RDMA_GID_INDEX"
ours() {
    # As is best on this machine.
    if ! [ -e /shared/reuse ]; then
        carrousel bench reuse --write /shared/reuse >/dev/null
        echo "== uses from which on a message is not copied: $(grep eager_by_send /shared/reuse)"
    fi
    CARROUSEL_EAGER_THRESHOLD=16KiB CARROUSEL_VERBS_REUSE_TABLE=/shared/reuse \
        timeout 60 carrousel run -n 2 --hosts n0,n1 -- nodes $measurements
}
ucx="UCX_NET_DEVICES=$RDMA_DEV:1 UCX_TLS=rc UCX_IB_GID_INDEX=0"
mpich() { timeout 60 env $ucx mpiexec.hydra -hosts n0,n1 -ppn 1 -n 2 nodes-mpich $measurements; }
openmpi() {
    timeout 60 mpiexec.openmpi --allow-run-as-root -H n0,n1 -n 2 --bind-to none --mca pml ucx --mca osc ucx \
        --mca btl ^openib,ofi --mca pml_ucx_tls any --mca pml_ucx_devices any $(printf -- '-x %s ' $ucx) \
        nodes-openmpi $measurements
}
"#;

/// The lines of shell that both guests run.
pub(super) fn script(names: &[&str], rounds: u32) -> String {
    let has = |name: &str| names.contains(&name);
    let mut steps = Vec::new();
    if has("latency") {
        steps.push("step perftest latency perftest ib_send_lat $verbs -s 8 -n 1000");
    }
    steps.push("step ours - ours");
    if has("bandwidth") {
        steps.push("step perftest bandwidth perftest ib_write_bw $verbs -s 1048576 -n 32");
    }
    steps.extend(["step mpich - mpich", "step openmpi - openmpi"]);
    format!(
        "{PRELUDE}{STEPS_OF_A_ROUND}measurements='{}' round=0\nwhile [ $round -lt {rounds} ]; do\n{}\n\
         round=$((round + 1))\ndone\nssh n1 'echo over >/tmp/orders'\n",
        names.join(" "),
        steps.join("\n"),
    )
}

/// Understands what guests print.
#[derive(Debug)]
pub(super) struct Reader {
    results: Results,
    guest_mhz: Option<f64>,
    notes: Vec<String>,
    step: Option<ScriptStep>,
}

/// A step that has begun.
#[derive(Debug)]
struct ScriptStep {
    round: u32,
    source: Source,
    measurement: String,
    lines: Vec<String>,
}

impl Reader {
    pub(super) fn new(results: Results) -> Self {
        Self { results, guest_mhz: None, notes: Vec::new(), step: None }
    }

    /// Takes a line, with its guest in front.
    pub(super) fn line(&mut self, line: &str) {
        let Some(line) = line.strip_prefix("[n0] ") else {
            // Of the other guest, or about one.
            return self.note(line);
        };
        if let Some(mark) = line.strip_prefix(MARK) {
            self.mark(mark);
        } else if let Some(step) = &mut self.step {
            step.lines.push(line.to_owned());
        } else {
            self.note(line);
        }
    }

    /// All that was measured, what the guest takes its processor for, and what went wrong.
    pub(super) fn finish(mut self) -> (Results, Option<f64>, Vec<String>) {
        if let Some(step) = self.step.take() {
            self.note(&format!("{} did not end", step.name()));
        }
        (self.results, self.guest_mhz, self.notes)
    }

    fn mark(&mut self, mark: &str) {
        let words: Vec<&str> = mark.split_whitespace().collect();
        match words[..] {
            ["step", round, source, measurement] => {
                let (Ok(round), Some(source)) = (round.parse(), source_of(source)) else { return };
                let step =
                    ScriptStep { round, source, measurement: measurement.to_owned(), lines: Vec::new() };
                eprintln!("round {}: {}", round + 1, step.name());
                self.step = Some(step);
            }
            ["end", status] => {
                let Some(step) = self.step.take() else { return };
                let done = if status == "0" { step.records() } else { Err(format!("ended with {status}")) };
                match done {
                    Ok(records) => {
                        for (source, record) in records {
                            if let Err(error) = self.results.add(source, step.round, record, None) {
                                self.note(&error);
                            }
                        }
                    }
                    Err(error) => {
                        let last = &step.lines[step.lines.len().saturating_sub(LAST_LINES)..];
                        let told: String = last.iter().map(|line| format!("\n  {line}")).collect();
                        self.note(&format!("round {}: {}: {error}{told}", step.round + 1, step.name()));
                    }
                }
            }
            _ => match mhz(mark) {
                Some(mhz) => self.guest_mhz = Some(mhz),
                None => {
                    if let Some(classes) = lent(mark) {
                        self.results.lends(classes);
                    }
                    self.note(mark);
                }
            },
        }
    }

    fn note(&mut self, note: &str) {
        if !note.trim().is_empty() {
            self.notes.push(note.to_owned());
        }
    }
}

/// Whether a message is not copied, by size class, as `carrousel bench reuse` writes it: `eager_by_send never 31 ..`.
fn lent(mark: &str) -> Option<Vec<bool>> {
    let (_, classes) = mark.split_once("eager_by_send")?;
    Some(classes.split_whitespace().map(|uses| uses != "never").collect())
}

impl ScriptStep {
    fn name(&self) -> String {
        match &self.measurement[..] {
            "-" => self.source.name().to_owned(),
            measurement => format!("{}, {measurement}", self.source.name()),
        }
    }

    /// The measurement, and its library.
    fn records(&self) -> Result<Vec<(Source, Record)>, String> {
        let records = match &self.measurement[..] {
            "latency" => vec![self.perftest("t_typical[usec]", 1.0, "us")?],
            // Its megabytes are 2^20 bytes.
            "bandwidth" => vec![self.perftest("BW average[MB/sec]", (1 << 20) as f64 / 1e6, "MB/s")?],
            _ => record::parse(&self.lines.join("\n"))?,
        };
        if records.is_empty() {
            return Err("printed no result".to_owned());
        }
        // Ours measures both in turn.
        let attributed = records.into_iter().map(|record| match record.bench.strip_suffix(COPIED) {
            Some(bench) => (Source::Copying, Record { bench: bench.to_owned(), ..record }),
            None => (self.source, record),
        });
        Ok(attributed.collect())
    }

    /// The number below a heading of perftest: `#bytes`, a column for the iterations, and so on. Units and `BW` are
    /// parts of headings.
    fn perftest(&self, heading: &str, factor: f64, unit: &str) -> Result<Record, String> {
        let wrong = || format!("printed nothing below {heading}");
        let at = self.lines.iter().position(|line| line.contains(heading)).ok_or_else(wrong)?;
        let before = self.lines[at].split(heading).next().unwrap_or_default();
        let column = before.split_whitespace().filter(|word| *word != "BW").count();
        let numbers = self.lines.get(at + 1).ok_or_else(wrong)?;
        let numbers: Vec<f64> = numbers.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let (Some(size), Some(repetitions), Some(value)) =
            (numbers.first(), numbers.get(1), numbers.get(column))
        else {
            return Err(wrong());
        };
        Ok(Record {
            size: *size as u64,
            value: value * factor,
            repetitions: *repetitions as u64,
            ..Record::of(&self.measurement, unit)
        })
    }
}

fn source_of(word: &str) -> Option<Source> {
    match word {
        "ours" => Some(Source::Carrousel),
        "mpich" => Some(Source::Mpich),
        "openmpi" => Some(Source::OpenMpiUcx),
        "perftest" => Some(Source::Perftest),
        _ => None,
    }
}

/// From a line of /proc/cpuinfo.
pub(super) fn mhz(line: &str) -> Option<f64> {
    line.strip_prefix("cpu MHz")?.split(':').nth(1)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::targets::{Group, Target};

    const GROUPS: [Group; 4] = [
        Group { bench: "latency", sizes: &[], judged: &[(8, Target::OfPerftest(1.15))] },
        Group { bench: "eager", sizes: &[], judged: &[(512, Target::OfCopying(1.02))] },
        Group { bench: "overlap", sizes: &[], judged: &[(1 << 20, Target::AtMost(3.0))] },
        Group { bench: "bandwidth", sizes: &[], judged: &[(1 << 20, Target::OfPerftest(0.95))] },
    ];

    fn read(lines: &str) -> (Results, Option<f64>, Vec<String>) {
        let mut reader = Reader::new(Results::new(&GROUPS));
        lines.lines().for_each(|line| reader.line(line));
        reader.finish()
    }

    #[test]
    fn what_everybody_prints_is_understood() {
        let (results, mhz, notes) = read(
            "[n0] == cpu MHz\t\t: 2299.617\n\
             [n0] == step 0 perftest latency\n\
             [n0]  local address: LID 0000\n\
             [n0]  #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]\n\
             [n0]  8       1000          282.26         16031.40      300.00   \t       609.68      \t990.42\n\
             [n0] == end 0\n\
             [n0] == step 0 ours -\n\
             [n0] == uses: 1 2 3\n\
             [n0] {\"bench\": \"latency\", \"size\": 8, \"value\": 330, \"unit\": \"us\", \"repetitions\": 1000}\n\
             [n0] {\"bench\": \"eager\", \"size\": 512, \"value\": 390, \"unit\": \"us\", \"repetitions\": 1000}\n\
             [n0] {\"bench\": \"eager_copied\", \"size\": 512, \"value\": 400, \"unit\": \"us\", \"repetitions\": 1000}\n\
             [n0] {\"bench\": \"bandwidth\", \"size\": 1048576, \"value\": 20, \"unit\": \"MB/s\", \"repetitions\": 2}\n\
             [n0] == end 0\n\
             [n0] == step 0 perftest bandwidth\n\
             [n0]  #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n\
             [n0]  1048576    32               20.33              17.41  \t\t   0.000017\n\
             [n0] == end 0\n",
        );
        assert_eq!((mhz, &notes[..]), (Some(2299.617), &["uses: 1 2 3".to_owned()][..]));
        let reached: Vec<f64> = results
            .rows()
            .iter()
            .flat_map(|row| results.targets(row).filter_map(|target| results.verdict(row, target)))
            .map(|verdict| (verdict.reached.median * 1e3).round())
            .collect();
        // 330 / 300, 390 / 400, and 20 MB/s by 17.41 MiB/s.
        assert_eq!(reached, [1100.0, 975.0, 1096.0]);
    }

    #[test]
    fn what_is_not_copied_is_not_to_be_slower() {
        let of = |uses: &str| {
            let eager =
                "{\"bench\": \"eager\", \"size\": 512, \"value\": 404, \"unit\": \"us\", \"repetitions\": 9}";
            let copied = eager.replace("eager", "eager_copied").replace("404", "400");
            let (results, ..) = read(&format!(
                "[n0] == step 0 ours -\n[n0] == uses: eager_by_send {uses}\n[n0] {eager}\n[n0] {copied}\n[n0] == end 0\n"
            ));
            let rows = results.rows();
            let verdict = |target| results.verdict(rows[0], target).map(|verdict| verdict.met);
            results.targets(rows[0]).map(|target| (target, verdict(target))).collect::<Vec<_>>()
        };
        assert_eq!(of("never 31"), [(Target::OfCopying(1.02), Some(true))]);
        assert_eq!(of("31 never"), [(Target::OfCopying(1.0), Some(false))]);
    }

    #[test]
    fn every_wait_of_an_overlap_is_judged() {
        let line = |case: &str, call: &str, ms: f64| {
            format!(
                "[n0] {{\"bench\": \"overlap\", \"case\": \"{case}\", \"call\": \"{call}\", \"size\": 1048576, \
                 \"value\": {ms}, \"unit\": \"ms\", \"repetitions\": 5}}\n"
            )
        };
        let lines = [
            line("receiver_early", "isend", 25.0),
            line("receiver_early", "recv_wait", 0.5),
            line("sender_early", "recv_wait", 22.0),
        ];
        let (results, ..) = read(&format!("[n0] == step 0 ours -\n{}[n0] == end 0\n", lines.concat()));
        let judged = results.judged("overlap", 1 << 20);
        let met = judged.iter().map(|row| {
            let verdicts = results.targets(row).filter_map(|target| results.verdict(row, target));
            (row.name(), verdicts.map(|verdict| verdict.met).collect::<Vec<_>>())
        });
        let expected =
            [("overlap receiver_early recv_wait", true), ("overlap sender_early recv_wait", false)];
        assert_eq!(met.collect::<Vec<_>>(), expected.map(|(name, met)| (name.to_owned(), vec![met])));
    }

    #[test]
    fn a_step_that_fails_is_noted_with_what_it_said() {
        let (results, _, notes) = read(
            "[n0] == step 1 mpich -\n[n0] UD endpoint: unhandled timeout error\n[n0] == end 134\n\
             [n0] == step 1 perftest latency\n[n0] Couldn't connect to n1:18515\n[n0] == end 0\n\
             [n1] odd\n[n0] == step 1 ours -\n",
        );
        assert!(results.rows().is_empty());
        assert_eq!(
            notes,
            [
                "round 2: MPICH: ended with 134\n  UD endpoint: unhandled timeout error",
                "round 2: perftest, latency: printed nothing below t_typical[usec]\n  Couldn't connect to n1:18515",
                "[n1] odd",
                "ours did not end",
            ]
        );
    }

    #[test]
    fn only_what_was_chosen_is_a_step() {
        let all = script(&["latency", "eager", "bandwidth"], 3);
        assert_eq!(all.lines().filter(|line| line.starts_with("step ")).count(), STEPS as usize);
        let some = script(&["overlap"], 3);
        assert!(!some.contains("step perftest") && some.contains("measurements='overlap' round=0"), "{some}");
    }
}
