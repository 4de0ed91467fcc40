//! Epochs that never block (nonblocking-rma-epochs VIII): what a delay of 1000 us costs whom, with puts of 1 MiB.

use carrousel_transport_sim::{Acquisition, Config, Copies, Network, Pattern, Report, simulate};

/// Virtual microseconds of a put of 1 MiB.
const PUT: f64 = 340.0;
/// What the figures delay.
const DELAY: f64 = 1000.0;

fn run_with(text: &str, change: impl Fn(&mut Config)) -> Report {
    let scenario = carrousel_scenario::load("figure.scn", text.as_bytes());
    let scenario = scenario.unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)));
    let mut config = Config::new(Network::named("qdr").expect("it comes with the simulator"));
    change(&mut config);
    simulate(&scenario, &config).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(text: &str) -> Report {
    run_with(text, |_| ())
}

/// When the statement with this label was complete.
fn complete(report: &Report, label: &str) -> f64 {
    let labelled = report.statements.iter().find(|statement| statement.label.as_deref() == Some(label));
    labelled.and_then(|statement| statement.complete_us).expect("it has completed")
}

/// When the statement with this label returned.
fn returned(report: &Report, label: &str) -> f64 {
    let labelled = report.statements.iter().find(|statement| statement.label.as_deref() == Some(label));
    labelled.expect("there is one").end_us
}

/// Within 2 % of what the figure shows, if nothing else took time.
#[track_caller]
fn is_near(us: f64, expected: f64) {
    assert!((us - expected).abs() <= 0.02 * expected, "{us} instead of {expected}");
}

#[track_caller]
fn has(report: &Report, pattern: Pattern, rank: u32, by: u32) {
    let is_it =
        |late: &&carrousel_transport_sim::Late| (late.pattern, late.rank, late.by) == (pattern, rank, by);
    assert!(report.late.iter().any(|late| is_it(&late)), "{pattern} of {rank} by {by}: {:?}", report.late);
}

/// Figure 2: the origin goes on while its target is late.
#[test]
fn figure_2_late_post() {
    let text = |close: &str, wait: &str| {
        format!(
            "ranks 3\nwindow w 1MiB\nrank 0\n compute 1000us\n post w from [2]\n wait_epoch w\n\
             rank 1\n recv from 2 tag 0 size 1MiB\n\
             rank 2\n start w to [0]\n put w to 0 size 1MiB\n epoch: {close} w\n next: send to 1 tag 0 size 1MiB\n {wait}\n"
        )
    };
    let blocking = run(&text("complete", ""));
    is_near(complete(&blocking, "epoch"), DELAY + PUT);
    is_near(complete(&blocking, "next"), DELAY + 2.0 * PUT);
    has(&blocking, Pattern::LatePost, 2, 0);
    let free = run(&text("e = icomplete", "wait e"));
    is_near(complete(&free, "next"), PUT);
    is_near(complete(&free, "epoch"), DELAY + PUT);
    is_near(free.makespan_us, DELAY + PUT);
}

/// Figure 3: the target has its data, whatever the origin does.
#[test]
fn figure_3_late_complete() {
    for size in ["4", "64KiB", "1MiB"] {
        let text = |close: &str, after: &str| {
            format!(
                "ranks 2\nwindow w 1MiB\nrank 0\n barrier\n start w to [1]\n put w to 1 size {size}\n {close}\n \
                 {after}\nrank 1\n post w from [0]\n barrier\n target: wait_epoch w\n"
            )
        };
        let ideal = complete(&run(&text("complete w", "")), "target");
        let blocking = run(&text("compute 1000us", "complete w"));
        is_near(complete(&blocking, "target"), DELAY.max(ideal));
        has(&blocking, Pattern::LateComplete, 1, 0);
        let free = run(&text("e = icomplete w\n compute 1000us", "origin: wait e"));
        is_near(complete(&free, "target"), ideal);
        is_near(complete(&free, "origin"), DELAY);
        assert_eq!(free.late, [], "{size}");
    }
}

/// Figure 4: the target computes while its data comes.
#[test]
fn figure_4_early_fence() {
    let text = |target: &str| {
        format!(
            "ranks 2\nwindow w 1MiB\nrank 0\n fence w\n put w to 1 size 1MiB\n fence w\n\
             rank 1\n fence w\n {target}\n"
        )
    };
    let blocking = run(&text("fence w\n end: compute 1000us"));
    is_near(complete(&blocking, "end"), PUT + DELAY);
    has(&blocking, Pattern::EarlyFence, 1, 0);
    let free = run(&text("e = ifence w\n compute 1000us\n end: wait e"));
    is_near(complete(&free, "end"), DELAY);
}

