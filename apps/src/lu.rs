//! LU decomposition without pivoting: rows are dealt out in turns, and each finished row is put to all other ranks.
//!
//! The owner of a row that is finished opens an epoch to all others, puts the row, and updates its own rows within the
//! epoch. If it closes the epoch only then, as a blocking close makes sensible, all others wait for it, though they have
//! the row (Late Complete); if it closes first and waits afterwards, they go on at once (nonblocking-rma-epochs VIII-B).

use crate::{AppError, Closing};
use carrousel_app::{ExposureEpoch, Window, WindowRequest, World};
use std::time::Duration;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, clap::Args)]
pub struct LuConfig {
    /// Rows and columns of the matrix
    #[arg(long, default_value_t = 256)]
    pub size: usize,
    /// How epochs are closed
    #[arg(long, value_enum, default_value = "nonblocking")]
    pub closing: Closing,
    /// Time of a multiplication with its addition, in picoseconds of virtual time
    #[arg(long, default_value_t = 1300)]
    pub ps_per_step: u64,
    /// Only the times: no numbers are kept or moved
    #[arg(long)]
    pub blank: bool,
}

impl Default for LuConfig {
    fn default() -> Self {
        Self { size: 256, closing: Closing::Nonblocking, ps_per_step: 1300, blank: false }
    }
}

/// The element of the matrix: the diagonal is large, so that no pivot is needed.
fn element(row: usize, column: usize, size: usize) -> f64 {
    let off = ((row * 7 + column * 13) % 10) as f64 / 10.0;
    if row == column { 2.0 * size as f64 } else { off }
}

/// A rank's part.
struct Part {
    me: usize,
    ranks: usize,
    config: LuConfig,
    /// Its rows, first to last: none if they are blank.
    rows: Vec<Vec<f64>>,
}

impl Part {
    /// How many of its rows come after this one.
    fn rows_after(&self, row: usize) -> usize {
        let up_to = |end: usize| (end + self.ranks - 1 - self.me) / self.ranks;
        up_to(self.config.size) - up_to(row + 1)
    }

    /// Updates its rows by a finished one, whose numbers begin at the diagonal.
    fn update(&mut self, row: usize, finished: &[f64]) {
        let Some((pivot, rest)) = finished.split_first() else { return };
        for (at, own) in (self.me..).step_by(self.ranks).zip(&mut self.rows) {
            if at <= row {
                continue;
            }
            let factor = own[row] / pivot;
            own[row] = factor;
            for (mine, theirs) in own[row + 1..].iter_mut().zip(rest) {
                *mine -= factor * theirs;
            }
        }
    }

    /// The time of that.
    fn time(&self, row: usize) -> Duration {
        let steps = self.rows_after(row) * (self.config.size - row);
        Duration::from_nanos(steps as u64 * self.config.ps_per_step / 1000)
    }
}

/// Runs it. Returns the virtual or real nanoseconds that it took.
///
/// # Errors
/// If a call fails, or L times U is not the matrix.
pub async fn run(world: World, config: LuConfig) -> Result<u64, AppError> {
    let (me, ranks, size) = (world.rank() as usize, world.size() as usize, config.size);
    let flags = config.closing.flags();
    let window = match config.blank {
        true => world.window_without_bytes::<f64>(size, flags).await?,
        false => world.window_with::<f64>(size, flags).await?,
    };
    let rows = if config.blank { 0..0 } else { me..size };
    let row = |row: usize| (0..size).map(|column| element(row, column, size)).collect();
    let rows = rows.step_by(ranks).map(row).collect();
    let mut part = Part { me, ranks, config, rows };
    // The owner of the next row gets this one first.
    let others: Vec<u32> = (me + 1..me + ranks).map(|rank| (rank % ranks) as u32).collect();
    let (mut closed, mut exposed) = (None, None);
    world.barrier().await?;
    let begin = world.now();
    for row in 0..size {
        if row % ranks == me {
            (closed, exposed) = spread(&world, &window, &mut part, &others, row, closed).await?;
            continue;
        }
        let exposure = match exposed.take() {
            Some(exposure) => exposure,
            None => window.post(&[(row % ranks) as u32]).await?,
        };
        exposure.wait().await?;
        let finished = if config.blank { Vec::new() } else { window.memory()[row..].to_vec() };
        exposed = expose(&window, &part, row + 1).await?;
        world.compute_as(part.time(row), || part.update(row, &finished)).await;
    }
    if let Some(closed) = closed {
        closed.await?;
    }
    let took = world.now() - begin;
    if !config.blank {
        check(&world, &part).await?;
    }
    Ok(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))
}

