//! The heat on a plate spreads. Each rank has a band of the plate. In each step, neighbours exchange the rows at
//! their common border, and compute the inner rows meanwhile.
//!
//! `carrousel run -n 4 -- target/release/examples/heat`, or
//! `carrousel sim -n 16 --app target/release/examples/heat`; an argument is the number of steps, 200 without.
//!
//! The result is compared with that of rank 0, which computes the whole plate alone.

use carrousel_app::{World, run, wait_all};
use std::io::{Write, stdout};
use std::process::ExitCode;
use std::time::Duration;

/// Cells of the plate, each way.
const SIDE: usize = 512;
/// The part of the difference to its neighbours that a cell takes over in a step.
const RATE: f64 = 0.2;
/// The time of one row in a simulated run.
const ROW: Duration = Duration::from_nanos(500);

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Some rows of the plate, with a row above and one below that belong to the neighbours.
struct Band {
    /// The first row, among those of the plate.
    first: usize,
    rows: Vec<[f64; SIDE]>,
}

impl Band {
    /// Rows `first` to `end` of the plate at the beginning: hot in the middle, cold elsewhere.
    fn new(first: usize, end: usize) -> Self {
        let hot = SIDE / 4..SIDE * 3 / 4;
        let cell = |row: usize, column: usize| {
            if hot.contains(&row) && hot.contains(&column) { 100.0 } else { 0.0 }
        };
        let row = |row: usize| std::array::from_fn(|column| cell(row.wrapping_sub(1), column));
        // Outside of the plate it is always cold.
        Self { first, rows: (first..end + 2).map(row).collect() }
    }

    /// The rows `range` of the band, counted from 1, one step later.
    fn step(&self, range: std::ops::Range<usize>) -> Vec<[f64; SIDE]> {
        let row = |row: usize| {
            let [above, here, below] = [row - 1, row, row + 1].map(|row| &self.rows[row]);
            std::array::from_fn(|column| {
                let left = column.checked_sub(1).map_or(0.0, |column| here[column]);
                let right = here.get(column + 1).copied().unwrap_or(0.0);
                let around = above[column] + below[column] + left + right;
                here[column] + RATE * (around - 4.0 * here[column])
            })
        };
        range.map(row).collect()
    }

    fn own(&self) -> &[[f64; SIDE]] {
        &self.rows[1..self.rows.len() - 1]
    }
}

async fn exchange_and_step(world: &World, band: &mut Band) -> Result<()> {
    let (me, last, rows) = (world.rank(), world.size() - 1, band.rows.len() - 2);
    let neighbours = [(me > 0, me.wrapping_sub(1), 1, 0), (me < last, me + 1, rows, rows + 1)];
    let (mut receives, mut sends, mut halo) = (Vec::new(), Vec::new(), Vec::new());
    for (_, neighbour, border, beyond) in neighbours.into_iter().filter(|(exists, ..)| *exists) {
        receives.push(world.irecv(vec![[0.0; SIDE]], neighbour, 0).await?);
        sends.push(world.isend(vec![band.rows[border]], neighbour, 0).await?);
        halo.push(beyond);
    }
    let inner = 2..rows.max(2);
    let inner = world.compute_as(ROW * inner.len() as u32, || band.step(inner)).await;
    for (beyond, (row, _)) in halo.into_iter().zip(wait_all(receives).await?) {
        band.rows[beyond] = row[0];
    }
    let outer = world.compute_as(ROW * rows.min(2) as u32, || {
        [band.step(1..2), if rows > 1 { band.step(rows..rows + 1) } else { Vec::new() }]
    });
    let outer = outer.await;
    wait_all(sends).await?;
    let new = outer[0].iter().chain(&inner).chain(&outer[1]);
    let new: Vec<[f64; SIDE]> = new.copied().collect();
    band.rows[1..=rows].copy_from_slice(&new);
    Ok(())
}

async fn app(world: World) -> Result<()> {
    let (me, size) = (world.rank() as usize, world.size() as usize);
    if size > SIDE {
        return Err(format!("{SIDE} rows are too few for {size} ranks").into());
    }
    let steps = match std::env::args().nth(1) {
        Some(text) => {
            text.parse::<u32>().map_err(|error| format!("`{text}` is no number of steps: {error}"))?
        }
        None => 200,
    };
    let border = |rank: usize| rank * SIDE / size;
    let mut band = Band::new(border(me), border(me + 1));
    for _ in 0..steps {
        exchange_and_step(&world, &mut band).await?;
    }
    if me > 0 {
        world.send(band.own(), 0, 2).await?;
    } else {
        let mut plate = band.own().to_vec();
        for rank in 1..size {
            let mut rows = vec![[0.0; SIDE]; border(rank + 1) - border(rank)];
            world.recv(&mut rows, rank as u32, 2).await?;
            plate.extend(rows);
        }
        let mut alone = Band::new(0, SIDE);
        for _ in 0..steps {
            let new = alone.step(1..SIDE + 1);
            alone.rows[1..=SIDE].copy_from_slice(&new);
        }
        let middle = plate[SIDE / 2][SIDE / 2];
        writeln!(stdout(), "after {steps} steps on {size} ranks the middle has {middle:.6} degrees")?;
        // Each cell is computed from the same numbers in the same order.
        if let Some(row) = (0..SIDE).find(|row| plate[*row] != alone.own()[*row]) {
            return Err(format!("row {row} (of the band from row {}) is wrong", band.first).into());
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    run(app)
}
