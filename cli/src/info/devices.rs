//! The adapters of this host: every port, and every global identifier.

use crate::style::{Paint, Style};
use crate::table::{Align, Cell, Table};
use carrousel_transport_verbs::{Adapter, Adapters, LinkLayer, Port, PortState};
use serde::Serialize;

/// An adapter.
#[derive(Serialize)]
pub(super) struct DeviceInfo {
    name: String,
    kind: Option<String>,
    firmware: Option<String>,
    /// Whether libibverbs lists it; `null` in a build without it.
    listed: Option<bool>,
    ports: Vec<PortInfo>,
}

#[derive(Serialize)]
struct PortInfo {
    port: u8,
    state: &'static str,
    physical_state: Option<String>,
    rate: Option<String>,
    link_layer: &'static str,
    mtu: Option<u32>,
    lid: u16,
    sm_lid: u16,
    gids: Vec<GidInfo>,
}

#[derive(Serialize)]
struct GidInfo {
    index: u8,
    /// As the system writes it.
    gid: String,
    kind: String,
    address: String,
    interface: Option<String>,
}

/// What helps where there is no adapter.
pub(super) const WAY_OUT: &str = "Load the adapter's driver: `ibv_devices` has to list it, for which the package \
    ibverbs-providers is needed. Where there is no adapter, Soft-RoCE makes one of a network interface: \
    rdma link add rxe0 type rxe netdev eth0";

/// All of them.
pub(super) fn infos(adapters: &Adapters) -> Vec<DeviceInfo> {
    let device = |adapter: &Adapter| DeviceInfo {
        name: adapter.name.clone(),
        kind: adapter.kind.clone(),
        firmware: adapter.firmware.clone(),
        listed: adapter.is_listed,
        ports: adapter.ports.iter().map(port).collect(),
    };
    adapters.all.iter().map(device).collect()
}

fn port(port: &Port) -> PortInfo {
    let gids = port.gids.iter().map(|gid| GidInfo {
        index: gid.index,
        gid: written(gid.bytes),
        kind: gid.rank.to_string(),
        address: gid.address(),
        interface: gid.interface.clone(),
    });
    PortInfo {
        port: port.number,
        state: match port.state {
            PortState::Down => "down",
            PortState::Init => "init",
            PortState::Armed => "armed",
            PortState::Active => "active",
            PortState::Unknown => "unknown",
        },
        physical_state: port.physical_state.clone(),
        rate: port.rate.clone(),
        link_layer: match port.link {
            LinkLayer::InfiniBand => "InfiniBand",
            LinkLayer::Ethernet => "Ethernet",
        },
        mtu: port.mtu,
        lid: port.lid,
        sm_lid: port.manager_lid,
        gids: gids.collect(),
    }
}

/// `fe80:0000:0000:0000:0002:c903:0000:1491`.
fn written(gid: [u8; 16]) -> String {
    let words = gid.chunks_exact(2).map(|pair| format!("{:02x}{:02x}", pair[0], pair[1]));
    words.collect::<Vec<_>>().join(":")
}

/// The ports, and the global identifiers.
pub(super) fn text(devices: &[DeviceInfo], style: Style) -> String {
    if devices.is_empty() {
        return format!("  none\n{}\n", style.wrapped("  ", WAY_OUT));
    }
    let heads = ["device", "port", "state", "physical", "rate", "link layer", "MTU", "LID", "what it is"];
    let mut ports = Table::headed(&heads.map(|head| (head, Align::Left)));
    let heads = ["device", "port", "GID", "kind", "address", "interface"];
    let mut gids = Table::headed(&heads.map(|head| (head, Align::Left)));
    let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
    for device in devices {
        let mut kind = device.kind.clone().unwrap_or_default();
        if let Some(firmware) = &device.firmware {
            kind += &format!(", firmware {firmware}");
        }
        if device.listed == Some(false) {
            kind += ", not listed by libibverbs: ibverbs-providers has its driver";
        }
        let kind = kind.trim_start_matches(", ").to_owned();
        for port in &device.ports {
            let paint = if port.state == "active" { Paint::Good } else { Paint::Bad };
            let lid = if port.lid == 0 { "-".to_owned() } else { port.lid.to_string() };
            ports.row([
                device.name.as_str().into(),
                port.port.to_string().into(),
                Cell::painted(port.state, paint),
                or_dash(port.physical_state.as_deref()).into(),
                or_dash(port.rate.as_deref()).into(),
                port.link_layer.into(),
                or_dash(port.mtu.map(|mtu| mtu.to_string()).as_deref()).into(),
                lid.into(),
                kind.as_str().into(),
            ]);
            for gid in &port.gids {
                gids.row([
                    device.name.as_str().into(),
                    port.port.to_string().into(),
                    gid.index.to_string().into(),
                    gid.kind.as_str().into(),
                    gid.address.as_str().into(),
                    or_dash(gid.interface.as_deref()).into(),
                ]);
            }
        }
        if device.ports.is_empty() {
            ports.row([device.name.as_str().into(), "-".into(), "no ports".into()]);
        }
    }
    ports.render(2, style) + &gids.render(2, style)
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_identifier_is_written_as_the_system_writes_it() {
        let gid = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 0, 0x14, 0x91];
        assert_eq!(super::written(gid), "fe80:0000:0000:0000:0002:c903:0000:1491");
    }
}
