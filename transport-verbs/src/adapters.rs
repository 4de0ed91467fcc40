//! The adapters of a host, as the system describes them in files: what there is, also where none can be used, or where
//! this build has no transport over them.

use crate::choosing::{self, GidRank, LinkLayer, PortState};
use crate::{Choice, VerbsError, sysfs};
use std::fs;
use std::net::Ipv6Addr;
use std::path::Path;

/// The most ports and identifiers that are looked for.
const MANY: u8 = u8::MAX;

/// All adapters of a host, in the order in which they are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapters {
    /// Each of them.
    pub all: Vec<Adapter>,
}

/// An adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// As `ibv_devices` names it.
    pub name: String,
    /// The product, as its vendor names it (`hca_type`, or `board_id`).
    pub kind: Option<String>,
    /// The version of its firmware.
    pub firmware: Option<String>,
    /// Whether libibverbs lists it, so that programs can use it; `None` where it is not asked.
    pub is_listed: Option<bool>,
    /// Its ports.
    pub ports: Vec<Port>,
}

/// A port of an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Counted from 1.
    pub number: u8,
    /// Whether it can be used.
    pub state: PortState,
    /// What is at its plug, as the system says it: `LinkUp`.
    pub physical_state: Option<String>,
    /// As the system says it: `100 Gb/sec (4X EDR)`.
    pub rate: Option<String>,
    /// What is under it.
    pub link: LinkLayer,
    /// Bytes of the largest packet, as libibverbs says it.
    pub mtu: Option<u32>,
    /// Its number in its subnet; 0 if it has none.
    pub lid: u16,
    /// That of its subnet's manager.
    pub manager_lid: u16,
    /// Its global identifiers, without those that are empty.
    pub gids: Vec<Gid>,
}

/// A global identifier of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gid {
    /// Its position in the port's table.
    pub index: u8,
    /// Its bytes.
    pub bytes: [u8; 16],
    /// How good it is.
    pub rank: GidRank,
    /// The interface of Ethernet to which it belongs.
    pub interface: Option<String>,
}

impl Gid {
    /// Its address: of IPv4 where it is one, otherwise of IPv6.
    pub fn address(&self) -> String {
        let address = Ipv6Addr::from(self.bytes);
        address.to_ipv4_mapped().map_or_else(|| address.to_string(), |address| address.to_string())
    }
}

/// What is used of some adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected<'a> {
    /// The adapter.
    pub adapter: &'a Adapter,
    /// Its port.
    pub port: &'a Port,
    /// The port's global identifier.
    pub gid: &'a Gid,
}

impl Adapters {
    /// Those of this host, in libibverbs' order, with what it says of them, if this build has it.
    pub fn of_this_host() -> Self {
        #[cfg_attr(not(feature = "verbs"), allow(unused_mut, reason = "nothing is added to it then"))]
        let mut adapters = Self::under(Path::new("/"));
        #[cfg(feature = "verbs")]
        {
            let listed = crate::Device::names().unwrap_or_default();
            let position = |name: &str| listed.iter().position(|listed| listed == name);
            for adapter in &mut adapters.all {
                adapter.is_listed = Some(position(&adapter.name).is_some());
                for port in &mut adapter.ports {
                    port.mtu = crate::Device::mtu(&adapter.name, port.number);
                }
            }
            adapters.all.sort_by_key(|adapter| position(&adapter.name).unwrap_or(usize::MAX));
        }
        adapters
    }

    /// Those of a host whose files are below `root`, by name.
    pub fn under(root: &Path) -> Self {
        let entries = fs::read_dir(root.join(sysfs::CLASS)).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.file_name().to_str().map(str::to_owned)).collect();
        names.sort();
        Self { all: names.into_iter().map(|name| adapter(root, name)).collect() }
    }

    /// What is used of them.
    ///
    /// # Errors
    /// When nothing can be.
    pub fn select(&self, choice: &Choice) -> Result<Selected<'_>, VerbsError> {
        let usable = self.all.iter().filter(|adapter| adapter.is_listed != Some(false));
        choosing::device(usable.map(|adapter| (adapter, adapter.name.clone())), choice, |adapter, _| {
            adapter.select(choice)
        })
    }
}

