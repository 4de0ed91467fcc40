//! Address vectors (fi_av(3)): the addresses of peers, by position. A `fi_addr_t` is a position, in maps and in tables.

use crate::settings::JOB;
use carrousel_transport_shm::Address;
use carrousel_transport_verbs as verbs;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The bytes of an address: [`MARK`], that of the process's shared memory, and that of its datagram queue, or zeros. All
/// addresses have the same, as hosts exchange them in tables, and no more: MPICH has room for `FI_NAME_MAX` bytes.
pub(crate) const ADDRESS_BYTES: usize = 64;
/// What an address begins with: the format, and its version.
const MARK: [u8; 4] = *b"cfi\x02";
/// The address of an endpoint that is not open yet, which gets its own when it is. Nobody is reached by it.
pub(crate) static ANY_ADDRESS: [u8; ADDRESS_BYTES] = {
    let mut bytes = [0; ADDRESS_BYTES];
    bytes.split_at_mut(MARK.len()).0.copy_from_slice(&MARK);
    bytes
};
/// The bytes of a datagram queue's address: the global identifier of its port, the identifier in a subnet, and the number,
/// which is never 0. Its key is the number of the shared memory.
const QUEUE_BYTES: usize = 16 + 2 + 3;
const _: () = assert!(MARK.len() + Address::BYTES + QUEUE_BYTES == ADDRESS_BYTES);

/// The addresses that a host has inserted.
#[derive(Debug, Default)]
pub(crate) struct Av {
    addresses: Vec<Option<Arc<str>>>,
    /// Positions from which an address was removed: hosts insert thousands of addresses, and none looks for a place.
    free: BTreeSet<usize>,
    /// The positions of each, in the order in which it was inserted.
    positions: HashMap<Arc<str>, Vec<u64>>,
    /// How often a position was given to another address, or taken from one.
    changes: u64,
    /// How many endpoints are bound to it.
    pub(crate) users: u32,
}

impl Av {
    /// Inserts an address, and returns its position. `None` if the bytes are none.
    pub(crate) fn insert(&mut self, bytes: &[u8; ADDRESS_BYTES]) -> Option<u64> {
        let text: Arc<str> = text(bytes)?.into();
        let at = self.free.pop_first().unwrap_or(self.addresses.len());
        if at == self.addresses.len() {
            self.addresses.push(None);
        }
        self.addresses[at] = Some(text.clone());
        self.positions.entry(text).or_default().push(at as u64);
        self.changes += 1;
        Some(at as u64)
    }

    /// Removes an address. False if there is none.
    pub(crate) fn remove(&mut self, position: u64) -> bool {
        let Ok(at) = usize::try_from(position) else { return false };
        let Some(text) = self.addresses.get_mut(at).and_then(Option::take) else { return false };
        self.free.insert(at);
        if let Some(positions) = self.positions.get_mut(&text) {
            positions.retain(|other| *other != position);
            if positions.is_empty() {
                self.positions.remove(&text);
            }
        }
        self.changes += 1;
        true
    }

    /// The address at a position.
    pub(crate) fn address(&self, at: u64) -> Option<&str> {
        self.addresses.get(usize::try_from(at).ok()?)?.as_deref()
    }

    /// All addresses.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.addresses.iter().flatten().map(|address| &**address)
    }

    /// The position of an address, of several the one that was inserted first.
    pub(crate) fn position(&self, address: &str) -> Option<u64> {
        self.positions.get(address)?.first().copied()
    }

    /// A number that is another one once an address was inserted or removed.
    #[inline]
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }
}

/// The engine's text of an address; `None` if the bytes are none.
pub(crate) fn text(bytes: &[u8; ADDRESS_BYTES]) -> Option<String> {
    let (mark, rest) = bytes.split_first_chunk()?;
    let (shm, queue) = rest.split_first_chunk()?;
    let shm = Address::from_bytes(shm).filter(|_| *mark == MARK)?;
    match queue_address(queue.first_chunk()?, shm.nonce()) {
        Some(queue) => Some(format!("{JOB} {shm} {queue}")),
        None => queue.iter().all(|byte| *byte == 0).then(|| format!("{JOB} {shm}")),
    }
}

