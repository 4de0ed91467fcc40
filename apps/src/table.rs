//! A distributed hash table: whoever inserts a key finds its place by compare-and-swap, without help of the place's rank.
//!
//! A key's slot follows from its hash; a slot that another key has sends it on to the next. The counts behind the keys are
//! added up by accumulates.

use crate::numbers::Numbers;
use crate::{AppError, Closing};
use carrousel_app::{AccumulateOp, LockAllEpoch, World};

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub struct TableConfig {
    /// How many keys each rank inserts
    #[arg(long, default_value_t = 100)]
    pub inserts: u32,
    /// How many different keys there are, for each rank
    #[arg(long, default_value_t = 50)]
    pub keys: u64,
    /// Slots of each rank, more than keys
    #[arg(long, default_value_t = 100)]
    pub slots: usize,
    /// How epochs are closed
    #[arg(long, value_enum, default_value = "nonblocking")]
    pub closing: Closing,
    /// Seed of the keys
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl Default for TableConfig {
    fn default() -> Self {
        Self { inserts: 100, keys: 50, slots: 100, closing: Closing::Nonblocking, seed: 1 }
    }
}

/// A slot without a key.
const FREE: u64 = 0;

/// The slot, among those of all ranks, where the search for a key begins.
fn hash(key: u64, slots: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize % slots
}

/// Runs it. Returns the nanoseconds that the inserts took.
///
/// # Errors
/// If a call fails, the table is full, or it does not have what was inserted.
pub async fn run(world: World, config: TableConfig) -> Result<u64, AppError> {
    let (me, ranks, slots) = (world.rank(), world.size(), config.slots);
    // Keys in the lower half, counts in the upper.
    let window = world.window_with::<u64>(2 * slots, config.closing.flags()).await?;
    let mut numbers = Numbers::of(config.seed, me);
    world.barrier().await?;
    let begin = world.now();
    let epoch = window.lock_all().await?;
    for _ in 0..config.inserts {
        let key = 1 + numbers.below(config.keys * u64::from(ranks));
        let (rank, slot) = claim(&epoch, key, ranks, slots, me).await?;
        epoch.accumulate(AccumulateOp::Sum, vec![1], rank, slots + slot).await?;
        if config.closing.blocks() {
            epoch.flush(rank).await?;
        }
    }
    epoch.unlock_all().await?;
    let took = world.now() - begin;
    world.barrier().await?;
    check(me, ranks, config, &window.memory())?;
    Ok(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))
}

/// The slot of a key: one that has it already, or the first free one, which has it then.
async fn claim(
    epoch: &LockAllEpoch<'_, u64>,
    key: u64,
    ranks: u32,
    slots: usize,
    me: u32,
) -> Result<(u32, usize), AppError> {
    let all = slots * ranks as usize;
    for probe in 0..all {
        let place = (hash(key, all) + probe) % all;
        let (rank, slot) = ((place / slots) as u32, place % slots);
        let found = epoch.compare_and_swap(FREE, key, rank, slot).await?;
        epoch.flush(rank).await?;
        let found = found.take_one()?;
        if found == FREE || found == key {
            return Ok((rank, slot));
        }
    }
    Err(AppError::Wrong { rank: me, what: format!("the table has no slot for key {key}") })
}

/// Repeats what all ranks have inserted.
fn check(me: u32, ranks: u32, config: TableConfig, table: &[u64]) -> Result<(), AppError> {
    let mut expected = std::collections::BTreeMap::new();
    for rank in 0..ranks {
        let mut numbers = Numbers::of(config.seed, rank);
        for _ in 0..config.inserts {
            *expected.entry(1 + numbers.below(config.keys * u64::from(ranks))).or_insert(0u64) += 1;
        }
    }
    let (keys, counts) = table.split_at(config.slots);
    for (key, count) in keys.iter().zip(counts).filter(|(key, _)| **key != FREE) {
        let inserted = expected.get(key).copied().unwrap_or(0);
        if inserted != *count {
            let what = format!("key {key} was inserted {inserted} times, and is there {count} times");
            return Err(AppError::Wrong { rank: me, what });
        }
    }
    Ok(())
}