impl Adapter {
    fn select(&self, choice: &Choice) -> Result<Selected<'_>, VerbsError> {
        let count = self.ports.iter().map(|port| port.number).max().unwrap_or(0);
        let known = |number| self.ports.iter().find(|port| port.number == number);
        let (_, port) = choosing::port(&self.name, count, choice, |number| {
            let port = known(number);
            Ok((port.map_or(PortState::Unknown, |port| port.state), port))
        })?;
        let missing = || VerbsError::Port { device: self.name.clone(), why: "a port is gone".to_owned() };
        let port = port.ok_or_else(missing)?;
        let of = |index| port.gids.iter().find(|gid| gid.index == index);
        let last = port.gids.last().map_or(0, |gid| gid.index);
        let (index, _) = choosing::gid(
            &self.name,
            port.number,
            choice,
            // An entry that is not kept is empty.
            |index| of(index).map(|gid| gid.bytes).or((index < last).then_some([0; 16])),
            |index, _| of(index).map_or(GidRank::V1, |gid| gid.rank),
        )?;
        let gid = of(index).ok_or_else(missing)?;
        Ok(Selected { adapter: self, port, gid })
    }
}

fn adapter(root: &Path, name: String) -> Adapter {
    let directory = root.join(sysfs::CLASS).join(&name);
    let file = |file: &str| sysfs::read(directory.join(file));
    let ports = (1..=MANY).filter_map(|number| port(root, &name, number)).collect();
    Adapter {
        kind: file("hca_type").or_else(|| file("board_id")),
        firmware: file("fw_ver"),
        is_listed: None,
        ports,
        name,
    }
}

fn port(root: &Path, device: &str, number: u8) -> Option<Port> {
    let directory = sysfs::port(root, device, number);
    let file = |file: &str| sysfs::read(directory.join(file));
    // `4: ACTIVE`.
    let state = match file("state")?.split(':').next()?.trim() {
        "1" => PortState::Down,
        "2" => PortState::Init,
        "3" => PortState::Armed,
        "4" => PortState::Active,
        _ => PortState::Unknown,
    };
    let link = match file("link_layer").as_deref() {
        Some("Ethernet") => LinkLayer::Ethernet,
        _ => LinkLayer::InfiniBand,
    };
    // `5: LinkUp`.
    let physical_state = file("phys_state")
        .map(|state| state.split_once(':').map_or(state.clone(), |(_, name)| name.trim().to_owned()));
    let number_in = |name: &str| file(name).and_then(|text| parse_lid(&text)).unwrap_or(0);
    let gid = |index: u8| {
        // Most entries of a table are empty, and have no other files.
        let bytes = parse_gid(&file(&format!("gids/{index}"))?).filter(|bytes| *bytes != [0; 16])?;
        let rank = GidRank::of(link, bytes, sysfs::is_v2(root, device, number, index));
        let interface = file(&format!("gid_attrs/ndevs/{index}"));
        Some(Gid { index, bytes, rank, interface })
    };
    Some(Port {
        number,
        state,
        physical_state,
        rate: file("rate"),
        link,
        mtu: None,
        lid: number_in("lid"),
        manager_lid: number_in("sm_lid"),
        gids: (0..MANY).filter_map(gid).collect(),
    })
}

