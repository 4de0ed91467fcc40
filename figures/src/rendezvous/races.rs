//! Figures 4.1 to 4.12: the sequences of the published rendezvous, and the races that each of its rules closes
//! (speculative-rendezvous 4.2).
//!
//! A race is a counterexample of the model checker, with one rule off: the first wrong execution, and the shortest. The
//! thesis draws it, and argues that the rule closes it; here all executions with the rule are explored.

use crate::entry::Points;
use crate::figure::{Comparison, Drawing, Figure};
use crate::measure::{FigureError, Machine, scenario};
use carrousel_transport_sim::Protocol::Published;
use carrousel_transport_sim::timeline;
use carrousel_verify::rendezvous::Rendezvous;
use carrousel_verify::report::{Counterexample, Report, Verdict};
use carrousel_verify::run::{Request, check};

/// An end of a message, in a program: the receive or send of 64 KiB is large, that of 8 bytes is eager.
const LARGE: &str = "size 64KiB";
const EAGER: &str = "size 8";

/// The program whose sends, and receives, are these, all of one tag.
fn program(title: &str, sends: &[&str], receives: &[&str]) -> String {
    let calls = |verb: &str, all: &[&str]| -> String {
        all.iter().map(|words| format!(" i{verb} {words}\n")).collect()
    };
    let (sends, receives) = (calls("send to 1 tag 0", sends), calls("recv from", receives));
    format!("scenario \"{title}\"\nranks 2\nrank 0\n{sends} wait all\nrank 1\n{receives} wait all\n")
}

