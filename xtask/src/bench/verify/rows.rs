//! The programs whose verification is measured, and what it is to reach.

use super::spin;

/// What a search is to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RowTarget {
    /// It explores all within so many seconds.
    Seconds(f64),
    /// At least so many distinct states a second.
    StatesPerSecond(f64),
    /// At most so many bytes a state.
    BytesPerState(f64),
    /// It explores all within so many seconds, and at most so many times the states that the published rules take.
    OfPublished(f64, f64),
}

/// The time in which a search that has to end has to, on two threads.
const END_SECONDS: f64 = 60.0;

/// One measurement.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    /// A scenario.
    pub(super) program: String,
    /// Arguments of `carrousel verify`.
    pub(super) arguments: &'static [&'static str],
    pub(super) target: RowTarget,
    /// A Promela model of it, whose search is shown beside.
    pub(super) promela: Option<String>,
}

const ONE_THREAD: &[&str] = &["--threads", "1"];
const TWO_THREADS: &[&str] = &["--threads", "2"];
const PORTABLE: &[&str] = &["--threads", "2", "--portable"];
const A_MILLION: &[&str] = &["--threads", "1", "--max-states", "1000000"];

/// All of them.
pub(super) fn rows() -> Vec<Row> {
    use RowTarget::{BytesPerState, OfPublished, Seconds, StatesPerSecond};
    let row = |name, program, arguments, target| Row { name, program, arguments, target, promela: None };
    let ends = Seconds(END_SECONDS);
    vec![
        row(
            "8 workers that are answered eagerly, 2 questions each",
            workers(8, 2),
            TWO_THREADS,
            OfPublished(END_SECONDS, 2.0),
        ),
        row("any-source gather of 12, 64 KiB", gather(12, "64KiB"), TWO_THREADS, ends),
        row("any-source gather of 20, 8 B", gather(20, "8B"), TWO_THREADS, ends),
        row("PSCW ring of 64, 3 epochs", pscw_ring(64, 3), TWO_THREADS, ends),
        row("PSCW ring of 8, 3 epochs, portable", pscw_ring(8, 3), PORTABLE, ends),
        row("fence stencil of 64, 4 iterations", fence_stencil(64, 4), TWO_THREADS, ends),
        row("lock, put, flush of one target, 32 origins, 3 times", flushes(32, 3), TWO_THREADS, ends),
        row("exclusive lock and fetch_op, 24 origins", counter(24), TWO_THREADS, ends),
        row("halo by put, flush and message of 64, 4 iterations", notified_halo(64, 4), TWO_THREADS, ends),
        row("the same, portable", notified_halo(64, 4), PORTABLE, ends),
        row("read, change, write with a lock, 64 ranks, portable", read_change_write(64), PORTABLE, ends),
        row("conjugate gradient of 24, a fence at its end", gradient(24), TWO_THREADS, ends),
        row("the same without that fence", without_last_fence(gradient(24)), TWO_THREADS, ends),
        row("halo x20 of 64, 64 KiB", halo(64, 20, false), ONE_THREAD, Seconds(0.5)),
        row("ring x20 of 64, 64 KiB", ring(64, 20), ONE_THREAD, Seconds(5.0)),
        row("halo with a barrier of 256, 64 KiB", halo(256, 1, true), ONE_THREAD, Seconds(0.8)),
        Row {
            promela: Some(spin::gather(18)),
            ..row("gather of 18, 8 B", gather(18, "8B"), ONE_THREAD, StatesPerSecond(300e3))
        },
        Row {
            promela: Some(spin::dining(9)),
            ..row("dining locks of 9", dining(9), ONE_THREAD, StatesPerSecond(400e3))
        },
        row("a million states of a gather of 20, 8 B", gather(20, "8B"), A_MILLION, BytesPerState(200.0)),
        row(
            "a million states of a gather of 16, 64 KiB",
            gather(16, "64KiB"),
            A_MILLION,
            BytesPerState(200.0),
        ),
    ]
}

fn workers(workers: u32, questions: u32) -> String {
    let (ranks, all) = (workers + 1, workers * questions);
    format!(
        "ranks {ranks}\nrank 0\n  repeat {all}\n    r = recv from any tag 0 size 8\n    \
         send to source(r) tag 1 size 8\n  end\nrank 1..{workers}\n  repeat {questions}\n    \
         send to 0 tag 0 size 8\n    recv from 0 tag 1 size 8\n  end\n"
    )
}

fn gather(ranks: u32, size: &str) -> String {
    let senders = ranks - 1;
    format!(
        "ranks {ranks}\nrank 0\n  repeat {senders}\n    recv from any tag 0 size {size}\n  end\n\
         rank 1..{senders}\n  send to 0 tag 0 size {size}\n"
    )
}

/// Each rank is accessed by its left neighbour and accesses the right one.
fn pscw_ring(ranks: u32, epochs: u32) -> String {
    format!(
        "ranks {ranks}\nwindow w 8\nrank *\n  repeat {epochs}\n    post w from [(me+size-1)%size]\n    \
         start w to [(me+1)%size]\n    put w to (me+1)%size size 8\n    complete w\n    wait_epoch w\n  end\n"
    )
}

