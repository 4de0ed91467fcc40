//! The tests in guests: a table. A new test is a new entry of [`CASES`].

use super::case::{CASE, GuestCase};
use super::packages;
use super::provider::{MPICH_OVERLAPS, OPEN_MPI_OVERLAPS};
use super::run::Host;
use crate::built::{Built, COMMAND, Kind, example};
use crate::steps::{Steps, left_out};
use std::cell::OnceCell;

/// The suite that every transport has to pass, over the one between processes of a node.
const SHM_CONFORMANCE: Built =
    Built { package: "carrousel-transport-shm", kind: Kind::Test, name: "conformance" };

/// The same over InfiniBand's verbs.
const VERBS_CONFORMANCE: Built =
    Built { package: "carrousel-transport-verbs", kind: Kind::Test, name: "conformance" };

/// Uses of the command, and the programs of its jobs.
const COMMAND_TESTS: Built = Built { package: "carrousel-cli", kind: Kind::Test, name: "command" };

/// Uses of the provider by a host.
const PROVIDER_TESTS: Built = Built { package: "carrousel-ofi", kind: Kind::Test, name: "provider" };

/// Short ones first.
const CASES: &[GuestCase] = &[
    GuestCase {
        name: "a guest has an RDMA device, and writes to itself",
        programs: &["ibv_devinfo", "ib_write_lat"],
        command: r#"
            ibv_devinfo -d $RDMA_DEV
            ib_write_lat -F -d $RDMA_DEV -x $RDMA_GID_INDEX -n 100 >/dev/null & server=$!
            listens 18515
            ib_write_lat -F -d $RDMA_DEV -x $RDMA_GID_INDEX -n 100 localhost
            wait $server
            ping -c 1 $PEER_ADDR"#,
        says: &["PORT_ACTIVE (4)", "active_mtu:\t\t4096 (5)", "t_typical[usec]", "1 packets received"],
        ..CASE
    },
    GuestCase {
        name: "a command that hangs is killed, and shows where it hangs",
        statuses: &[124],
        timeout_s: 1,
        command: "mkfifo never; read line <never",
        says: &["thread sh of process", "fifo_open", "n0: killed after 1 s"],
        ..CASE
    },
    GuestCase {
        name: "a kernel's complaint fails a command that has succeeded",
        statuses: &[125],
        // To the kernel's log, as the kernel itself does.
        command: "echo '<4>WARNING: CPU: 0 PID: 1 at test' >/dev/kmsg",
        says: &["n0: its kernel complains", "WARNING: CPU: 0"],
        ..CASE
    },
    GuestCase {
        name: "shared memory in a guest keeps the contract of transports",
        built: &[SHM_CONFORMANCE],
        // Not those that play random plans, which are too long for an emulated processor.
        command: "conformance edge_cases:: hostile::",
        says: &["test hostile::frames_of_an_honest_peer_are_handled ... ok"],
        ..CASE
    },
    GuestCase {
        name: "two guests exchange messages",
        statuses: &[0, 0],
        programs: &["ibv_rc_pingpong"],
        command: r#"
            if [ $NODE_ID = 0 ]; then
                pingpong -c & server=$!
                listens 18515
                tell ready
                wait $server
            else
                hear ready
                pingpong -c n0
            fi"#,
        says: &["[n0] 1000 iters", "[n1] 1000 iters"],
        ..CASE
    },
    GuestCase {
        name: "messages arrive although packets are lost and reordered",
        statuses: &[0, 0],
        timeout_s: 240,
        programs: &["ibv_rc_pingpong"],
        command: r#"
            # 2 % are late. Of many more, go-back-N makes retries that take a minute.
            tc qdisc add dev eth0 root netem limit 10000 loss 1% delay 2ms reorder 98%
            large="-c -m 4096 -s 65536 -n 40"
            if [ $NODE_ID = 0 ]; then
                pingpong $large & server=$!
                listens 18515
                tell ready
                wait $server
            else
                hear ready
                pingpong $large n0
            fi
            cd /sys/class/infiniband/$RDMA_DEV/ports/1/hw_counters
            for counter in out_of_seq_request rcvd_seq_err duplicate_request; do
                echo $counter $(cat $counter)
            done
            tc -s qdisc show dev eth0
            tc -s qdisc show dev eth0 | grep -q 'dropped [1-9]'
            [ $(cat out_of_seq_request) -gt 0 ]"#,
        says: &["[n0] 40 iters", "[n1] 40 iters"],
        ..CASE
    },
    GuestCase {
        name: "a rank that has lost its peer goes on",
        statuses: &[0, 125],
        programs: &["ibv_rc_pingpong"],
        command: r#"
            if [ $NODE_ID = 1 ]; then
                pingpong -n 1000000 >/dev/null & listens 18515
                tell ready
                hear connected
                cut_power
            fi
            hear ready
            pingpong -n 1000000 n1 >/dev/null & client=$!
            sent=/sys/class/infiniband/$RDMA_DEV/ports/1/hw_counters/sent_pkts
            until [ $(cat $sent) -gt 100 ]; do usleep 10000; done
            tell connected
            while ping -c 1 -W 1 n1 >/dev/null; do usleep 10000; done
            # Its peer's silence is no error to a rank that only waits for a message.
            kill -0 $client
            kill $client
            wait $client || true
            pingpong -n 100 & server=$!
            listens 18515
            pingpong -n 100 localhost >/dev/null
            wait $server"#,
        says: &["n1: the guest has died", "[n0] 100 iters"],
        ..CASE
    },
    GuestCase {
        name: "a job's ranks are in two guests",
        statuses: &[0, 0],
        built: &[COMMAND, example("pi")],
        ssh: true,
        command: r#"
            [ $NODE_ID = 0 ] || exit 0
            carrousel run -n 2 --prefix --hosts n0,n1 -- hostname
            carrousel run -n 2 --hosts n1:2 -- pi"#,
        says: &["[n0] [0] n0", "[n0] [1] n1", "[n0] pi is 3.141592653590 on 2 ranks"],
        ..CASE
    },
    GuestCase {
        name: "ranks of two guests that disagree, or leave a message, are told both lines",
        statuses: &[0, 0],
        // Four jobs one after the other.
        timeout_s: 180,
        built: &[COMMAND, COMMAND_TESTS],
        ssh: true,
        command: r#"
            [ $NODE_ID = 0 ] || exit 0
            export CARROUSEL_CHECK_USAGE=error
            plays() {
                export USAGE_TEST_ROLE=$1
                status=0
                carrousel run $2 -x USAGE_TEST_ROLE -- command --exact usage::rank --nocapture || status=$?
                echo $1: status $status
            }
            for role in agree halves; do plays $role "-n 4 --hosts n0:2,n1:2"; done
            for role in kinds unreceived; do plays $role "-n 2 --hosts n0,n1"; done"#,
        says: &[
            "agree: status 0",
            "rank 0 calls `broadcast` of 4 bytes from root 0 at cli/tests/command/usage.rs:",
            "rank 1 calls `reduce` of 4 bytes in elements of 4 to root 0 at cli/tests/command/usage.rs:",
            "kinds: status 3",
            "of communicator 1: rank 0 calls `gather` of 1 byte to root 0 at",
            "rank 2 calls `gather` of 2 bytes to root 0 at",
            "halves: status 3",
            "rank 1 has not received a message of 40 bytes with tag 5, which rank 0 has sent at",
            "unreceived: status 3",
        ],
        ..CASE
    },
    GuestCase {
        name: "verbs keep the contract of transports, and kept registrations are never stale",
        built: &[VERBS_CONFORMANCE],
        timeout_s: 240,
        // With a test's output: it tells how long each plan takes.
        command: "conformance --ignored --nocapture --test-threads 1 --skip between_nodes --skip records",
        says: &["test result: ok. 19 passed"],
        ..CASE
    },
    GuestCase {
        name: "verbs keep the contract between guests",
        statuses: &[0, 0],
        built: &[VERBS_CONFORMANCE],
        timeout_s: 240,
        command: "meet plans::every_plan",
        says: &["[n0] test result: ok. 1 passed", "[n1] test result: ok. 1 passed"],
        ..CASE
    },
    GuestCase {
        name: "verbs keep the contract although packets are lost and reordered",
        statuses: &[0, 0],
        built: &[VERBS_CONFORMANCE],
        timeout_s: 240,
        command: r#"
            tc qdisc add dev eth0 root netem limit 10000 loss 1% delay 2ms reorder 98%
            meet plans::between_nodes_of_a_bad_network
            tc -s qdisc show dev eth0 | grep -q 'dropped [1-9]'
            [ $(cat /sys/class/infiniband/$RDMA_DEV/ports/1/hw_counters/out_of_seq_request) -gt 0 ]"#,
        says: &["[n0] test result: ok. 1 passed", "[n1] test result: ok. 1 passed"],
        ..CASE
    },
    GuestCase {
        name: "a guest that is switched off is lost to the ranks of others",
        statuses: &[0, 125],
        built: &[VERBS_CONFORMANCE],
        timeout_s: 240,
        command: "meet plans::between_nodes_one_is_switched_off",
        says: &["[n0] test result: ok. 1 passed", "n1: the guest has died"],
        ..CASE
    },
    GuestCase {
        name: "a rank that only waits is told that its own port is down, its peer that it is silent",
        statuses: &[0, 0],
        built: &[VERBS_CONFORMANCE],
        timeout_s: 120,
        command: r#"
            meet ends::between_nodes_who_waits_is_told_that_its_port_is_down & test=$!
            if [ $NODE_ID = 0 ]; then
                hear port/waits.0
                hear port/waits.1
                ip link set eth0 down
            fi
            wait $test"#,
        says: &[
            "is lost: the device of this node has failed: port 1 of rxe0 is down",
            "is lost: it does not acknowledge what is sent to it",
        ],
        ..CASE
    },
    GuestCase {
        name: "what registering costs is measured, and from how many uses on it pays is written down",
        built: &[COMMAND],
        timeout_s: 120,
        command: r#"
            carrousel bench registration --repetitions 5
            carrousel bench reuse --repetitions 5 --write /tmp/table
            cat /tmp/table
            carrousel bench reuse --repetitions 5 --format json | grep -q '"adapter":"'$RDMA_DEV'"'
            # Which adapter is the user's to say.
            ! CARROUSEL_VERBS_DEVICE=other carrousel bench registration"#,
        says: &["rxe0: us to register memory", "16MiB", "# KiB from   ", "there is no device `other`"],
        ..CASE
    },
    GuestCase {
        name: "jobs over shared memory and verbs at once, and their traces are what the model allows",
        statuses: &[0, 0],
        built: &[COMMAND, example("pi"), example("heat"), example("workers")],
        ssh: true,
        timeout_s: 240,
        command: r#"
            [ $NODE_ID = 0 ] || exit 0
            carrousel info | grep verbs
            for job in pi heat workers; do
                carrousel run -n 4 --hosts n0:2,n1:2 -- $job
            done
            # Every rank over verbs, with a trace.
            export CARROUSEL_VERBS=always
            carrousel run -n 2 --trace /tmp/trace -- heat 40
            carrousel check /tmp/trace
            # By two queue pairs for each peer, which ranks of the other guest are told by this environment.
            export CARROUSEL_VERBS_CONTROL_SL=3
            carrousel info | grep 'second queue pairs'
            carrousel run -n 4 --hosts n0:2,n1:2 --prefix -- sh -c 'carrousel info | grep -c "always): .* level 3"'
            carrousel run -n 4 --hosts n0:2,n1:2 -- heat 40
            carrousel run -n 2 --trace /tmp/two -- heat 40
            carrousel check /tmp/two
            unset CARROUSEL_VERBS_CONTROL_SL
            # The same without copies, which are of more than some bytes; what has come is compared with what was sent.
            export CARROUSEL_VERBS_REUSE_TABLE=published CARROUSEL_VERBS_REUSE_PERCENT=1
            export CARROUSEL_VERBS_REUSE_BLOCKING=on
            carrousel info | grep 'not copied'
            carrousel run -n 2 --trace /tmp/direct -- \
                carrousel bench pt2pt --bench latency,bandwidth --size 512,4KiB --repetitions 5
            carrousel check /tmp/direct"#,
        says: &[
            "packets without data go by second queue pairs, of service level 3",
            "[n0] [3] 1",
            "small buffers that are used often are not copied",
            "rxe0, port 1 (RoCE, global identifier 1); registrations are kept",
            "[n0] pi is 3.141592653590 on 4 ranks",
            "after 200 steps on 4 ranks the middle has 100.000000 degrees",
            "148933 primes below 2000000",
        ],
        ..CASE
    },
    GuestCase {
        name: "one-sided operations of the provider go over verbs",
        built: &[PROVIDER_TESTS],
        timeout_s: 120,
        // Every endpoint takes the others for those of other nodes.
        command: "CARROUSEL_VERBS=always provider --test-threads 1 rma atomics untagged a_stranger",
        says: &["test result: ok. 17 passed"],
        ..CASE
    },
    OPEN_MPI_OVERLAPS,
    MPICH_OVERLAPS,
    GuestCase {
        name: "a job ends when a guest of its ranks is switched off",
        statuses: &[0, 125],
        built: &[COMMAND, example("workers")],
        ssh: true,
        timeout_s: 120,
        command: r#"
            # Each rank of one guest waits for one of the other, and for nothing else.
            printf '%s\n' 'scenario "silence"' 'ranks 4' 'rank 0..1' '  recv from me+2 tag 0 size 8' \
                'rank 2..3' '  compute 500s' '  send to me-2 tag 0 size 8' >/tmp/silence.scn
            if [ $NODE_ID = 1 ]; then
                # When its ranks have been connected to.
                until [ $(cat /sys/class/infiniband/$RDMA_DEV/ports/1/hw_counters/sent_pkts) -gt 3 ]; do
                    usleep 10000
                done
                sleep 1
                cut_power
            fi
            carrousel run -n 4 --hosts n0:2,n1:2 /tmp/silence.scn || status=$?
            echo ended with status ${status:-0}
            [ ${status:-0} != 0 ]"#,
        says: &["is lost: it does not acknowledge what is sent to it", "n1: the guest has died"],
        ..CASE
    },
];

/// Takes the cases as steps.
pub(crate) fn steps(steps: &mut Steps) {
    let host = OnceCell::new();
    for case in CASES {
        steps.step(&format!("guests: {}", case.name), || {
            match host.get_or_init(|| packages::install_missing().and_then(|()| Host::prepare())) {
                Ok(host) => case.step(host),
                Err(why) => left_out(why.clone()),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own_and_a_command() {
        for (index, case) in CASES.iter().enumerate() {
            assert!(!case.name.is_empty() && !case.command.is_empty() && !case.statuses.is_empty());
            assert!(CASES[..index].iter().all(|other| other.name != case.name), "{}", case.name);
        }
    }
}
