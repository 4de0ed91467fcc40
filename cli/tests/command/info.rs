//! `carrousel info`: what a host has, and what is chosen of it.

use crate::common::{Place, Ran};
use crate::schema::Schema;
use serde_json::{Value, json};
use std::fs;

/// A host whose files are in this place, and the command that looks at it.
struct FakeHost(Place);

impl FakeHost {
    fn new() -> Self {
        Self(Place::new())
    }

    /// Has this file.
    fn with(self, path: &str, text: &str) -> Self {
        let path = self.0.path("root").join(path);
        fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it can be made");
        fs::write(path, format!("{text}\n")).expect("it can be written");
        self
    }

    /// Has this port of an adapter.
    fn with_port(self, port: &str, [state, physical, rate, layer, lid]: [&str; 5]) -> Self {
        let file = |name: &str| format!("sys/class/infiniband/{port}/{name}");
        self.with(&file("state"), state)
            .with(&file("phys_state"), physical)
            .with(&file("rate"), rate)
            .with(&file("link_layer"), layer)
            .with(&file("lid"), lid)
            .with(&file("sm_lid"), "0x1")
    }

    /// Has this global identifier.
    fn with_gid(self, port: &str, index: u8, gid: &str, kind: &str) -> Self {
        let file = |name: &str| format!("sys/class/infiniband/{port}/{name}/{index}");
        self.with(&file("gids"), gid).with(&file("gid_attrs/types"), kind)
    }

    /// What is told of it, with these variables.
    fn told(&self, words: &str, variables: &[(&str, &str)]) -> Ran {
        let mut command = self.0.command();
        command.arg("info").args(words.split_whitespace()).arg("--root").arg(self.0.path("root"));
        Ran::from(command.envs(variables.iter().copied()).output().expect("it runs")).status(0)
    }

    fn json(&self, variables: &[(&str, &str)]) -> Value {
        serde_json::from_str(&self.told("--format json", variables).out).expect("it is JSON")
    }

    /// What was chosen for this.
    fn chosen(&self, what: &str, variables: &[(&str, &str)]) -> [String; 3] {
        let info = self.json(variables);
        let all = info["chosen"].as_array().expect("they are listed");
        let one = all.iter().find(|chosen| chosen["what"] == what).unwrap_or(&Value::Null);
        [&one["value"], &one["why"], &one["options"][0]]
            .map(|text| text.as_str().unwrap_or_default().to_owned())
    }
}

const LOCAL: &str = "fe80:0000:0000:0000:0002:c903:0000:1491";
const IPV4: &str = "0000:0000:0000:0000:0000:ffff:0a00:0007";