fn fence_stencil(ranks: u32, iterations: u32) -> String {
    format!(
        "ranks {ranks}\nwindow w 16\nrank *\n  repeat {iterations}\n    fence w\n    \
         put w to (me+1)%size size 8\n    put w to (me+size-1)%size size 8 at 8\n    fence w\n    barrier\n  end\n"
    )
}

/// Each origin writes to a place of its own.
fn flushes(origins: u32, times: u32) -> String {
    let (ranks, bytes) = (origins + 1, 8 * origins);
    format!(
        "ranks {ranks}\nwindow w {bytes}\nrank 1..{origins}\n  repeat {times}\n    lock w at 0 shared\n    \
         put w to 0 size 8 at 8*(me-1)\n    flush w at 0\n    unlock w at 0\n  end\n"
    )
}

fn counter(origins: u32) -> String {
    let ranks = origins + 1;
    format!(
        "ranks {ranks}\nwindow w 8\nrank 1..{origins}\n  lock w at 0 exclusive\n  fetch_op w at 0\n  \
         unlock w at 0\n"
    )
}

/// Each rank writes to its neighbours, and tells them when that is complete.
fn notified_halo(ranks: u32, times: u32) -> String {
    format!(
        "ranks {ranks}\nwindow w 16\nrank *\n  lock_all w\n  repeat {times}\n    put w to (me+1)%size size 8\n    \
         put w to (me+size-1)%size size 8 at 8\n    flush_all w\n    isend to (me+1)%size tag 0 size 0\n    \
         isend to (me+size-1)%size tag 1 size 0\n    recv from (me+size-1)%size tag 0 size 0\n    \
         recv from (me+1)%size tag 1 size 0\n    wait all\n    load w at 0 size 16\n    barrier\n  end\n  unlock_all w\n"
    )
}

fn read_change_write(ranks: u32) -> String {
    format!(
        "ranks {ranks}\nwindow w 8\nrank *\n  repeat 2\n    lock w at 0 exclusive\n    get w from 0 size 8\n    \
         flush w at 0\n    put w to 0 size 8\n    unlock w at 0\n  end\n"
    )
}

/// Messages between neighbours and reductions, then all ranks put their results into a window.
fn gradient(ranks: u32) -> String {
    let bytes = 8 * ranks;
    format!(
        "ranks {ranks}\nwindow w {bytes}\nrank *\n  repeat 6\n    irecv from (me+size-1)%size tag 0 size 32KiB buf west\n    \
         irecv from (me+1)%size tag 1 size 32KiB buf east\n    isend to (me+1)%size tag 0 size 32KiB\n    \
         isend to (me+size-1)%size tag 1 size 32KiB\n    wait all\n    read buf west\n    read buf east\n    \
         allreduce size 8\n  end\n  fence w\n  put w to 0 size 8 at 8*me\n  fence w\nrank 0\n  load w at 0 size {bytes}\n"
    )
}

fn without_last_fence(program: String) -> String {
    program.replacen("  fence w\nrank 0", "rank 0", 1)
}

fn halo(ranks: u32, times: u32, barrier: bool) -> String {
    let barrier = if barrier { "    barrier\n" } else { "" };
    format!(
        "ranks {ranks}\nrank *\n  repeat {times}\n    irecv from (me+size-1)%size tag 0 size 64KiB\n    \
         irecv from (me+1)%size tag 1 size 64KiB\n    isend to (me+1)%size tag 0 size 64KiB\n    \
         isend to (me+size-1)%size tag 1 size 64KiB\n    wait all\n{barrier}  end\n"
    )
}

fn ring(ranks: u32, times: u32) -> String {
    format!(
        "ranks {ranks}\nrank *\n  repeat {times}\n    sendrecv to (me+1)%size tag 0 size 64KiB from \
         (me+size-1)%size tag 0 size 64KiB\n  end\n"
    )
}

/// Each rank takes the lock of its own window first, then its neighbour's.
fn dining(ranks: u32) -> String {
    format!(
        "ranks {ranks}\nwindow w 8\nrank *\n  lock w at me exclusive\n  lock w at (me+1)%size exclusive\n  \
         unlock w at (me+1)%size\n  unlock w at me\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_rows_apart() {
        let names: Vec<_> = rows().iter().map(|row| row.name).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name}");
        }
    }

    #[test]
    fn a_program_has_its_ranks_and_times() {
        let text = workers(8, 2);
        assert!(text.starts_with("ranks 9\n") && text.contains("repeat 16\n"), "{text}");
        assert_eq!(halo(4, 1, true).matches("barrier").count(), 1);
        let [whole, without] = [gradient(4), without_last_fence(gradient(4))];
        assert_eq!([whole, without].map(|text| text.matches("fence").count()), [2, 1]);
    }
}
