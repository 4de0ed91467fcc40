//! InfiniBand proper: peers of one subnet are reached by LID, those of another one, and those without one, by global
//! identifier, as is everybody over Ethernet.
#![cfg(feature = "verbs")]

mod fake;

use carrousel_transport::{RankId, Transport};
use carrousel_transport_verbs::{Choice, Device, Settings, Verbs, VerbsError};
use fake::{End, FakeAdapter, FakePort, Layer, Way, Ways, drive, meet};
use std::time::Duration;

/// That of a subnet that nobody has named.
const PREFIX: u64 = 0xfe80 << 48;
const OTHER_PREFIX: u64 = 0xfec0_0000_0000_0001;

/// Two ranks exchange messages.
fn exchange(adapters: [FakeAdapter; 2], settings: &Settings) {
    let [one, other] = adapters;
    let mut ends = [End::new(one, 0, 2, settings.clone()), End::new(other, 1, 2, settings.clone())];
    let [one, other] = &mut ends;
    meet(one, other, 0, 1);
    for size in [8, 4 << 10] {
        let want = ends.each_ref().map(|end| end.heard.packets + 100);
        for _ in 0..100 {
            ends[0].send(1, &vec![1; size]);
            ends[1].send(0, &vec![1; size]);
        }
        let [one, other] = &mut ends;
        drive(&mut [one, other], |ends| (0..2).all(|end| ends[end].heard.packets == want[end]));
    }
    assert!(ends.iter().all(|end| end.heard.lost.is_empty()));
}

/// To the first port of a peer, by its first port and with its first identifier.
fn way(lid: u16, gid: Option<[u8; 16]>) -> Way {
    Way { port: 1, lid, gid, source: 0, service_level: 0 }
}

/// Of connections and datagrams alike.
fn both(way: Way) -> Ways {
    Ways { connection: Some(way), datagram: Some(way) }
}

#[test]
fn ranks_of_one_subnet_meet_by_lid() {
    let one = FakeAdapter(0).with_ports(&[FakePort::infiniband(0x11, PREFIX)]);
    let other = FakeAdapter(1).with_ports(&[FakePort::infiniband(0xbfff, PREFIX)]);
    exchange([one, other], &Settings::default());
    assert_eq!([one.ways(), other.ways()], [both(way(0xbfff, None)), both(way(0x11, None))]);
}

#[test]
fn ranks_of_two_subnets_meet_by_global_identifier() {
    // Each subnet counts for itself: by LID, each would find itself.
    let one = FakeAdapter(2).with_ports(&[FakePort::infiniband(3, PREFIX)]);
    let other = FakeAdapter(3).with_ports(&[FakePort::infiniband(3, OTHER_PREFIX)]);
    exchange([one, other], &Settings::default());
    assert_eq!([one.ways(), other.ways()], [both(way(3, other.gid(1, 0))), both(way(3, one.gid(1, 0)))]);
}

#[test]
fn who_has_no_lid_meets_others_by_global_identifier() {
    for lids in [[0, 0], [0, 4], [4, 0]] {
        let one = FakeAdapter(4).with_ports(&[FakePort::infiniband(lids[0], PREFIX)]);
        let other = FakeAdapter(5).with_ports(&[FakePort::infiniband(lids[1], PREFIX)]);
        exchange([one, other], &Settings::default());
        // A rank that has one, too: both ends of a connection have global headers, or none has.
        let ways = [both(way(lids[1], other.gid(1, 0))), both(way(lids[0], one.gid(1, 0)))];
        assert_eq!([one.ways(), other.ways()], ways, "{lids:?}");
    }
}

#[test]
fn over_ethernet_ranks_meet_by_global_identifier_whatever_else_ports_say() {
    for lid in [0, 1] {
        let port = FakePort { layer: Layer::Ethernet, lid, prefix: PREFIX, is_down: false };
        let [one, other] = [FakeAdapter(6), FakeAdapter(7)].map(|adapter| adapter.with_ports(&[port]));
        exchange([one, other], &Settings::default());
        let ways = [both(way(lid, other.gid(1, 0))), both(way(lid, one.gid(1, 0)))];
        assert_eq!([one.ways(), other.ways()], ways);
    }
}