/// One adapter of InfiniBand with a port that is active and one that is down, one of RoCE with four identifiers.
fn two_devices() -> FakeHost {
    let roce = "mlx5_1/ports/1";
    FakeHost::new()
        .with("proc/sys/kernel/hostname", "n0")
        .with("proc/sys/kernel/osrelease", "6.1.0")
        .with("proc/sys/kernel/yama/ptrace_scope", "2")
        .with("proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 524288 kB")
        .with(
            "proc/self/limits",
            "Max locked memory         65536                unlimited            bytes\n\
             Max open files            1024                 1024                 files",
        )
        .with("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "8")
        .with("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3")
        .with("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
        .with("sys/devices/system/node/node1/cpulist", "4-7")
        .with("sys/devices/system/node/node0/cpulist", "0-3")
        .with("sys/class/infiniband/mlx5_0/hca_type", "MT4123")
        .with("sys/class/infiniband/mlx5_0/fw_ver", "20.31.1014")
        .with_port("mlx5_0/ports/1", ["1: DOWN", "3: Disabled", "10 Gb/sec (4X SDR)", "InfiniBand", "0x0"])
        .with_port("mlx5_0/ports/2", ["4: ACTIVE", "5: LinkUp", "100 Gb/sec (4X EDR)", "InfiniBand", "0x5"])
        .with_gid("mlx5_0/ports/2", 0, LOCAL, "IB/RoCE v1")
        .with_port(roce, ["4: ACTIVE", "5: LinkUp", "25 Gb/sec (1X EDR)", "Ethernet", "0x0"])
        .with_gid(roce, 0, LOCAL, "IB/RoCE v1")
        .with_gid(roce, 1, LOCAL, "RoCE v2")
        .with_gid(roce, 2, IPV4, "IB/RoCE v1")
        .with_gid(roce, 3, IPV4, "RoCE v2")
        .with_gid(roce, 4, "0000:0000:0000:0000:0000:0000:0000:0000", "")
        .with(&format!("sys/class/infiniband/{roce}/gid_attrs/ndevs/3"), "eth0")
}

#[test]
fn every_port_and_every_identifier_is_told() {
    let ran = two_devices().told("", &[]);
    for line in [
        "  mlx5_0  1     down    Disabled  10 Gb/sec (4X SDR)   InfiniBand  -    -    MT4123, firmware 20.31.1014\n",
        "  mlx5_0  2     active  LinkUp    100 Gb/sec (4X EDR)  InfiniBand  -    5    MT4123, firmware 20.31.1014\n",
        "  mlx5_1  1     active  LinkUp    25 Gb/sec (1X EDR)   Ethernet    -    -\n",
        "  mlx5_0  2     0    InfiniBand           fe80::2:c903:0:1491  -\n",
        "  mlx5_1  1     0    RoCE v1              fe80::2:c903:0:1491  -\n",
        "  mlx5_1  1     1    RoCE v2, link-local  fe80::2:c903:0:1491  -\n",
        "  mlx5_1  1     2    RoCE v1              10.0.0.7             -\n",
        "  mlx5_1  1     3    RoCE v2, IPv4        10.0.0.7             eth0\n",
    ] {
        assert!(ran.out.contains(line), "{line:?} is not in\n{}", ran.out);
    }
    let info = two_devices().json(&[]);
    let port = &info["devices"][0]["ports"][1];
    let expected = json!({
        "port": 2, "state": "active", "physical_state": "LinkUp", "rate": "100 Gb/sec (4X EDR)",
        "link_layer": "InfiniBand", "mtu": null, "lid": 5, "sm_lid": 1,
        "gids": [{
            "index": 0, "gid": LOCAL, "kind": "InfiniBand", "address": "fe80::2:c903:0:1491", "interface": null
        }]
    });
    assert_eq!(*port, expected);
    assert_eq!(
        info["devices"][1]["ports"][0]["gids"].as_array().map(Vec::len),
        Some(4),
        "an empty one is none"
    );
}

#[test]
fn what_is_chosen_is_told_with_the_reason_and_the_option() {
    let host = two_devices();
    let chosen = |what, variables: &[(&str, &str)]| host.chosen(what, variables);
    let text = |texts: [&str; 3]| texts.map(str::to_owned);
    let first = "the first of 2 that has an active port, in libibverbs' order";
    assert_eq!(chosen("device", &[]), text(["mlx5_0", first, "verbs_device"]));
    assert_eq!(chosen("port", &[]), text(["2", "the first of 2 that is active", "verbs_port"]));
    assert_eq!(chosen("GID", &[]), text(["0, fe80::2:c903:0:1491", "the only one", "verbs_gid"]));
    let roce = ("CARROUSEL_VERBS_DEVICE", "mlx5_1");
    assert_eq!(
        chosen("device", &[roce])[..2],
        text(["mlx5_1", "it is named: CARROUSEL_VERBS_DEVICE", ""])[..2]
    );
    let best = "the first of the best kind of 4: RoCE v2, IPv4";
    assert_eq!(chosen("GID", &[roce]), text(["3, 10.0.0.7", best, "verbs_gid"]));
    let named = chosen("GID", &[roce, ("CARROUSEL_VERBS_GID", "1")]);
    assert_eq!(named[..2], text(["1, fe80::2:c903:0:1491", "it is named: CARROUSEL_VERBS_GID", ""])[..2]);
}

#[test]
fn what_cannot_be_chosen_is_told_with_the_reason() {
    let host = two_devices();
    let between = |variables: &[(&str, &str)]| {
        assert_eq!(host.chosen("GID", variables), [""; 3], "nothing is chosen");
        let [value, why, option] = host.chosen("between nodes", variables);
        assert_eq!([value, option], ["nothing", "verbs"]);
        why
    };
    let cannot = "ranks of different nodes cannot talk: ";
    let down = between(&[("CARROUSEL_VERBS_DEVICE", "mlx5_0"), ("CARROUSEL_VERBS_PORT", "1")]);
    assert_eq!(down, format!("{cannot}mlx5_0: no port is active: port 1 is down"));
    let named = between(&[("CARROUSEL_VERBS_DEVICE", "mlx9")]);
    assert_eq!(named, format!("{cannot}there is no device `mlx9`; there are mlx5_0, mlx5_1"));
    assert!(between(&[("CARROUSEL_VERBS", "off")]).starts_with("verbs is off"));
}

#[test]
fn limits_pages_and_processors_are_told() {
    let host = two_devices();
    let ran = host.told("", &[]).says("host n0: ").says(", 1.0 GiB of memory, 512.0 MiB available; linux ");
    ran.says("locked memory (ulimit -l)        64.0 KiB, can be raised to unlimited\n")
        .says("descriptors (ulimit -n)          1024\n")
        .says("2.0 MiB: 3 of 8 free\n")
        .says("transparent huge pages           madvise\n")
        .says("NUMA nodes and their processors  0: 0-3; 1: 4-7\n")
        .says("2: no process may copy from another one\n");
    let info = host.json(&[]);
    assert_eq!(info["host"]["limits"]["locked_memory_bytes"], json!({"soft": 65536, "hard": null}));
    assert_eq!(info["host"]["huge_pages"], json!([{"page_bytes": 2 << 20, "pages": 8, "free": 3}]));
    assert_eq!(info["host"]["numa_nodes"][1], json!({"node": 1, "processors": "4-7"}));
    assert_eq!(info["host"]["ptrace_scope"], 2);
    let within = |variables: &[(&str, &str)]| host.chosen("within a node", variables)[1].clone();
    assert_eq!(within(&[]), "large messages are copied in pieces (kernel.yama.ptrace_scope is 2)");
    let off = within(&[("CARROUSEL_SHM_DIRECT", "off")]);
    assert_eq!(off, "large messages are copied in pieces (shm_direct is off)");
}

#[test]
fn a_host_without_adapters_is_told_the_way_out() {
    let host = FakeHost::new().with("proc/sys/kernel/hostname", "n0");
    let told = host.told("", &[]).says("devices\n  none\n").says("no Yama").out;
    // It is wrapped.
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    for way in ["rdma link add rxe0 type rxe netdev eth0", "ibverbs-providers"] {
        assert!(told.contains(way), "{told}");
    }
    assert!(told.contains("cannot talk: there is no InfiniBand or RoCE device"), "{told}");
    assert_eq!(host.json(&[])["devices"], json!([]));
}

#[test]
fn every_report_is_as_its_schema_says() {
    let schema = Schema::new("info");
    for host in [two_devices(), FakeHost::new()] {
        schema.takes(&host.json(&[]));
        schema.takes(&host.json(&[("CARROUSEL_VERBS_DEVICE", "mlx5_1")]));
    }
    let own = Place::new().run("info --format json").status(0).out;
    schema.takes(&serde_json::from_str(&own).expect("it is JSON"));
}
