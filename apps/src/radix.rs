//! Radix sort of 64-bit integers: in each pass, every rank puts its numbers where they belong by the next digit.
//!
//! The places follow from the counts of all digits at all ranks, which are gathered first. So the puts need no answer, and
//! large ones to ranks of the node and small ones to all others mix (intra-epoch-scheduling VI).

use crate::numbers::Numbers;
use crate::{AppError, Closing};
use carrousel_app::World;
use std::time::Duration;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub struct RadixConfig {
    /// How many numbers each rank has
    #[arg(long, default_value_t = 4096)]
    pub numbers: usize,
    /// Bits of a digit
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub digit: u32,
    /// Bits of the numbers that count, from the lowest one
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub bits: u32,
    /// How epochs are closed
    #[arg(long, value_enum, default_value = "nonblocking")]
    pub closing: Closing,
    /// Time of counting and placing a number, in picoseconds of virtual time
    #[arg(long, default_value_t = 4000)]
    pub ps_per_number: u64,
    /// Seed of the numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl Default for RadixConfig {
    fn default() -> Self {
        let closing = Closing::Nonblocking;
        Self { numbers: 4096, digit: 8, bits: 32, closing, ps_per_number: 4000, seed: 1 }
    }
}

/// Runs it. Returns the nanoseconds that it took.
///
/// # Errors
/// If a call fails, or the numbers are not sorted, or not those of the beginning.
pub async fn run(world: World, config: RadixConfig) -> Result<u64, AppError> {
    let (me, ranks, each) = (world.rank(), world.size() as usize, config.numbers);
    let mut seeds = Numbers::of(config.seed, me);
    let mask = u64::MAX >> (64 - config.bits);
    let mut own: Vec<u64> = (0..each).map(|_| seeds.next() & mask).collect();
    let sum_before = sum(&world, &own).await?;
    // What comes in a pass must not overwrite what others still send: passes take turns.
    let windows = [
        world.window_with::<u64>(each, config.closing.flags()).await?,
        world.window_with(each, config.closing.flags()).await?,
    ];
    world.barrier().await?;
    let begin = world.now();
    let digits = 1usize << config.digit;
    for pass in 0..config.bits.div_ceil(config.digit) {
        let digit = |number: u64| (number >> (pass * config.digit)) as usize & (digits - 1);
        let time = Duration::from_nanos(each as u64 * config.ps_per_number / 1000);
        let (counts, sorted) = world
            .compute_as(time, || {
                own.sort_by_key(|number| digit(*number));
                let mut counts = vec![0u64; digits];
                own.iter().for_each(|number| counts[digit(*number)] += 1);
                (counts, std::mem::take(&mut own))
            })
            .await;
        let mut all = vec![0u64; digits * ranks];
        world.allgather(&counts, &mut all).await?;
        let window = &windows[pass as usize % 2];
        let epoch = window.fence().await?;
        for (numbers, first) in runs(&sorted, &counts, &all, me as usize, ranks) {
            put(&epoch, numbers, first, each).await?;
        }
        if config.closing.blocks() {
            epoch.end().await?;
        } else {
            let (closed, epoch) = epoch.ifence().await?;
            drop(epoch);
            closed.await?;
        }
        own = window.memory().to_vec();
    }
    let took = world.now() - begin;
    check(&world, &own, sum_before).await?;
    Ok(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))
}

/// The numbers of each digit, and the place of the first of them among all.
fn runs<'a>(
    sorted: &'a [u64],
    counts: &'a [u64],
    all: &'a [u64],
    me: usize,
    ranks: usize,
) -> impl Iterator<Item = (&'a [u64], usize)> + 'a {
    let digits = counts.len();
    let (mut taken, mut place) = (0, 0);
    (0..digits).map(move |digit| {
        let of = |rank: usize| all[rank * digits + digit] as usize;
        let before: usize = (0..me).map(of).sum();
        let first = place + before;
        place += (0..ranks).map(of).sum::<usize>();
        let count = counts[digit] as usize;
        let numbers = &sorted[taken..taken + count];
        taken += count;
        (numbers, first)
    })
}

/// Puts numbers to their places among all, which may be those of several ranks.
async fn put(
    epoch: &carrousel_app::Access<'_, u64>,
    mut numbers: &[u64],
    mut first: usize,
    each: usize,
) -> Result<(), AppError> {
    while !numbers.is_empty() {
        let (target, at) = (first / each, first % each);
        let (here, rest) = numbers.split_at(numbers.len().min(each - at));
        epoch.put(here.to_vec(), target as u32, at).await?;
        (numbers, first) = (rest, first + here.len());
    }
    Ok(())
}

/// The sum of all numbers of all ranks.
async fn sum(world: &World, own: &[u64]) -> Result<u64, AppError> {
    let mine = own.iter().fold(0u64, |sum, number| sum.wrapping_add(*number));
    let mut all = [0];
    world.allreduce(&[mine], &mut all, u64::wrapping_add).await?;
    Ok(all[0])
}

async fn check(world: &World, own: &[u64], sum_before: u64) -> Result<(), AppError> {
    let rank = world.rank();
    let wrong = |what: String| Err(AppError::Wrong { rank, what });
    if let Some(at) = own.windows(2).position(|pair| pair[0] > pair[1]) {
        return wrong(format!("number {at} is greater than the next"));
    }
    let ends = [own.first().copied().unwrap_or(0), own.last().copied().unwrap_or(0)];
    let mut all = vec![0; 2 * world.size() as usize];
    world.allgather(&ends, &mut all).await?;
    if all.windows(2).any(|pair| pair[0] > pair[1]) {
        return wrong("a rank has smaller numbers than the one before it".to_owned());
    }
    let sum_after = sum(world, own).await?;
    if sum_after != sum_before {
        return wrong(format!("the numbers sum up to {sum_after}, and did to {sum_before}"));
    }
    Ok(())
}
