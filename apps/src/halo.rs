//! A halo exchange by puts: the cells of a ring spread heat, and each rank puts its borders to its neighbours.
//!
//! Neighbours post and start in each step, so a rank waits for its neighbours only. The inner cells are computed while the
//! borders travel.

use crate::{AppError, Closing};
use carrousel_app::World;
use std::time::Duration;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, clap::Args)]
pub struct HaloConfig {
    /// Cells of each rank
    #[arg(long, default_value_t = 1000)]
    pub cells: usize,
    /// Cells at each border that a neighbour needs: so many steps go by between two exchanges
    #[arg(long, default_value_t = 4)]
    pub depth: usize,
    /// Exchanges
    #[arg(long, default_value_t = 20)]
    pub rounds: usize,
    /// How epochs are closed
    #[arg(long, value_enum, default_value = "nonblocking")]
    pub closing: Closing,
    /// Time of a cell in a step, in picoseconds of virtual time
    #[arg(long, default_value_t = 2000)]
    pub ps_per_cell: u64,
}

impl Default for HaloConfig {
    fn default() -> Self {
        Self { cells: 1000, depth: 4, rounds: 20, closing: Closing::Nonblocking, ps_per_cell: 2000 }
    }
}

/// The heat of a cell at the beginning.
fn heat(cell: usize) -> f64 {
    ((cell * 37) % 101) as f64
}

/// Some steps of a line of cells; each step loses a cell at both ends, of which nobody knows the neighbour.
fn steps(mut line: Vec<f64>, steps: usize) -> Vec<f64> {
    for _ in 0..steps {
        line = line.windows(3).map(|near| near[1] + 0.2 * (near[0] - 2.0 * near[1] + near[2])).collect();
    }
    line
}

/// Runs it. Returns the nanoseconds that it took.
///
/// # Errors
/// If a call fails, or the cells are not what one rank alone computes.
pub async fn run(world: World, config: HaloConfig) -> Result<u64, AppError> {
    let (me, ranks) = (world.rank() as usize, world.size() as usize);
    let HaloConfig { cells, depth, .. } = config;
    let (before, after) = ((me + ranks - 1) % ranks, (me + 1) % ranks);
    let mut neighbours = vec![before as u32, after as u32];
    neighbours.dedup();
    // Halos of even and odd rounds: a neighbour that is a round ahead does not overwrite what is still read.
    let window = world.window_with::<f64>(4 * depth, config.closing.flags()).await?;
    let mut own: Vec<f64> = (me * cells..(me + 1) * cells).map(heat).collect();
    world.barrier().await?;
    let begin = world.now();
    for round in 0..config.rounds {
        let halo = round % 2 * 2 * depth;
        let exposure = window.post(&neighbours).await?;
        let access = window.start(&neighbours).await?;
        // To the rank before, these are the cells behind its own.
        access.put(own[..depth].to_vec(), before as u32, halo + depth).await?;
        access.put(own[cells - depth..].to_vec(), after as u32, halo).await?;
        let time = |cells: usize| Duration::from_nanos((cells * depth) as u64 * config.ps_per_cell / 1000);
        let (inner, borders) = if config.closing.blocks() {
            access.complete().await?;
            exposure.wait().await?;
            let inner = world.compute_as(time(cells - 2 * depth), || steps(own.clone(), depth)).await;
            (inner, window.memory()[halo..halo + 2 * depth].to_vec())
        } else {
            let (sent, arrived) = (access.icomplete().await?, exposure.iwait().await?);
            let inner = world.compute_as(time(cells - 2 * depth), || steps(own.clone(), depth)).await;
            carrousel_app::WindowRequest::wait_all(vec![sent, arrived]).await?;
            (inner, window.memory()[halo..halo + 2 * depth].to_vec())
        };
        let border = |near: Vec<f64>| world.compute_as(time(2 * depth), || steps(near, depth));
        let first = border([&borders[..depth], &own[..2 * depth]].concat()).await;
        let last = border([&own[cells - 2 * depth..], &borders[depth..]].concat()).await;
        own = [first, inner, last].concat();
    }
    let took = world.now() - begin;
    check(me, ranks, config, &own)?;
    Ok(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))
}

/// Computes the whole ring alone, and compares.
fn check(me: usize, ranks: usize, config: HaloConfig, own: &[f64]) -> Result<(), AppError> {
    let all = ranks * config.cells;
    let far = config.rounds * config.depth;
    // The cells that this rank's depend on, around the ring as often as that takes.
    let first = me * config.cells;
    let line = (0..config.cells + 2 * far).map(|at| heat((first + at + all * far - far) % all)).collect();
    let expected = steps(line, far);
    let differs = |(own, alone): (&f64, &f64)| (own - alone).abs() > 1e-9;
    match own.iter().zip(&expected).position(differs) {
        None if own.len() == expected.len() => Ok(()),
        at => {
            let what = format!("cell {at:?} of {}", own.len());
            Err(AppError::Wrong { rank: me as u32, what })
        }
    }
}
