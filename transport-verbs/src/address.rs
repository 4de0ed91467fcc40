//! Where a rank can be reached: what it publishes, as text, and what it tells in datagrams.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The first word of the text, with the version of what follows.
const VERSION: &str = "verbs2";

/// The datagram queue of a rank, through which connections to it are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Identifier of its port in an InfiniBand subnet; 0 on Ethernet.
    pub lid: u16,
    /// Global identifier of its port.
    pub gid: [u8; 16],
    /// Number of its datagram queue.
    pub queue: u32,
    /// Known to those only who were told this address: what does not have it in it comes from a stranger. Its lower half is
    /// that by which an adapter tells.
    pub key: u64,
}

/// The text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no address of a rank on InfiniBand or RoCE (of this version)")]
pub struct AddressError(pub String);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gid = u128::from_be_bytes(self.gid);
        write!(f, "{VERSION}:{:x}:{gid:032x}:{:x}:{:x}", self.lid, self.queue, self.key)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        parse(text).ok_or_else(|| AddressError(text.chars().take(80).collect()))
    }
}

fn parse(text: &str) -> Option<Address> {
    let mut parts = text.split(':');
    if parts.next()? != VERSION {
        return None;
    }
    let mut number = |most: u128| {
        let part = parts.next()?;
        // `from_str_radix` would take a sign.
        let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit());
        u128::from_str_radix(part, 16).ok().filter(|number| is_hex && *number <= most)
    };
    let (lid, gid) = (number(u16::MAX.into())?, number(u128::MAX)?);
    let (queue, key) = (number(0xff_ffff)?, number(u64::MAX.into())?);
    let address = Address { lid: lid as u16, gid: gid.to_be_bytes(), queue: queue as u32, key: key as u64 };
    parts.next().is_none().then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let mut gid = [0; 16];
        gid[10..].copy_from_slice(&[0xff, 0xff, 10, 9, 0, 1]);
        for lid in [0, 0xffff] {
            let address = Address { lid, gid, queue: 0xff_ffff, key: 0x8000_0000_0000_0001 };
            assert_eq!(address.to_string().parse(), Ok(address), "{address}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        let good = Address { lid: 1, gid: [3; 16], queue: 17, key: 5 }.to_string();
        assert!(good.parse::<Address>().is_ok());
        let long = format!("{good}:0");
        let replaced = good.replace(":11:", ":1000000:");
        let signed = good.replace(":11:", ":+11:");
        for text in ["", "verbs2", "verbs1:1:2:3:4", "verbs2:1:2:3", &good[1..], &long, &replaced, &signed] {
            assert_eq!(text.parse::<Address>(), Err(AddressError(text.to_owned())));
        }
    }
}
