//! Programs of Debian's that stand on Open MPI, each with a small input of its own.

use crate::bench::process::{Printed, end_of};
use crate::others::finding::{Compared, Comparison};
use crate::others::hosts::{MpiHost, Over};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A program that is not done by then hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// A program, and what of its output is judged.
#[derive(Debug)]
pub(in crate::others) struct JudgeProgram {
    pub(super) name: &'static str,
    /// Programs and files, and Debian's packages that have them.
    pub(super) needs: &'static [(&'static str, &'static str)],
    /// On how many ranks it runs, if not on any number.
    pub(super) ranks: Option<u32>,
    /// What each rank runs, by `sh`, in an empty directory.
    command: &'static str,
    /// Writes its input there.
    prepare: fn(&Path, u32) -> Result<(), String>,
    /// What it has computed.
    read: fn(&Printed, &Path) -> Result<ProgramResult, String>,
    /// By how much numbers may differ between two runs, as a part of the greater.
    tolerance: f64,
}

/// What a run has computed.
#[derive(Debug, PartialEq)]
struct ProgramResult {
    /// In words.
    text: String,
    /// What is compared with the reference.
    numbers: Vec<f64>,
}

pub(super) const PROGRAMS: [JudgeProgram; 5] = [
    JudgeProgram {
        name: "hpcc",
        needs: &[("hpcc", "hpcc")],
        ranks: None,
        command: "exec hpcc",
        prepare: hpcc_input,
        read: hpcc_output,
        tolerance: 0.0,
    },
    JudgeProgram {
        name: "netpipe",
        needs: &[("NPopenmpi", "netpipe-openmpi")],
        ranks: Some(2),
        // -i: whether bytes arrive, not when.
        command: "exec NPopenmpi -i -u 1048576",
        prepare: no_input,
        read: netpipe_output,
        tolerance: 0.0,
    },
    JudgeProgram {
        name: "mumps",
        needs: &[("/usr/lib/mumps/dsimpletest", "mumps-test")],
        ranks: None,
        command: "exec /usr/lib/mumps/dsimpletest < /usr/lib/mumps/input_simpletest_real",
        prepare: no_input,
        read: mumps_output,
        tolerance: 1e-9,
    },
    JudgeProgram {
        name: "lammps",
        needs: &[("lmp", "lammps")],
        ranks: None,
        command: "exec lmp -in in.lj -log none",
        prepare: lammps_input,
        read: lammps_output,
        // It prints eight digits.
        tolerance: 1e-6,
    },
    JudgeProgram {
        name: "gromacs",
        needs: &[("gmx_mpi", "gromacs"), ("gmx", "gromacs")],
        ranks: None,
        command: "exec gmx_mpi -quiet mdrun -s water.tpr -ntomp 1 -pin off -reprod -deffnm out",
        prepare: gromacs_input,
        read: gromacs_output,
        // In mixed precision, after 0.4 ps.
        tolerance: 1e-4,
    },
];

impl JudgeProgram {
    /// Runs it over the provider, and as the host chooses.
    pub(super) fn compare(&self, host: MpiHost, ranks: u32, ours: Over<'_>) -> Result<Compared, String> {
        let own = self.run(host, ranks, ours);
        let theirs = self.run(host, ranks, Over::Default);
        let verdict = match (&own, &theirs) {
            (Ok(own), Ok(theirs)) if self.agree(own, theirs) => Comparison::Met,
            (Ok(_) | Err(_), Ok(_)) | (Ok(_), Err(_)) => Comparison::Failed,
            (Err(_), Err(_)) => Comparison::Missed,
        };
        let text =
            |told: Result<ProgramResult, String>| told.map_or_else(|message| message, |told| told.text);
        Ok(Compared { of: String::new(), ours: text(own), reference: text(theirs), verdict })
    }

    fn run(&self, host: MpiHost, ranks: u32, over: Over<'_>) -> Result<ProgramResult, String> {
        let place = tempfile::tempdir().map_err(|error| format!("no directory can be made: {error}"))?;
        (self.prepare)(place.path(), ranks)?;
        let mut job = host.job(over, ranks);
        job.args(["sh", "-c", self.command]).current_dir(place.path());
        // The same number of threads, wherever it runs.
        job.env("OMP_NUM_THREADS", "1");
        let (status, printed) = end_of(job, LIMIT)?;
        if !status.success() {
            let last = printed.stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            return Err(format!("{} ended with {status}: {last}", self.name));
        }
        (self.read)(&printed, place.path())
    }