/// Figure 5: as figure 3, with fences.
#[test]
fn figure_5_wait_at_fence() {
    let text = |origin: &str| {
        format!(
            "ranks 2\nwindow w 1MiB\nrank 0\n fence w\n put w to 1 size 1MiB\n {origin}\n\
             rank 1\n fence w\n target: fence w\n"
        )
    };
    let blocking = run(&text("compute 1000us\n fence w"));
    is_near(complete(&blocking, "target"), DELAY);
    has(&blocking, Pattern::WaitAtFence, 1, 0);
    is_near(complete(&run(&text("e = ifence w\n compute 1000us\n wait e")), "target"), PUT);
}

/// Figure 6: the second origin gets the lock when the first one's data is there.
#[test]
fn figure_6_late_unlock() {
    let text = |first: &str| {
        format!(
            "ranks 3\nwindow w 1MiB\nrank 0\n barrier\nrank 1\n {first}\n barrier\n\
             rank 2\n compute 5us\n lock w at 0 exclusive\n put w to 0 size 1MiB\n second: unlock w at 0\n barrier\n"
        )
    };
    let epoch = |close: &str| format!("lock w at 0 exclusive\n put w to 0 size 1MiB\n {close}");
    let late = text(&epoch("compute 1000us\n first: unlock w at 0"));
    let blocking = run(&late);
    is_near(returned(&blocking, "first"), DELAY);
    is_near(complete(&blocking, "second"), DELAY + PUT);
    has(&blocking, Pattern::LateUnlock, 2, 1);
    let lazy = run_with(&late, |config| config.acquisition = Acquisition::Lazy);
    is_near(returned(&lazy, "first"), DELAY + PUT);
    // It has the lock for itself; the 5 us are before it.
    is_near(complete(&lazy, "second") - 5.0, PUT);
    let free = run(&text(&epoch("e = iunlock w at 0\n compute 1000us\n first: wait e")));
    is_near(returned(&free, "first"), DELAY);
    is_near(complete(&free, "second"), 2.0 * PUT);
}

/// Figures 7 to 11: each flag spares the one whose epochs do not depend on who is late.
#[test]
fn figures_7_to_11_each_flag_spares_one() {
    // The flag, the programs, and whom the flag spares. Another label ends all.
    let figures = [
        (
            "access_after_access",
            "ranks 3\nrank 0\n istart w to [1]\n put w to 1 size 1MiB\n a = icomplete w\n\
             istart w to [2]\n put w to 2 size 1MiB\n b = icomplete w\n wait a\n all: wait b\n\
             rank 1\n compute 1000us\n post w from [0]\n wait_epoch w\n\
             rank 2\n post w from [0]\n spared: wait_epoch w\n",
        ),
        (
            "access_after_exposure",
            "ranks 3\nrank 2\n ipost w from [0]\n a = iwait_epoch w\n\
             istart w to [1]\n put w to 1 size 1MiB\n b = icomplete w\n wait a\n all: wait b\n\
             rank 0\n compute 1000us\n start w to [2]\n put w to 2 size 1MiB\n complete w\n\
             rank 1\n post w from [2]\n spared: wait_epoch w\n",
        ),
        (
            "exposure_after_exposure",
            "ranks 3\nrank 2\n ipost w from [0]\n a = iwait_epoch w\n ipost w from [1]\n b = iwait_epoch w\n\
             wait a\n all: wait b\n\
             rank 0\n compute 1000us\n start w to [2]\n put w to 2 size 1MiB\n complete w\n\
             rank 1\n start w to [2]\n put w to 2 size 1MiB\n spared: complete w\n",
        ),
        (
            "exposure_after_access",
            "ranks 3\nrank 2\n istart w to [0]\n put w to 0 size 1MiB\n a = icomplete w\n\
             ipost w from [1]\n b = iwait_epoch w\n wait a\n all: wait b\n\
             rank 0\n compute 1000us\n post w from [2]\n wait_epoch w\n\
             rank 1\n start w to [2]\n put w to 2 size 1MiB\n spared: complete w\n",
        ),
    ];
    for (flag, programs) in figures {
        let off = run(&format!("window w 1MiB\n{programs}"));
        is_near(complete(&off, "spared"), DELAY + 2.0 * PUT);
        is_near(complete(&off, "all"), DELAY + 2.0 * PUT);
        let on = run(&format!("window w 1MiB\noption w.{flag} on\n{programs}"));
        println!("{flag}: {:.1} -> {:.1} us", complete(&off, "spared"), complete(&on, "spared"));
        is_near(complete(&on, "spared"), PUT);
        is_near(complete(&on, "all"), DELAY + PUT);
    }
}