/// Exposes this rank's memory to the owner of a row, if there is such a row and another has it. Early, so that the owner
/// finds every other rank ready.
async fn expose<'w>(
    window: &'w Window<f64>,
    part: &Part,
    row: usize,
) -> Result<Option<ExposureEpoch<'w, f64>>, AppError> {
    let owner = row % part.ranks;
    if row == part.config.size || owner == part.me {
        return Ok(None);
    }
    Ok(Some(window.post(&[owner as u32]).await?))
}

/// Puts a finished row to all others, and updates this rank's own rows by it meanwhile. Returns the epoch if it may not be
/// complete; that of the row before is waited for. Returns the exposure for the next row, too.
async fn spread<'w>(
    world: &World,
    window: &'w Window<f64>,
    part: &mut Part,
    others: &[u32],
    row: usize,
    before: Option<WindowRequest>,
) -> Result<(Option<WindowRequest>, Option<ExposureEpoch<'w, f64>>), AppError> {
    if let Some(before) = before {
        before.await?;
    }
    let finished = part.rows.get(row / part.ranks).map(|own| own[row..].to_vec()).unwrap_or_default();
    let epoch = window.start(others).await?;
    for target in others {
        if part.config.blank {
            epoch.put_blank(part.config.size - row, *target, row).await?;
        } else {
            epoch.put(finished.clone(), *target, row).await?;
        }
    }
    // Within the epoch: one that is opened after its close waits for its end.
    let exposed = expose(window, part, row + 1).await?;
    let time = part.time(row);
    if part.config.closing.blocks() {
        world.compute_as(time, || part.update(row, &finished)).await;
        epoch.complete().await?;
        return Ok((None, exposed));
    }
    let closed = epoch.icomplete().await?;
    world.compute_as(time, || part.update(row, &finished)).await;
    Ok((Some(closed), exposed))
}

/// Compares L times U with the matrix, in some columns. Each rank needs all rows of U for that: they are broadcast.
async fn check(world: &World, part: &Part) -> Result<(), AppError> {
    let size = part.config.size;
    let columns = [0, size / 3, size - 1];
    // The elements of U in these columns, row by row.
    let mut upper = Vec::with_capacity(size);
    for row in 0..size {
        let owner = row % part.ranks;
        let mut of_row = columns.map(|column| {
            let own = part.rows.get(row / part.ranks).filter(|_| owner == part.me);
            own.filter(|_| column >= row).map_or(0.0, |own| own[column])
        });
        world.broadcast(&mut of_row, owner as u32).await?;
        upper.push(of_row);
    }
    for (row, own) in (part.me..size).step_by(part.ranks).zip(&part.rows) {
        for (at, column) in columns.into_iter().enumerate() {
            let below: f64 = (0..row.min(size)).map(|k| own[k] * upper[k][at]).sum();
            let product = below + if column >= row { upper[row][at] } else { 0.0 };
            let expected = element(row, column, size);
            if (product - expected).abs() > 1e-6 * size as f64 {
                let what = format!("row {row}, column {column}: {product} instead of {expected}");
                return Err(AppError::Wrong { rank: part.me as u32, what });
            }
        }
    }
    Ok(())
}
