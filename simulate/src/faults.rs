//! What goes wrong in a job: derived from its seed.

use fastrand::Rng;
use std::fmt;
use std::time::Duration;

/// The faults of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// A rank is killed when it makes this call of the system.
    pub(crate) kill: Option<(usize, u64)>,
    /// A rank ends, with this status and without leaving the job, instead of taking this step of its program.
    pub(crate) exit: Option<(usize, usize, i32)>,
    /// This call of a rank fails, of those that can.
    pub(crate) call: Option<(usize, u64)>,
    /// This copy of a rank from or to the memory of another, and each one behind it, is forbidden.
    pub(crate) copy: Option<(usize, u64)>,
    /// From this look on, a rank finds no memory for rings.
    pub(crate) memory: Option<(usize, u64)>,
    /// A rank stalls at one in so many of its calls,
    pub(crate) stall_one_in: Option<u32>,
    /// so many times in all,
    pub(crate) stalls: u32,
    /// for so long at most.
    pub(crate) stall_max: Duration,
    /// The system has no pidfds.
    pub(crate) no_pidfds: bool,
}

impl Faults {
    /// The faults of a job of so many ranks, each with so many steps. Half of all jobs have none that ends a rank.
    pub(crate) fn new(rng: &mut Rng, ranks: usize, steps: usize) -> Self {
        let mut faults = Self { no_pidfds: rng.u32(..4) == 0, ..Self::default() };
        // Most calls that matter are early, but not all: the number is of any magnitude.
        let number = |rng: &mut Rng, bits: u32| {
            let magnitude = rng.u32(1..=bits);
            rng.u64(..1 << magnitude)
        };
        match rng.u32(..16) {
            0..4 => {}
            4..8 => faults.stall(rng),
            8..10 => faults.kill = Some((rng.usize(..ranks), number(rng, 14))),
            10 => {
                faults.kill = Some((rng.usize(..ranks), number(rng, 14)));
                faults.stall(rng);
            }
            11 => {
                faults.exit = Some((rng.usize(..ranks), rng.usize(..=steps), i32::from(rng.bool()) * 3));
            }
            12 => {
                faults.exit = Some((rng.usize(..ranks), rng.usize(..=steps), i32::from(rng.bool()) * 3));
                faults.stall(rng);
            }
            13 => faults.call = Some((rng.usize(..ranks), number(rng, 4))),
            14 => faults.copy = Some((rng.usize(..ranks), number(rng, 5))),
            _ => faults.memory = Some((rng.usize(..ranks), number(rng, 2))),
        }
        faults
    }

    fn stall(&mut self, rng: &mut Rng) {
        self.stall_one_in = Some(1 << rng.u32(4..12));
        self.stalls = rng.u32(1..6);
        // From a moment to a time in which peers begin to look for each other.
        self.stall_max = Duration::from_micros(1 << rng.u32(8..22));
    }

    /// The kind of a job with these faults.
    pub(crate) fn kind(&self) -> &'static str {
        match (self.kill, self.exit, self.stall_one_in) {
            (Some(_), _, Some(_)) => "a rank dies, others stall",
            (Some(_), ..) => "a rank dies",
            (_, Some(_), Some(_)) => "a rank leaves early, others stall",
            (_, Some(_), _) => "a rank leaves early",
            (.., Some(_)) => "ranks stall",
            _ if self.call.is_some() => "a call fails",
            _ if self.copy.is_some() => "copies are forbidden",
            _ if self.memory.is_some() => "memory is short",
            _ => "no fault",
        }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        if let Some((rank, call)) = self.kill {
            write!(f, "; rank {rank} is killed at its call {call}")?;
        }
        if let Some((rank, step, status)) = self.exit {
            write!(f, "; rank {rank} exits with status {status} at step {step}")?;
        }
        if let Some((rank, call)) = self.call {
            write!(f, "; call {call} of rank {rank} for memory fails")?;
        }
        if let Some((rank, copy)) = self.copy {
            write!(f, "; copies of rank {rank} are forbidden from the {copy}th on")?;
        }
        if let Some((rank, look)) = self.memory {
            write!(f, "; rank {rank} finds no memory from its look {look} on")?;
        }
        if let Some(one_in) = self.stall_one_in {
            let (stalls, max) = (self.stalls, self.stall_max);
            write!(f, "; {stalls} stalls of at most {max:?}, at one call in {one_in}")?;
        }
        if self.no_pidfds { f.write_str("; no pidfds") } else { Ok(()) }
    }
}
