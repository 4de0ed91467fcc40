//! Memory that peers read and write (fi_mr(3)): they name it by a key.

use crate::fi::Errno;
use std::collections::HashMap;

/// A registered region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mr {
    /// Where it begins.
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// Where it begins to those who name a place in it: at its address, or at an offset of the host's choice.
    pub(crate) base: u64,
    /// What peers may do: `FI_REMOTE_READ`, `FI_REMOTE_WRITE`.
    pub(crate) access: u64,
    /// The counter of what peers do here.
    pub(crate) cntr: Option<usize>,
}

impl Mr {
    /// The address of a range in it, for an access of this kind.
    pub(crate) fn find(&self, address: u64, len: u64, access: u64) -> Result<usize, Errno> {
        if self.access & access != access {
            return Err(Errno::BAD_MEMORY);
        }
        let offset = address.checked_sub(self.base).ok_or(Errno::BAD_MEMORY)?;
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.len as u64);
        if fits { Ok(self.start + offset as usize) } else { Err(Errno::BAD_MEMORY) }
    }
}

/// The regions of a domain, by key.
#[derive(Debug, Default)]
pub(crate) struct Mrs {
    regions: HashMap<u64, Mr>,
    next: u64,
}

impl Mrs {
    /// Adds a region. Its key is `wanted`, or else one that no other has.
    pub(crate) fn insert(&mut self, mr: Mr, wanted: Option<u64>) -> Result<u64, Errno> {
        let key = match wanted {
            Some(key) if self.regions.contains_key(&key) => return Err(Errno::NO_KEY),
            Some(key) => key,
            None => {
                while self.regions.contains_key(&self.next) {
                    self.next += 1;
                }
                let key = self.next;
                self.next += 1;
                key
            }
        };
        self.regions.insert(key, mr);
        Ok(key)
    }

    pub(crate) fn remove(&mut self, key: u64) -> Option<Mr> {
        self.regions.remove(&key)
    }

    pub(crate) fn get_mut(&mut self, key: u64) -> Option<&mut Mr> {
        self.regions.get_mut(&key)
    }

    /// The address of a range that a peer names, and the counter of its region.
    pub(crate) fn find(
        &self,
        key: u64,
        address: u64,
        len: u64,
        access: u64,
    ) -> Result<(usize, Option<usize>), Errno> {
        let mr = self.regions.get(&key).ok_or(Errno::NO_KEY)?;
        Ok((mr.find(address, len, access)?, mr.cntr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fi::{REMOTE_READ, REMOTE_WRITE};

    #[test]
    fn only_what_is_registered_for_an_access_is_found() {
        let mut mrs = Mrs::default();
        let mr = Mr { start: 0x1000, len: 16, base: 0, access: REMOTE_READ, cntr: None };
        assert_eq!(mrs.insert(mr, Some(7)), Ok(7));
        assert_eq!(mrs.insert(mr, Some(7)), Err(Errno::NO_KEY));
        assert_eq!(mrs.find(7, 4, 12, REMOTE_READ), Ok((0x1004, None)));
        for (key, address, len, access, why) in [
            (8, 0, 1, REMOTE_READ, Errno::NO_KEY),
            (7, 4, 13, REMOTE_READ, Errno::BAD_MEMORY),
            (7, u64::MAX, 2, REMOTE_READ, Errno::BAD_MEMORY),
            (7, 2, u64::MAX, REMOTE_READ, Errno::BAD_MEMORY),
            (7, 0, 1, REMOTE_WRITE, Errno::BAD_MEMORY),
        ] {
            assert_eq!(mrs.find(key, address, len, access), Err(why), "{key} {address} {len}");
        }
        assert_eq!((mrs.insert(mr, None), mrs.remove(7).is_some()), (Ok(0), true));
        assert!(mrs.find(7, 0, 1, REMOTE_READ).is_err());
    }
}
