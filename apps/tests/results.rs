//! Every application, on several machines, with every way to close epochs: it checks its own result.

use carrousel_app::{Config, Network, TaskJob, World, simulate};
use carrousel_apps::{AppError, Closing, halo, lu, radix, table, transactions};
use std::future::Future;

const CLOSINGS: [Closing; 3] = [Closing::Blocking, Closing::Nonblocking, Closing::Reordered];

fn everywhere<F>(ranks: &[u32], app: impl Fn(World) -> F + Copy)
where
    F: Future<Output = Result<u64, AppError>> + 'static,
{
    for ranks in ranks {
        for per_node in [1, 3] {
            let nodes = (0..*ranks).map(|rank| rank / per_node).collect();
            let job = TaskJob { nodes, ..TaskJob::new("application", *ranks) };
            let config = Config::new(Network::named("qdr").expect("it comes with the simulator"));
            simulate(&job, &config, app).unwrap_or_else(|error| panic!("{ranks} ranks: {error}"));
        }
    }
}

#[test]
fn lu_decomposes() {
    for closing in CLOSINGS {
        let config = lu::LuConfig { size: 61, closing, ..lu::LuConfig::default() };
        everywhere(&[1, 2, 5, 8], |world| lu::run(world, config));
    }
}

#[test]
fn radix_sorts() {
    for closing in CLOSINGS {
        let config = radix::RadixConfig { numbers: 300, bits: 20, closing, ..radix::RadixConfig::default() };
        everywhere(&[1, 2, 7], |world| radix::run(world, config));
    }
}

#[test]
fn no_transaction_is_lost() {
    for closing in CLOSINGS {
        let config =
            transactions::TransactionsConfig { transactions: 60, slots: 5, closing, ..Default::default() };
        everywhere(&[1, 2, 6], |world| transactions::run(world, config));
    }
}

#[test]
fn the_table_has_what_was_inserted() {
    for closing in CLOSINGS {
        let config = table::TableConfig { inserts: 40, keys: 9, slots: 10, closing, ..Default::default() };
        everywhere(&[1, 2, 6], |world| table::run(world, config));
    }
}

#[test]
fn the_halo_brings_the_neighbours_cells() {
    for closing in CLOSINGS {
        let config = halo::HaloConfig { cells: 30, depth: 3, rounds: 7, closing, ..Default::default() };
        everywhere(&[1, 2, 3, 8], |world| halo::run(world, config));
    }
}
