//! Massive unstructured transactions: every rank updates random ranks, each time under an exclusive lock.
//!
//! Nobody knows who updates what, or when (nonblocking-rma-epochs IV-B). If the epochs block, an update waits for the one
//! before it; if they do not, many are pending; and if they may be reordered, an update of a rank that nobody else has
//! locked does not wait behind one that others hold up.

use crate::numbers::Numbers;
use crate::{AppError, Closing};
use carrousel_app::{AccumulateOp, World};
use std::collections::VecDeque;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub struct TransactionsConfig {
    /// How many updates each rank makes
    #[arg(long, default_value_t = 200)]
    pub transactions: u32,
    /// The counters of each rank, of which an update changes one
    #[arg(long, default_value_t = 64)]
    pub slots: u32,
    /// How many updates of a rank may be pending
    #[arg(long, default_value_t = 64)]
    pub pending: u32,
    /// How epochs are closed
    #[arg(long, value_enum, default_value = "reordered")]
    pub closing: Closing,
    /// Seed of the targets
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl Default for TransactionsConfig {
    fn default() -> Self {
        Self { transactions: 200, slots: 64, pending: 64, closing: Closing::Reordered, seed: 1 }
    }
}

/// The update of a transaction: whose counter, and by how much.
fn update(numbers: &mut Numbers, ranks: u32, slots: u32) -> (u32, usize, u64) {
    let target = numbers.below(u64::from(ranks)) as u32;
    (target, numbers.below(u64::from(slots)) as usize, 1 + numbers.below(1000))
}

/// Runs it. Returns the nanoseconds that this rank's updates took.
///
/// # Errors
/// If a call fails, or the counters are not what all updates together make of them.
pub async fn run(world: World, config: TransactionsConfig) -> Result<u64, AppError> {
    let (me, ranks) = (world.rank(), world.size());
    let window = world.window_with::<u64>(config.slots as usize, config.closing.flags()).await?;
    let mut numbers = Numbers::of(config.seed, me);
    let mut pending = VecDeque::new();
    world.barrier().await?;
    let begin = world.now();
    for _ in 0..config.transactions {
        let (target, slot, by) = update(&mut numbers, ranks, config.slots);
        if config.closing.blocks() {
            let lock = window.lock(target).await?;
            lock.accumulate(AccumulateOp::Sum, vec![by], target, slot).await?;
            lock.unlock().await?;
            continue;
        }
        if pending.len() >= config.pending as usize
            && let Some(oldest) = pending.pop_front()
        {
            let oldest: carrousel_app::WindowRequest = oldest;
            oldest.await?;
        }
        let lock = window.ilock(target).await?;
        lock.accumulate(AccumulateOp::Sum, vec![by], target, slot).await?;
        pending.push_back(lock.iunlock().await?);
    }
    carrousel_app::WindowRequest::wait_all(pending.into()).await?;
    let took = world.now() - begin;
    world.barrier().await?;
    check(me, ranks, config, &window.memory())?;
    Ok(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))
}

/// Repeats what all ranks have done to this one.
fn check(me: u32, ranks: u32, config: TransactionsConfig, found: &[u64]) -> Result<(), AppError> {
    let mut expected = vec![0; config.slots as usize];
    for rank in 0..ranks {
        let mut numbers = Numbers::of(config.seed, rank);
        for _ in 0..config.transactions {
            let (target, slot, by) = update(&mut numbers, ranks, config.slots);
            if target == me {
                expected[slot] += by;
            }
        }
    }
    if found == expected {
        return Ok(());
    }
    Err(AppError::Wrong { rank: me, what: format!("counters {found:?} instead of {expected:?}") })
}