/// Figures 4.1 to 4.3: the messages of each arrival order.
pub(super) fn sequences(_: Points) -> Result<Figure, FigureError> {
    /// An order: how long each end computes first, and the size of the message.
    struct Order(&'static str, u32, u32, &'static str, [(&'static str, u64); 4]);
    let counts = |rts, rtr, read, write| [("RTS", rts), ("RTR", rtr), ("READ", read), ("WRITE", write)];
    let orders = [
        Order("an early sender sends RTS, and the receiver reads", 0, 100, LARGE, counts(1, 0, 1, 0)),
        Order("an early receiver sends RTR, and the sender writes", 100, 0, LARGE, counts(0, 1, 0, 1)),
        Order("an eager message ignores the RTR of its receive", 100, 0, EAGER, counts(0, 1, 0, 0)),
    ];
    let mut figure = Figure::new(
        "SR 4.1-4.3",
        "The messages of a speculative rendezvous, by who comes first",
        "The published protocol. One message; the late end computes for 100 us before its call.",
    );
    let machine = Machine::new("ddr-iwarp")?.with(|config| {
        config.protocol = Published;
        config.timeline = true;
    });
    for Order(title, sender, receiver, words, packets) in orders {
        let report = machine.run(&format!(
            "scenario \"{title}\"\nranks 2\noption eager_threshold 8KiB\n\
             rank 0\n compute {sender}us\n s = isend to 1 tag 0 {words}\n wait s\n\
             rank 1\n compute {receiver}us\n r = irecv from 0 tag 0 {LARGE}\n wait r\n"
        ))?;
        let counted = packets.map(|(kind, count)| {
            let count = count as f64;
            Comparison::between(kind, report.statistics.packets(kind) as f64, count, count)
        });
        figure.says(title, counted);
        figure.drawings.push(Drawing { title: title.to_owned(), svg: timeline::svg(&report) });
    }
    Ok(figure)
}

/// What the model checker says of a program.
fn explored(text: &str, rendezvous: Rendezvous, without: Option<&str>) -> Result<Report, FigureError> {
    let request = Request { rendezvous, without: without.map(str::to_owned), ..Request::default() };
    let failed = |error| FigureError::Unexplored { error, text: text.to_owned() };
    check(&scenario(text)?, &request).map_err(failed)
}

/// The first counterexample to MPI's matching, or to the safety of buffers.
fn counterexample(report: &Report) -> Option<&Counterexample> {
    let asked = ["matching-order", "buffer-safety"];
    let mut checks = report.checks.iter().filter(|check| asked.contains(&check.name));
    checks.find_map(|check| check.counterexample.as_ref())
}

/// A race that a rule of the thesis closes.
struct Race {
    /// The rule, as `verify --without` names it.
    rule: &'static str,
    /// What happens without it.
    says: &'static str,
    sends: &'static [&'static str],
    receives: &'static [&'static str],
}

/// A receive from any source is never announced.
const ANY: &str = "any tag 0 size 64KiB";
const NAMED: &str = "0 tag 0 size 64KiB";

/// All executions of each race's program with all rules, and the shortest wrong one without one of them.
fn races(id: &str, title: &str, setup: &str, races: &[Race]) -> Result<Figure, FigureError> {
    let mut figure = Figure::new(id, title, setup);
    for Race { rule, says, sends, receives } in races {
        let text = program(says, sends, receives);
        for (name, protocol) in [("published", Rendezvous::Published), ("mirror", Rendezvous::Mirror)] {
            let sound = explored(&text, protocol, None)?;
            let by = format!("{}, {} states", sound.verdict.name(), sound.states);
            figure.fact(
                format!("{rule}, {name}, with all rules: every execution is right"),
                sound.verdict == Verdict::Proven,
                by,
            );
        }
        let wrong = explored(&text, Rendezvous::Published, Some(rule))?;
        let found = counterexample(&wrong);
        let by = found
            .map_or_else(|| "no counterexample".to_owned(), |found| format!("{} steps", found.steps.len()));
        figure.fact(format!("without {rule}: {says}"), found.is_some(), by);
        if let Some(found) = found {
            let title = format!("without {rule}: {says}");
            figure.drawings.push(Drawing { svg: found.chart.titled_svg(&title), title });
        }
    }
    Ok(figure)
}

const EXPLORED: &str = "Two ranks, one tag; every order in which calls, packets and transfers can happen.";

/// Figures 4.7 and 4.8: a message and an announcement cross, and the acknowledgements that tell.
pub(super) fn crossing(_: Points) -> Result<Figure, FigureError> {
    races(
        "SR 4.7, 4.8",
        "An announcement and a message cross",
        EXPLORED,
        &[
            Race {
                rule: "RTR_ANSWERS_RTS",
                says: "an RTR that has crossed an RTS is kept, and the next message is written into a receive that is taken",
                sends: &[LARGE; 2],
                receives: &[NAMED; 2],
            },
            Race {
                rule: "ACK_RTR",
                says: "the RTS of the next message takes the receive into which the first one is being written",
                sends: &[LARGE; 2],
                receives: &[NAMED; 2],
            },
            Race {
                rule: "ACK_RTS",
                says: "a message whose RTS was taken swallows the RTR of the next receive",
                sends: &[LARGE; 3],
                receives: &[NAMED; 3],
            },
        ],
    )
}

/// Figure 4.9: a receive that was not announced, and one behind it that was.
pub(super) fn unannounced(_: Points) -> Result<Figure, FigureError> {
    races(
        "SR 4.9",
        "An announcement behind a receive that has none",
        EXPLORED,
        &[Race {
            rule: "BLOCKED_BY_UNANNOUNCED",
            says: "the first message is written into the second receive, as only that one is announced",
            sends: &[LARGE; 2],
            receives: &[ANY, NAMED],
        }],
    )
}

/// Figures 4.10 and 4.11: eager messages beside announcements.
pub(super) fn eager(_: Points) -> Result<Figure, FigureError> {
    races(
        "SR 4.10, 4.11",
        "An eager message takes a receive that is announced",
        EXPLORED,
        &[
            Race {
                rule: "EAGER_FLAG",
                says: "the RTR outlives its receive, and the next message is written into memory that is no longer lent",
                sends: &[EAGER, LARGE],
                receives: &[NAMED; 2],
            },
            Race {
                rule: "AWAIT_STOP",
                says: "an RTR from before the stop is trusted, and a message is written into the receive of another",
                sends: &[EAGER, LARGE, LARGE],
                receives: &[NAMED; 3],
            },
        ],
    )
}

/// Figure 4.12: nobody waits for an announcement.
pub(super) fn no_deadlock(_: Points) -> Result<Figure, FigureError> {
    let mut figure = Figure::new("SR 4.12", "No message waits for an announcement", EXPLORED);
    let programs: [(&str, &[&str], &[&str]); 4] = [
        ("three large messages", &[LARGE; 3], &[NAMED; 3]),
        ("an eager message first", &[EAGER, LARGE, LARGE], &[NAMED; 3]),
        ("an eager message last", &[LARGE, LARGE, EAGER], &[NAMED; 3]),
        ("a receive from any source", &[LARGE; 3], &[ANY, NAMED, NAMED]),
    ];
    for (title, sends, receives) in programs {
        let report = explored(&program(title, sends, receives), Rendezvous::Published, None)?;
        let free = report
            .checks
            .iter()
            .any(|check| check.name == "deadlock-freedom" && check.verdict == Verdict::Proven);
        let by = format!("{} states", report.states);
        figure.fact(format!("{title}: each execution ends with all calls complete"), free, by);
    }
    Ok(figure)
}