/// The bytes of an address; `None` if the text is none.
pub(crate) fn bytes(text: &str) -> Option<[u8; ADDRESS_BYTES]> {
    let both = text.strip_prefix(JOB)?.strip_prefix(' ')?;
    let (shm, queue) = both.split_once(' ').map_or((both, None), |(shm, queue)| (shm, Some(queue)));
    let shm: Address = shm.parse().ok()?;
    let queue = match queue {
        None => [0; QUEUE_BYTES],
        Some(queue) => {
            queue_bytes(&queue.parse().ok().filter(|queue: &verbs::Address| queue.key == shm.nonce())?)
        }
    };
    let mut bytes = [0; ADDRESS_BYTES];
    bytes[..MARK.len()].copy_from_slice(&MARK);
    bytes[MARK.len()..][..Address::BYTES].copy_from_slice(&shm.to_bytes()?);
    bytes[MARK.len() + Address::BYTES..].copy_from_slice(&queue);
    Some(bytes)
}

/// The address of a datagram queue, whose key is known; `None` if there is none.
fn queue_address(bytes: &[u8; QUEUE_BYTES], key: u64) -> Option<verbs::Address> {
    let (gid, rest) = bytes.split_first_chunk()?;
    let (lid, queue) = rest.split_first_chunk()?;
    let queue = queue.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
    let address = verbs::Address { lid: u16::from_le_bytes(*lid), gid: *gid, queue, key };
    (queue != 0).then_some(address)
}

/// The bytes of the address of a datagram queue.
fn queue_bytes(address: &verbs::Address) -> [u8; QUEUE_BYTES] {
    let mut bytes = [0; QUEUE_BYTES];
    bytes[..16].copy_from_slice(&address.gid);
    bytes[16..18].copy_from_slice(&address.lid.to_le_bytes());
    bytes[18..].copy_from_slice(&address.queue.to_le_bytes()[..3]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(pid: u32) -> String {
        format!("{JOB} shm:{pid}:3:ff:feed:7:4026531836:abc")
    }

    fn insert(av: &mut Av, text: &str) -> Option<u64> {
        av.insert(&bytes(text).expect("it is an address"))
    }

    #[test]
    fn a_position_is_that_of_its_address_until_it_is_removed() {
        let mut av = Av::default();
        let (one, two) = (address(1), address(2));
        let inserted = [&one, &two, &one].map(|text| insert(&mut av, text));
        assert_eq!(inserted, [Some(0), Some(1), Some(2)]);
        assert_eq!((av.address(1), av.position(&one)), (Some(&*two), Some(0)));
        let before = av.changes();
        assert!(av.remove(0) && !av.remove(0) && !av.remove(7) && !av.remove(u64::MAX));
        assert_ne!(av.changes(), before);
        assert_eq!((av.address(0), av.position(&one)), (None, Some(2)));
        assert_eq!(insert(&mut av, &address(3)), Some(0), "the position is free");
        assert!(av.remove(2) && av.remove(1) && av.position(&one).is_none());
        assert_eq!([&one, &two, &one].map(|text| insert(&mut av, text)), [Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn bytes_that_are_no_address_are_refused() {
        let mut av = Av::default();
        let good = bytes(&address(1)).expect("it is one");
        let changed = |at: usize| {
            let mut bytes = good;
            bytes[at] ^= 0xff;
            bytes
        };
        for wrong in
            [[0; ADDRESS_BYTES], ANY_ADDRESS, [b'x'; ADDRESS_BYTES], changed(0), changed(3), changed(60)]
        {
            assert_eq!(av.insert(&wrong), None);
        }
        assert_eq!((bytes("10.0.0.1"), bytes("shm:1:2:3:4:5:6:7")), (None, None));
    }

    #[test]
    fn an_address_may_have_a_datagram_queue() {
        let queue = verbs::Address { lid: 0x1234, gid: [7; 16], queue: 0xfe_dcba, key: 0xfeed };
        let whole = format!("{} {queue}", address(1));
        for text_of in [whole.clone(), address(1)] {
            assert_eq!(bytes(&text_of).as_ref().and_then(text), Some(text_of));
        }
        let stranger = verbs::Address { key: 0xbad, ..queue };
        assert_eq!(bytes(&format!("{} {stranger}", address(1))), None, "its key is another one");
        assert_eq!(bytes(&format!("{} 10.0.0.1", address(1))), None);
        // Without a number there is no queue, and nothing else of it.
        let mut without = bytes(&whole).expect("it is an address");
        without[61..].fill(0);
        assert_eq!(text(&without), None);
    }
}