    /// Whether what two runs have computed is the same.
    fn agree(&self, own: &ProgramResult, theirs: &ProgramResult) -> bool {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= self.tolerance * a.abs().max(b.abs());
        own.numbers.len() == theirs.numbers.len()
            && !own.numbers.is_empty()
            && own.numbers.iter().zip(&theirs.numbers).all(near)
    }
}

fn no_input(_: &Path, _: u32) -> Result<(), String> {
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The example that the package has, which is for a grid of 2 x 2 processes, on as many as there are.
fn hpcc_input(place: &Path, ranks: u32) -> Result<(), String> {
    let input = read(Path::new("/usr/share/doc/hpcc/examples/_hpccinf.txt"))?;
    let (rows, columns) = grid(ranks);
    let line = |line: &str| match line.split_whitespace().last() {
        Some("Ps") => format!("{rows} Ps\n"),
        Some("Qs") => format!("{columns} Qs\n"),
        _ => format!("{line}\n"),
    };
    write(&place.join("hpccinf.txt"), &input.lines().map(line).collect::<String>())
}

/// The grid of so many processes that is most like a square.
fn grid(ranks: u32) -> (u32, u32) {
    let rows =
        (1..=ranks).rev().find(|rows| rows * rows <= ranks && ranks.is_multiple_of(*rows)).unwrap_or(1);
    (rows, ranks / rows)
}

fn hpcc_output(_: &Printed, place: &Path) -> Result<ProgramResult, String> {
    let told = read(&place.join("hpccoutf.txt"))?;
    if !told.lines().any(|line| line.trim() == "Success=1") {
        return Err("no Success=1 in hpccoutf.txt".to_owned());
    }
    Ok(ProgramResult { text: "Success=1".to_owned(), numbers: vec![1.0] })
}

/// It measures what it then checks, so that two runs may check different numbers of sizes.
fn netpipe_output(printed: &Printed, _: &Path) -> Result<ProgramResult, String> {
    // Rank 0 tells of it, on stderr.
    let lines = printed.stderr.lines().chain(printed.stdout.lines());
    let (passed, others): (Vec<&str>, Vec<&str>) = lines
        .filter(|line| line.contains("-->"))
        .partition(|line| line.trim_end().ends_with("Integrity check passed"));
    match others.first() {
        Some(line) => Err(format!("{} sizes are intact, but: {line}", passed.len())),
        None if passed.is_empty() => Err("it has checked nothing".to_owned()),
        None => Ok(ProgramResult { text: format!("{} sizes are intact", passed.len()), numbers: vec![1.0] }),
    }
}

fn mumps_output(printed: &Printed, _: &Path) -> Result<ProgramResult, String> {
    let solution = printed.stdout.lines().find_map(|line| line.trim().strip_prefix("Solution is"));
    let numbers = numbers(solution.ok_or("it prints no solution")?);
    let right = [1.0, 2.0, 3.0, 4.0, 5.0];
    if numbers.len() != right.len() || numbers.iter().zip(right).any(|(x, y)| (x - y).abs() > 1e-9) {
        return Err(format!("the solution is {numbers:?}, not 1 to 5"));
    }
    Ok(ProgramResult { text: "the solution is 1 to 5".to_owned(), numbers })
}

/// LAMMPS' own benchmark of a melt, which Debian does not deliver, made smaller.
fn lammps_input(place: &Path, _: u32) -> Result<(), String> {
    const INPUT: &str = "units lj\natom_style atomic\nlattice fcc 0.8442\n\
        region box block 0 10 0 10 0 10\ncreate_box 1 box\ncreate_atoms 1 box\nmass 1 1.0\n\
        velocity all create 1.44 87287 loop geom\npair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.5\n\
        neighbor 0.3 bin\nneigh_modify delay 0 every 20 check no\nfix 1 all nve\nthermo 50\nrun 100\n";
    write(&place.join("in.lj"), INPUT)
}

fn lammps_output(printed: &Printed, _: &Path) -> Result<ProgramResult, String> {
    let table = printed.stdout.lines().skip_while(|line| !line.trim_start().starts_with("Step ")).skip(1);
    let numbers: Vec<f64> =
        table.take_while(|line| !line.starts_with("Loop time")).flat_map(numbers).collect();
    match &numbers[..] {
        // Step, Temp, E_pair, E_mol, TotEng, Press
        [.., step, _, _, _, energy, _] => Ok(ProgramResult {
            text: format!("energy {energy} after {step} steps"),
            numbers: numbers.clone(),
        }),
        _ => Err("it prints no energies".to_owned()),
    }
}

/// Water in balance, eight times as much as in the box that GROMACS delivers.
fn gromacs_input(place: &Path, _: u32) -> Result<(), String> {
    const TOPOLOGY: &str = "#include \"oplsaa.ff/forcefield.itp\"\n#include \"oplsaa.ff/spce.itp\"\n\
        [ system ]\nWater\n[ molecules ]\nSOL 1728\n";
    const PARAMETERS: &str = "integrator = md\nnsteps = 200\ndt = 0.002\nnstlog = 100\nnstenergy = 100\n\
        nstcalcenergy = 100\ncoulombtype = PME\nrcoulomb = 0.9\nrvdw = 0.9\nconstraints = h-bonds\n";
    write(&place.join("topol.top"), TOPOLOGY)?;
    write(&place.join("md.mdp"), PARAMETERS)?;
    let run = |arguments: &[&str]| {
        let mut gmx = Command::new("gmx");
        gmx.arg("-quiet").args(arguments).current_dir(place);
        crate::bench::process::output(gmx, LIMIT)
    };
    run(&["genconf", "-f", "/usr/share/gromacs/top/spc216.gro", "-nbox", "2", "2", "2", "-o", "conf.gro"])?;
    run(&["grompp", "-f", "md.mdp", "-c", "conf.gro", "-p", "topol.top", "-o", "water.tpr"]).map(drop)
}

/// The total energies: first, on the way, and last.
fn gromacs_output(_: &Printed, place: &Path) -> Result<ProgramResult, String> {
    let log = read(&place.join("out.log"))?;
    let mut lines = log.lines();
    let mut energies = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("Total Energy") {
            energies.extend(lines.next().and_then(|line| numbers(line).first().copied()));
        }
    }
    // Of steps 0, 100 and 200, and their average.
    match energies[..] {
        [_, _, last, _] => {
            Ok(ProgramResult { text: format!("energy {last} kJ/mol after 200 steps"), numbers: energies })
        }
        _ => Err(format!("{} energies in its log, expected 4", energies.len())),
    }
}

