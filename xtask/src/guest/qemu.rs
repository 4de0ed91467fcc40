//! The command line of QEMU for each guest.

use super::job::GuestJob;
use super::kernel::Kernel;
use super::packages::command;
use std::env;
use std::process::Command;

/// The variable that sets the accelerator of QEMU.
const ACCELERATOR_VARIABLE: &str = "GUEST_ACCEL";
/// Emulation: slow, but there are machines on whose `/dev/kvm` guests hang.
const ACCELERATOR: &str = "tcg,thread=multi";
/// Carries an RDMA packet of 4096 bytes, the largest, with its headers.
const ETHERNET_MTU: u32 = 4500;

/// The directory that guests see, in the run's.
pub(super) const SHARED: &str = "guest";
/// The guests' files, in the run's directory.
pub(super) const INITRAMFS: &str = "initramfs";

/// Where QEMU writes what a kernel says on its console, in the run's directory.
pub(super) fn console(node: usize) -> String {
    format!("n{node}.console")
}

/// The socket between guest 0 and this one, in the run's directory.
pub(super) fn socket(node: usize) -> String {
    format!("lan{node}")
}

/// A QEMU that runs this guest, and ends when this process does. It has to be started in the run's directory,
/// because a socket's path has at most 107 bytes.
pub(super) fn qemu(job: &GuestJob, kernel: &Kernel, node: usize) -> Result<Command, String> {
    let program = super::packages::program("qemu-system-x86_64")?;
    // The kernel ends it, however this process ends: none of our own destructors runs upon SIGKILL.
    let mut qemu = command("setpriv")?;
    qemu.args(["--pdeathsig", "KILL"]).arg(program);
    let accelerator = env::var(ACCELERATOR_VARIABLE).unwrap_or_else(|_| ACCELERATOR.to_owned());
    qemu.args(["-accel", &accelerator, "-cpu", "max"]);
    qemu.args(["-smp", &job.cpus().to_string(), "-m", &job.memory_mib.to_string()]);
    qemu.args(["-nodefaults", "-display", "none", "-no-reboot"]);
    qemu.args(["-serial", &format!("file:{}", console(node))]);
    qemu.arg("-kernel").arg(kernel.image()).args(["-initrd", INITRAMFS]);
    qemu.args(["-append", &kernel_command_line(job, node)]);
    let shared = format!("local,path={SHARED},mount_tag=host,security_model=none,multidevs=remap");
    qemu.args(["-virtfs", &shared]);
    // The guest's output: a serial line would be slow, and would mix it with the kernel's messages.
    qemu.args(["-device", "virtio-serial", "-chardev", "file,id=out,path=/dev/stdout"]);
    qemu.args(["-device", "virtserialport,chardev=out"]);
    qemu.args(network(job.nodes, node));
    Ok(qemu)
}

/// The kernel hands the words that it does not know to `init.sh`, as variables.
fn kernel_command_line(job: &GuestJob, node: usize) -> String {
    format!(
        "console=ttyS0 quiet panic=-1 oops=panic mitigations=off NODE_ID={node} NODE_COUNT={} TIMEOUT={}",
        job.nodes, job.timeout_s
    )
}

/// One Ethernet segment. Guest 0 has a stream socket to each other guest, and with three or more its QEMU is
/// their hub. Not datagram sockets: QEMU reorders what is in their queues, and a reordered response to an RDMA
/// read costs the requester its timeout.
fn network(nodes: usize, node: usize) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut netdev = |options: String| arguments.extend(["-netdev".to_owned(), options]);
    let stream = |peer: usize, server: &str| {
        format!("stream,id=lan{peer},server={server},addr.type=unix,addr.path={}", socket(peer))
    };
    let mut nic = "lan1".to_owned();
    if node > 0 {
        nic = format!("lan{node}");
        netdev(stream(node, "off"));
    } else {
        // A guest that is alone has its Ethernet all the same.
        let peers = 1..nodes.max(2);
        peers.clone().for_each(|peer| netdev(stream(peer, "on")));
        if nodes > 2 {
            peers.for_each(|peer| netdev(format!("hubport,id=port{peer},hubid=0,netdev=lan{peer}")));
            nic = "port0".to_owned();
            netdev("hubport,id=port0,hubid=0".to_owned());
        }
    }
    let device = format!(
        "virtio-net-pci,netdev={nic},mac=52:54:00:09:00:0{},host_mtu={ETHERNET_MTU},romfile=",
        node + 1
    );
    arguments.extend(["-device".to_owned(), device]);
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn netdevs(nodes: usize, node: usize) -> Vec<String> {
        let arguments = network(nodes, node);
        arguments.chunks(2).filter(|pair| pair[0] == "-netdev").map(|pair| pair[1].clone()).collect()
    }

    #[test]
    fn two_guests_share_a_socket() {
        let path = "addr.type=unix,addr.path=lan1";
        assert_eq!(netdevs(2, 0), [format!("stream,id=lan1,server=on,{path}")]);
        assert_eq!(netdevs(2, 1), [format!("stream,id=lan1,server=off,{path}")]);
        assert_eq!(netdevs(1, 0), netdevs(2, 0));
    }

    #[test]
    fn three_guests_meet_in_a_hub() {
        let hub = netdevs(3, 0);
        for device in [
            "hubport,id=port1,hubid=0,netdev=lan1",
            "hubport,id=port2,hubid=0,netdev=lan2",
            "hubport,id=port0,hubid=0",
        ] {
            assert!(hub.contains(&device.to_owned()), "{hub:?}");
        }
        assert_eq!(netdevs(3, 2), ["stream,id=lan2,server=off,addr.type=unix,addr.path=lan2"]);
    }

    #[test]
    fn every_guest_has_an_address_of_its_own() {
        let card = |node| network(3, node).pop().unwrap();
        assert!(card(0).starts_with("virtio-net-pci,netdev=port0,mac=52:54:00:09:00:01,host_mtu=4500"));
        assert!(card(2).starts_with("virtio-net-pci,netdev=lan2,mac=52:54:00:09:00:03,"));
    }
}
