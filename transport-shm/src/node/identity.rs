//! Which node a process is on: a number that is the same for processes that reach each other by shared memory.

use super::process;
use std::fs;
use std::path::Path;

/// A number that the system makes when it boots.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// The RDMA adapters, and the file that has the number of each.
const ADAPTERS: &str = "/sys/class/infiniband";
const NUMBER: &str = "node_guid";

/// The node of this process, see [`Address::node`](super::Address::node).
pub(super) fn node() -> u64 {
    let boot = fs::read(BOOT).unwrap_or_default();
    of(&boot, process::namespace(), &adapters(Path::new(ADAPTERS)))
}

/// The numbers of the adapters, in an order that does not depend on how they are listed.
fn adapters(place: &Path) -> Vec<Vec<u8>> {
    let adapters = fs::read_dir(place).into_iter().flatten().flatten();
    let mut numbers: Vec<_> =
        adapters.filter_map(|adapter| fs::read(adapter.path().join(NUMBER)).ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// The number of the node with these: FNV-1a, which is the same in every build.
fn of(boot: &[u8], namespace: u64, adapters: &[Vec<u8>]) -> u64 {
    let namespace = namespace.to_le_bytes();
    let parts = [boot, &namespace].into_iter().chain(adapters.iter().map(Vec::as_slice));
    parts
        .flatten()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn what_nodes_do_not_share_tells_them_apart() {
        let adapters = [b"5054:00ff:fe09:0001\n".to_vec(), b"5054:00ff:fe09:0002\n".to_vec()];
        let nodes = [
            of(b"one", 1, &[]),
            of(b"two", 1, &[]),
            of(b"one", 2, &[]),
            of(b"one", 1, &adapters[..1]),
            of(b"one", 1, &adapters[1..]),
            of(b"one", 1, &adapters),
        ];
        for (at, node) in nodes.iter().enumerate() {
            assert!(!nodes[..at].contains(node), "number {at} is as one before");
        }
        assert_eq!(node(), node());
    }

    #[test]
    fn adapters_are_listed_in_the_order_of_their_numbers() {
        let place = std::env::temp_dir().join(format!("carrousel-adapters-{}", std::process::id()));
        for (name, number) in [("rxe0", "2"), ("mlx5_0", "1"), ("none", "")] {
            fs::create_dir_all(place.join(name)).expect("it can be made");
            if !number.is_empty() {
                fs::write(place.join(name).join(NUMBER), number).expect("it can be written");
            }
        }
        let found = adapters(&place);
        fs::remove_dir_all(&place).expect("it can be removed");
        assert_eq!(found, [b"1".to_vec(), b"2".to_vec()]);
        assert_eq!(adapters(&place), Vec::<Vec<u8>>::new());
    }
}
