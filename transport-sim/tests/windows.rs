//! What windows take in virtual time, and whose processor it takes.

use carrousel_transport_sim::{Config, Network, Protocol, Report, simulate};

fn run(text: &str) -> Report {
    run_by(Protocol::Mirror, text)
}

fn run_by(protocol: Protocol, text: &str) -> Report {
    let mut config = Config::new(Network::named("qdr").expect("it comes with the simulator"));
    config.protocol = protocol;
    let scenario = carrousel_scenario::load("test.scn", text.as_bytes());
    let scenario = scenario.unwrap_or_else(|error| panic!("{}", error.render(false)));
    simulate(&scenario, &config).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// When the statement with this label was complete, in virtual microseconds.
fn complete_us(report: &Report, label: &str) -> f64 {
    let statement = report.statements.iter().find(|statement| statement.label.as_deref() == Some(label));
    statement
        .and_then(|statement| statement.complete_us)
        .expect("there is such a statement, and it is complete")
}

/// An access to memory of rank 1 while that computes for 1000 us: how long rank 1 waits for it behind that.
fn left_us(nodes: &str, access: &str) -> f64 {
    let text = format!(
        "ranks 2\nnodes {nodes}\nwindow w 1MiB\nrank 0\n start w to [1]\n {access}\n complete w\n\
         rank 1\n post w from [0]\n compute 1000us\n end: wait_epoch w\n"
    );
    complete_us(&run(&text), "end") - 1000.0
}

/// nonblocking-rma-epochs VIII-A: a large operand waits for a buffer that the target's processor gives.
#[test]
fn a_target_that_computes_delays_the_operand_of_a_large_accumulate() {
    let put = left_us("[0] [1]", "put w to 1 size 1MiB");
    assert!(put < 2.0, "the card writes it: {put}");
    let small = left_us("[0] [1]", "acc w to 1 size 8KiB");
    assert!((1.6..4.0).contains(&small), "it is there, and is to be combined: {small}");
    let large = left_us("[0] [1]", "acc w to 1 size 1MiB");
    assert!((550.0..570.0).contains(&large), "it comes, and is combined: {large}");
    let barely = left_us("[0] [1]", "acc w to 1 size 8200");
    assert!(barely > small + 4.0, "a round trip more: {barely}");
}

#[test]
fn on_a_node_the_origins_processor_combines() {
    let large = left_us("[0 1]", "acc w to 1 size 1MiB");
    assert!(large < 2.0, "{large}");
}

/// The epochs of two origins that accumulate 1 MiB each at rank 0, sorted.
fn two_origins_us(buffers: u32) -> [f64; 2] {
    let text = format!(
        "ranks 3\nwindow w 1MiB\noption accumulate_buffers {buffers}\nrank 0\n post w from [1 2]\n wait_epoch w\n\
         rank 1\n start w to [0]\n acc w to 0 size 1MiB\n one: complete w\n\
         rank 2\n start w to [0]\n acc w to 0 size 1MiB\n two: complete w\n"
    );
    let report = run(&text);
    let (one, two) = (complete_us(&report, "one"), complete_us(&report, "two"));
    [one.min(two), one.max(two)]
}

#[test]
fn as_many_operands_are_on_their_way_as_there_are_buffers() {
    let [first, last] = two_origins_us(1);
    assert!((550.0..570.0).contains(&first) && last > first + 550.0, "one after the other: {first}, {last}");
    let [first, last] = two_origins_us(2);
    assert!(first > 680.0 && last < first + 220.0, "they share the link: {first}, {last}");
}

/// A rank of a classical protocol handles what arrives when it waits, and loses none of it while it copies.
#[test]
fn what_arrives_while_a_classical_rank_copies_is_kept() {
    let copies = "ranks 3\nnodes [0 1] [2]\nwindow w 8MiB\nrank 0\n fence w\n put w to 1 size 2MiB\n \
                  put w to 1 size 2MiB\n put w to 2 size 64KiB\n fence w\n recv from 1 tag 1 size 4096\n end: recv from 2 tag 1 size 4096\n\
                  rank 1..2\n fence w\n isend to 0 tag 1 size 4096\n fence w\n wait all\n";
    for protocol in [Protocol::Rget, Protocol::Rput] {
        complete_us(&run_by(protocol, copies), "end");
    }
}

/// When a write to another node is complete that is called behind a copy of this size on the node.
fn write_behind_copy_us(option: &str, copied: &str) -> f64 {
    let text = format!(
        "ranks 3\nnodes [0 1] [2]\nwindow w 1MiB\n{option}\nrank 0\n lock_all w\n put w to 2 size 8\n \
         flush_all w\n put w to 1 size {copied}\n write: p = put w to 2 size 8\n wait p\n unlock_all w\n"
    );
    complete_us(&run(&text), "write")
}

/// intra-epoch-scheduling 4: a large copy waits until what goes to other nodes is posted.
/// When an origin's epoch is over that has something to copy on its own node, writes to another node, whose grant comes 10
/// us late, and computes for 200 us.
fn granted_late_us(copied: &str) -> f64 {
    let text = format!(
        "ranks 3\nnodes [0 1] [2]\nwindow w 1MiB\nrank 0\n compute 5us\n start w to [1 2]\n put w to 1 size {copied}\n \
         put w to 2 size 256KiB\n compute 200us\n end: complete w\n\
         rank 1\n post w from [0]\n wait_epoch w\nrank 2\n compute 10us\n post w from [0]\n wait_epoch w\n"
    );
    complete_us(&run(&text), "end")
}

#[test]
fn a_copy_is_made_while_a_grant_is_awaited_and_the_network_idle() {
    let idle = granted_late_us("8");
    assert!(idle > 280.0, "the grant comes while the origin computes, which writes behind that: {idle}");
    let copying = granted_late_us("64KiB");
    assert!(copying < 235.0, "it comes while the origin copies, and the write is hidden: {copying}");
}

#[test]
fn a_copy_is_queued_from_the_threshold_on() {
    let [first, behind] = ["8KiB", "8184"].map(|copied| write_behind_copy_us("", copied));
    assert!(first + 2.0 < behind, "{first} {behind}");
    let none = write_behind_copy_us("option intra_defer_threshold 1MiB", "512KiB");
    assert!(none > 180.0, "the write comes behind the copy: {none}");
    // 100 ns to post, in which a processor copies 273 bytes.
    let measured = |copied| write_behind_copy_us("option intra_defer_threshold measured", copied);
    assert!(measured("4KiB") + 1.0 < write_behind_copy_us("", "4KiB"));
    assert_eq!(measured("272"), write_behind_copy_us("", "272"));
}