/// The numbers of a line.
fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(stdout: &str) -> Printed {
        Printed { stdout: stdout.to_owned(), stderr: String::new() }
    }

    #[test]
    fn outputs_are_read() {
        let place = Path::new("nowhere");
        let table = "Step Temp E_pair E_mol TotEng Press\n 0 1.44 -6.7 0 -4.61 -5.0\n 50 0.7 -5.7 0 -4.62 0.3\n\
                     Loop time of 1.2 on 2 procs for 100 steps\n";
        let told = lammps_output(&printed(table), place).unwrap();
        assert_eq!((told.text.as_str(), told.numbers.len()), ("energy -4.62 after 50 steps", 12));
        let intact = "1: 2 bytes 9 times -->  Integrity check passed\n";
        assert_eq!(netpipe_output(&printed(intact), place).unwrap().text, "1 sizes are intact");
        let torn = "2: 3 bytes 9 times -->  Integrity check failed\n";
        assert!(netpipe_output(&printed(&(intact.to_owned() + torn)), place).is_err());
        assert!(netpipe_output(&printed(""), place).is_err());
        let solution = "  Solution is   0.99999999999999878  2.0 3.0 4.0 4.9999999999999991\n";
        assert!(mumps_output(&printed(solution), place).is_ok());
        assert!(mumps_output(&printed("Solution is 1.0 2.0 3.0 4.0 6.0"), place).is_err());
    }

    #[test]
    fn numbers_agree_within_the_tolerance() {
        let told = |numbers: &[f64]| ProgramResult { text: String::new(), numbers: numbers.to_vec() };
        let lammps = PROGRAMS.iter().find(|program| program.name == "lammps").unwrap();
        assert!(lammps.agree(&told(&[0.0, -4.622_696_5]), &told(&[0.0, -4.622_696_6])));
        assert!(!lammps.agree(&told(&[0.0, -4.6226]), &told(&[0.0, -4.6236])));
        assert!(!lammps.agree(&told(&[]), &told(&[])));
        assert!(!lammps.agree(&told(&[1.0]), &told(&[1.0, 2.0])));
    }

    #[test]
    fn grids_are_like_squares() {
        assert_eq!([1, 2, 4, 6, 7].map(grid), [(1, 1), (1, 2), (2, 2), (2, 3), (1, 7)]);
    }
}