/// `0x5`.
fn parse_lid(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// `fe80:0000:0000:0000:0002:c903:0000:1491`.
fn parse_gid(text: &str) -> Option<[u8; 16]> {
    text.parse::<Ipv6Addr>().ok().map(|address| address.octets())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(number: u8, state: PortState, link: LinkLayer, gids: &[(u8, [u8; 16], bool)]) -> Port {
        let gid = |&(index, bytes, is_v2): &(u8, [u8; 16], bool)| {
            let rank = GidRank::of(link, bytes, is_v2);
            Gid { index, bytes, rank, interface: None }
        };
        Port {
            number,
            state,
            physical_state: None,
            rate: None,
            link,
            mtu: None,
            lid: 0,
            manager_lid: 0,
            gids: gids.iter().map(gid).collect(),
        }
    }

    fn adapter(name: &str, ports: Vec<Port>) -> Adapter {
        Adapter { name: name.to_owned(), kind: None, firmware: None, is_listed: None, ports }
    }

    const LOCAL: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    const ROUTED: [u8; 16] = [0xfd, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
    const IPV4: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7];

    fn two() -> Adapters {
        let infiniband = |number, state| port(number, state, LinkLayer::InfiniBand, &[(0, LOCAL, false)]);
        let gids = [(0, LOCAL, false), (1, LOCAL, true), (2, ROUTED, true), (5, IPV4, true)];
        let roce = port(1, PortState::Active, LinkLayer::Ethernet, &gids);
        let ports = vec![infiniband(1, PortState::Down), infiniband(2, PortState::Active)];
        Adapters { all: vec![adapter("mlx4_0", ports), adapter("mlx5_0", vec![roce])] }
    }

    fn selected(adapters: &Adapters, choice: &Choice) -> Result<(String, u8, u8), String> {
        let selected = adapters.select(choice).map_err(|error| error.to_string())?;
        Ok((selected.adapter.name.clone(), selected.port.number, selected.gid.index))
    }

    #[test]
    fn the_first_active_port_of_the_first_adapter_is_used() {
        assert_eq!(selected(&two(), &Choice::default()), Ok(("mlx4_0".to_owned(), 2, 0)));
        let mut adapters = two();
        adapters.all[0].is_listed = Some(false);
        assert_eq!(selected(&adapters, &Choice::default()), Ok(("mlx5_0".to_owned(), 1, 5)));
    }

    #[test]
    fn the_best_identifier_is_used_unless_another_one_is_named() {
        let mut choice = Choice { device: Some("mlx5_0".to_owned()), ..Choice::default() };
        assert_eq!(selected(&two(), &choice), Ok(("mlx5_0".to_owned(), 1, 5)));
        let mut adapters = two();
        adapters.all[1].ports[0].gids.truncate(3);
        assert_eq!(selected(&adapters, &choice), Ok(("mlx5_0".to_owned(), 1, 2)));
        adapters.all[1].ports[0].gids.truncate(2);
        assert_eq!(selected(&adapters, &choice), Ok(("mlx5_0".to_owned(), 1, 1)));
        choice.gid_index = Some(0);
        assert_eq!(selected(&adapters, &choice), Ok(("mlx5_0".to_owned(), 1, 0)));
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let with = |device: Option<&str>, port, gid_index| {
            let choice = Choice { device: device.map(str::to_owned), port, gid_index };
            selected(&two(), &choice).expect_err("there is no such thing")
        };
        assert_eq!(with(Some("mlx9"), None, None), "there is no device `mlx9`; there are mlx4_0, mlx5_0");
        assert_eq!(with(None, Some(1), Some(9)), "mlx4_0: no port is active: port 1 is down");
        assert_eq!(with(Some("mlx5_0"), Some(3), None), "mlx5_0: there is no port 3; it has 1");
        assert_eq!(with(Some("mlx5_0"), None, Some(9)), "mlx5_0: port 1 has no global identifier 9");
        let none = Adapters { all: Vec::new() };
        let error = none.select(&Choice::default()).expect_err("there is none").to_string();
        assert_eq!(error, "there is no InfiniBand or RoCE device");
    }

    #[test]
    fn an_address_of_ipv4_is_written_as_such() {
        let gid = |bytes| Gid { index: 0, bytes, rank: GidRank::V1, interface: None }.address();
        assert_eq!([IPV4, LOCAL].map(gid), ["10.0.0.7", "fe80::1"]);
    }
}