/// Figure 8: two locks, the first of which another origin holds for long.
#[test]
fn figure_8_a_lock_past_another() {
    let text = |flag: &str| {
        format!(
            "ranks 4\nwindow w 1MiB\noption w.access_after_access {flag}\nrank 0..1\n barrier\n\
             rank 2\n lock w at 0 exclusive\n put w to 0 size 1MiB\n compute 1000us\n unlock w at 0\n barrier\n\
             rank 3\n compute 20us\n ilock w at 0 exclusive\n put w to 0 size 1MiB\n a = iunlock w at 0\n\
             ilock w at 1 exclusive\n put w to 1 size 1MiB\n b = iunlock w at 1\n wait a\n both: wait b\n barrier\n"
        )
    };
    is_near(complete(&run(&text("off")), "both"), DELAY + 2.0 * PUT);
    is_near(complete(&run(&text("on")), "both"), DELAY + PUT);
}

/// intra-epoch-scheduling, figure 2: three targets on the node, three on other nodes, or both, with work or without.
#[test]
fn figure_2_of_scheduling() {
    let ranks = "nodes [0 1 2 3] [4] [5] [6]\nwindow w 2MiB\n";
    let (inside, outside) = ([1, 2, 3], [4, 5, 6]);
    let puts = |targets: &[u32]| -> String {
        targets.iter().map(|target| format!(" put w to {target} size 2MiB\n")).collect()
    };
    let work = " compute 1000us\n";
    let kinds: [(&str, &str, &str); 3] = [
        ("start w to [1 2 3 4 5 6]", "complete w", "gats"),
        ("fence w", "fence w", "fence"),
        ("lock_all w", "unlock_all w", "lock_all"),
    ];
    for (open, close, kind) in kinds {
        let epoch = |transfers: &str, copies: Copies| {
            let others = match kind {
                "gats" => "rank 1..6\n post w from [0]\n barrier\n wait_epoch w\n",
                "fence" => "rank 1..6\n barrier\n fence w\n fence w\n",
                _ => "rank 1..6\n barrier\n barrier\n",
            };
            let end = if kind == "lock_all" { " barrier\n" } else { "" };
            let text = format!(
                "ranks 7\n{ranks}rank 0\n barrier\n begin: {open}\n{transfers} end: {close}\n{end}{others}"
            );
            let report = run_with(&text, |config| config.copies = copies);
            returned(&report, "end") - returned(&report, "begin")
        };
        let [intra, inter, mix] = [puts(&inside), puts(&outside), puts(&[inside, outside].concat())]
            .map(|transfers| [Copies::Scheduled, Copies::Deferred].map(|copies| epoch(&transfers, copies)));
        let [inter_work, mix_work] = [puts(&outside), puts(&[inside, outside].concat())].map(|transfers| {
            [Copies::Scheduled, Copies::Deferred].map(|copies| epoch(&format!("{transfers}{work}"), copies))
        });
        println!(
            "{kind}: intra {intra:.0?} inter {inter:.0?} mix {mix:.0?} + work {inter_work:.0?} {mix_work:.0?}"
        );
        // Three single copies of 2 MB last 2.3 ms.
        is_near(intra[0], 2300.0);
        is_near(inter_work[0], inter[0].max(DELAY));
        is_near(mix[0], inter[0].max(intra[0]));
        is_near(mix[1], inter[1] + intra[1]);
        is_near(mix_work[0], inter[0].max(intra[0] + DELAY));
        is_near(mix_work[1], inter[1].max(DELAY) + intra[1]);
        for [ours, baseline] in [intra, inter, mix, inter_work, mix_work] {
            assert!(ours <= baseline * 1.01, "{ours} against {baseline}");
        }
    }
}