#[test]
fn service_levels_are_those_of_the_settings() {
    let mut settings = Settings::default();
    (settings.service_level, settings.control_service_level) = (3, 15);
    for prefix in [PREFIX, OTHER_PREFIX] {
        let one = FakeAdapter(8).with_ports(&[FakePort::infiniband(1, PREFIX)]);
        let other = FakeAdapter(9).with_ports(&[FakePort::infiniband(2, prefix)]);
        exchange([one, other], &settings);
        for adapter in [one, other] {
            // A connection has two queue pairs, where these are two levels.
            assert_eq!(adapter.levels(), 1 << 3 | 1 << 15);
            assert_eq!(adapter.ways().datagram.map(|way| way.service_level), Some(15));
        }
    }
}

#[test]
fn nobody_is_reached_by_an_address_of_nobody() {
    for prefix in [PREFIX, OTHER_PREFIX] {
        let one = FakeAdapter(10).with_ports(&[FakePort::infiniband(1, PREFIX)]);
        let other = FakeAdapter(11).with_ports(&[FakePort::infiniband(2, prefix)]);
        let mut settings = Settings::default();
        settings.patience = Duration::from_millis(100);
        let mut one = End::new(one, 0, 2, settings.clone());
        let mut other = End::new(other, 1, 2, settings);
        let mut address = other.verbs.address();
        address.lid += 1;
        address.gid[15] += 1;
        one.verbs.out().connect(RankId(1), &address);
        one.send(1, &[1; 8]);
        drive(&mut [&mut one, &mut other], |ends| !ends[0].heard.lost.is_empty());
        assert_eq!((one.heard.lost, other.heard.packets), (vec![RankId(1)], 0));
    }
}

fn choice(adapter: FakeAdapter, port: Option<u8>, gid_index: Option<u8>) -> Settings {
    let mut settings = Settings::default();
    settings.choice = Choice { device: Some(adapter.name()), port, gid_index };
    settings.keep = false;
    settings
}

/// What is chosen, or why nothing can be.
fn describe(settings: &Settings) -> Result<String, String> {
    let told = Verbs::describe(settings).map_err(|error| error.to_string())?;
    Ok(told.split(';').next().unwrap_or_default().to_owned())
}

#[test]
fn device_port_and_identifier_can_be_chosen() {
    let port = FakePort::infiniband(5, PREFIX);
    let adapter =
        FakeAdapter(12).with_ports(&[FakePort { is_down: true, ..port }, FakePort { lid: 6, ..port }]);
    let told = |port, gid_index| describe(&choice(adapter, port, gid_index));
    let chosen = |text: &str| Ok(format!("fake12, {text}"));
    let refused = |text: &str| Err(format!("fake12: {text}"));
    // The first port that is up.
    assert_eq!(told(None, None), chosen("port 2 (InfiniBand, global identifier 0)"));
    assert_eq!(told(Some(2), Some(1)), chosen("port 2 (InfiniBand, global identifier 1)"));
    assert_eq!(told(None, Some(2)), refused("port 2 has no global identifier 2"));
    assert_eq!(told(Some(1), None), refused("no port is active: port 1 is down"));
    assert_eq!(told(Some(3), None), refused("there is no port 3; it has 2"));
    let ethernet = FakeAdapter(13).with_ports(&[FakePort { layer: Layer::Ethernet, ..port }]);
    let told = describe(&choice(ethernet, None, None));
    assert_eq!(told, Ok("fake13, port 1 (RoCE, global identifier 0)".to_owned()));
    let nobody = Device::open(&Choice { device: Some("mlx5_0".to_owned()), ..Choice::default() });
    assert!(matches!(nobody, Err(VerbsError::NoSuchDevice { name, .. }) if name == "mlx5_0"));
}

#[test]
fn ranks_meet_by_the_ports_and_identifiers_that_were_chosen() {
    let [one, other] = [(FakeAdapter(14), PREFIX), (FakeAdapter(15), OTHER_PREFIX)]
        .map(|(adapter, prefix)| adapter.with_ports(&[1, 2].map(|lid| FakePort::infiniband(lid, prefix))));
    exchange([one, other], &choice(one, Some(2), Some(1)));
    let way = |gid| Way { port: 2, lid: 2, gid, source: 1, service_level: 0 };
    assert_eq!([one.ways(), other.ways()], [both(way(other.gid(2, 1))), both(way(one.gid(2, 1)))]);
}
