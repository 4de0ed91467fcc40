//! The launcher's side of PMI-1: one function from a line of a rank to effects.

use crate::ending::Ending;
use crate::kvs::{KEY_MAX, KeyValueStore, PutError, VALUE_MAX};
use crate::line::{PmiLine, PmiLineWriter};
use crate::mapping;

/// The longest line that a rank may send. Reports are the only long ones.
pub(crate) const LINE_MAX: usize = 16 << 20;
/// The longest line other than a report: PMI-1 allows 1,024 bytes, and other clients may send more in an abort.
const REQUEST_MAX: usize = 64 << 10;
/// Bytes of an abort's message that are kept, and that our own clients send: every rank is sent the message.
pub(crate) const MESSAGE_MAX: usize = 8 << 10;
/// The name that this launcher adds to the answer to `init`, so that a client knows that it may send reports.
pub(crate) const OURS: &str = "carrousel";
/// The beginning of a report. The rest of the line is the caller's.
pub(crate) const REPORT: &[u8] = b"cmd=report ";
const KVS_NAME: &str = "job";

/// The longest line with this beginning.
pub(crate) fn line_max(begin: &[u8]) -> usize {
    if begin.starts_with(REPORT) { LINE_MAX } else { REQUEST_MAX }
}

/// An effect of a line, for the launcher to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PmiEffect {
    /// Send this line to this rank.
    Send(u32, String),
    /// The rank has called `init`: others may wait for it from now on.
    Initialised(u32),
    /// The rank has called `finalize`: no other rank waits for it any more.
    Finalised(u32),
    /// The rank lets go of what its peers use, without `finalize`.
    Left(u32),
    /// The rank has aborted, or has broken the protocol.
    Failed(u32, Ending),
    /// The rank has sent a report for the caller.
    Report(u32, String),
}

/// The store and the barrier of one job.
#[derive(Debug)]
pub(crate) struct PmiServer {
    size: u32,
    /// The first rank after those of each program.
    programs: Vec<u32>,
    kvs: KeyValueStore,
    waiting: Vec<bool>,
    arrived: u32,
}

impl PmiServer {
    /// A server for ranks of which so many are on each of nodes 0, 1, ..., and so many run each of programs 0, 1, ...
    pub(crate) fn new(ranks_by_node: &[u32], ranks_by_program: &[u32]) -> Self {
        let size = ranks_by_node.iter().sum();
        let ends = ranks_by_program.iter().scan(0, |end, ranks| {
            *end += ranks;
            Some(*end)
        });
        let mapping = mapping::write(ranks_by_node);
        // A client can do without the mapping; a value that is too long would break it.
        let mapping = (mapping.len() < VALUE_MAX).then(|| (mapping::KEY.to_owned(), mapping));
        let (programs, kvs) = (ends.collect(), KeyValueStore::new(size, mapping));
        Self { size, programs, kvs, waiting: vec![false; size as usize], arrived: 0 }
    }

    /// Takes a line of an existing rank, without its end. A line has one effect; but `init`, `finalize` and one `put`
    /// too many are answered as well, and the last `barrier_in` has an effect for every rank.
    pub(crate) fn handle(&mut self, rank: u32, bytes: &[u8], out: &mut Vec<PmiEffect>) {
        let max = line_max(bytes);
        if bytes.len() > max {
            let what = format!("a line is longer than {} KiB: {}", max >> 10, excerpt(bytes));
            return out.push(misbehaved(rank, &what));
        }
        if let Some(report) = bytes.strip_prefix(REPORT) {
            out.push(match str::from_utf8(report) {
                Ok(report) => PmiEffect::Report(rank, report.to_owned()),
                Err(_) => misbehaved(rank, "a report is not UTF-8"),
            });
            return;
        }
        let (words, message) = split_message(bytes);
        let line = match PmiLine::parse(words) {
            Ok(line) => line,
            Err(error) => return out.push(misbehaved(rank, &format!("{error}: {}", excerpt(bytes)))),
        };
        let answer = match line.command {
            "init" => {
                out.push(PmiEffect::Initialised(rank));
                let known = line.get("pmi_version") == Some("1");
                PmiLineWriter::new("response_to_init")
                    .word("pmi_version", 1)
                    .word("pmi_subversion", 1)
                    .word("rc", if known { 0 } else { -1 })
                    .word("launcher", OURS)
            }
            "get_maxes" => PmiLineWriter::new("maxes")
                .word("kvsname_max", 256)
                .word("keylen_max", KEY_MAX)
                .word("vallen_max", VALUE_MAX),
            "get_universe_size" => PmiLineWriter::new("universe_size").word("size", self.size),
            "get_appnum" => {
                let program = self.programs.iter().take_while(|end| **end <= rank).count();
                PmiLineWriter::new("appnum").word("appnum", program)
            }
            "get_my_kvsname" => PmiLineWriter::new("my_kvsname").word("kvsname", KVS_NAME),
            "put" => match self.put(rank, &line) {
                Ok(answer) => answer,
                Err(error) => {
                    let answer = PmiLineWriter::new("put_result").word("rc", -1).word("msg", "too_much");
                    out.push(PmiEffect::Send(rank, answer.finish()));
                    return out.push(misbehaved(rank, &error.to_string()));
                }
            },
            "get" => self.get(&line),
            "barrier_in" => return self.barrier(rank, out),
            "finalize" => {
                out.push(PmiEffect::Finalised(rank));
                PmiLineWriter::new("finalize_ack")
            }
            // Of our own clients only, which wait for no answer.
            "leave" => return out.push(PmiEffect::Left(rank)),
            "abort" => {
                let code = line.number("exitcode").unwrap_or(1);
                let message = String::from_utf8_lossy(message).into_owned();
                return out.push(PmiEffect::Failed(rank, Ending::Aborted { code, message }));
            }
            // A client that requests more than PMI-1 needs (spawn, publish) can do without it, or reports an error.
            other => {
                PmiLineWriter::new(&format!("{other}_result")).word("rc", -1).word("msg", "unknown_command")
            }
        };
        out.push(PmiEffect::Send(rank, answer.finish()));
    }

    /// The answer to a `put`, or the limit that the rank has exceeded: it would never stop.
    fn put(&mut self, rank: u32, line: &PmiLine<'_>) -> Result<PmiLineWriter, PutError> {
        let answer =
            |rc: i32, msg: &str| Ok(PmiLineWriter::new("put_result").word("rc", rc).word("msg", msg));
        match (line.get("key"), line.get("value")) {
            _ if line.get("kvsname") != Some(KVS_NAME) => answer(-1, "unknown_kvsname"),
            (Some(key), Some(value)) => match self.kvs.put(rank, key, value) {
                Ok(()) => answer(0, "success"),
                Err(PutError::DuplicateKey) => answer(-1, "duplicate_key"),
                Err(PutError::TooLong) => answer(-1, "too_long"),
                Err(error @ (PutError::TooManyKeys | PutError::TooManyBytes | PutError::StoreFull)) => {
                    Err(error)
                }
            },
            _ => answer(-1, "no_key_or_value"),
        }
    }

    fn get(&self, line: &PmiLine<'_>) -> PmiLineWriter {
        let answer = |rc: i32, msg: &str| PmiLineWriter::new("get_result").word("rc", rc).word("msg", msg);
        if line.get("kvsname") != Some(KVS_NAME) {
            return answer(-1, "unknown_kvsname");
        }
        match line.get("key").and_then(|key| self.kvs.get(key)) {
            Some(value) => answer(0, "success").word("value", value),
            None => answer(-1, "key_not_found"),
        }
    }

    fn barrier(&mut self, rank: u32, out: &mut Vec<PmiEffect>) {
        if std::mem::replace(&mut self.waiting[rank as usize], true) {
            return out.push(misbehaved(rank, "it entered a barrier that it has not left"));
        }
        self.arrived += 1;
        if self.arrived == self.size {
            self.arrived = 0;
            self.waiting.fill(false);
            out.extend(
                (0..self.size).map(|rank| PmiEffect::Send(rank, PmiLineWriter::new("barrier_out").finish())),
            );
        }
    }
}

/// Splits an abort into its words and its message: a sentence that may contain anything, and comes last. Other clients
/// do not encode it either.
fn split_message(bytes: &[u8]) -> (&[u8], &[u8]) {
    const KEY: &[u8] = b" message=";
    let is_abort = bytes.trim_ascii_start().starts_with(b"cmd=abort ");
    match bytes.windows(KEY.len()).position(|window| is_abort && window == KEY) {
        Some(at) => {
            let message = bytes[at + KEY.len()..].trim_ascii();
            (&bytes[..at], &message[..message.len().min(MESSAGE_MAX)])
        }
        None => (bytes, b""),
    }
}

/// The failure of a rank that has broken the protocol.
fn misbehaved(rank: u32, what: &str) -> PmiEffect {
    PmiEffect::Failed(rank, Ending::Misbehaved { what: what.to_owned() })
}

/// The line that tells a rank that another has failed.
pub(crate) fn lost(rank: u32, ending: &Ending) -> String {
    ending.write(PmiLineWriter::new("lost").word("rank", rank)).finish()
}

/// The beginning of a line that was sent, readable on one line.
fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(60)];
    let more = if shown.len() < bytes.len() { "..." } else { "" };
    format!("`{}{more}`", shown.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn handle(server: &mut PmiServer, rank: u32, line: &str) -> Vec<PmiEffect> {
        let mut out = Vec::new();
        server.handle(rank, line.as_bytes(), &mut out);
        out
    }

    fn check(server: &mut PmiServer, line: &str, answer: &str) {
        let expected = PmiEffect::Send(0, format!("{answer}\n"));
        assert_eq!(handle(server, 0, line).last(), Some(&expected), "{line}");
    }

    #[test]
    fn the_server_answers_as_other_launchers_do() {
        let server = &mut PmiServer::new(&[2, 2], &[4]);
        check(
            server,
            "cmd=init pmi_version=1 pmi_subversion=1",
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0 launcher=carrousel",
        );
        check(server, "cmd=get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024");
        check(server, "cmd=get_universe_size", "cmd=universe_size size=4");
        check(server, "cmd=get_appnum", "cmd=appnum appnum=0");
        check(server, "cmd=get_my_kvsname", "cmd=my_kvsname kvsname=job");
        check(server, "cmd=put kvsname=job key=a value=1", "cmd=put_result rc=0 msg=success");
        check(server, "cmd=put kvsname=job key=a value=2", "cmd=put_result rc=-1 msg=duplicate_key");
        check(server, "cmd=get kvsname=job key=a", "cmd=get_result rc=0 msg=success value=1");
        check(server, "cmd=get kvsname=job key=b", "cmd=get_result rc=-1 msg=key_not_found");
        check(server, "cmd=get kvsname=other key=a", "cmd=get_result rc=-1 msg=unknown_kvsname");
        check(
            server,
            "cmd=get kvsname=job key=PMI_process_mapping",
            "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))",
        );
        check(server, "cmd=spawn nprocs=3", "cmd=spawn_result rc=-1 msg=unknown_command");
        check(server, "cmd=finalize", "cmd=finalize_ack");
    }

    #[test]
    fn a_barrier_opens_for_all_ranks_when_the_last_has_entered() {
        let mut server = PmiServer::new(&[2], &[2]);
        for _ in 0..3 {
            assert_eq!(handle(&mut server, 1, "cmd=barrier_in"), []);
            let out = PmiLineWriter::new("barrier_out").finish();
            let expected = [PmiEffect::Send(0, out.clone()), PmiEffect::Send(1, out)];
            assert_eq!(handle(&mut server, 0, "cmd=barrier_in"), expected);
        }
    }

    #[test]
    fn a_rank_that_enters_a_barrier_twice_misbehaves() {
        let mut server = PmiServer::new(&[2], &[2]);
        handle(&mut server, 1, "cmd=barrier_in");
        let out = handle(&mut server, 1, "cmd=barrier_in");
        assert!(matches!(&out[..], [PmiEffect::Failed(1, Ending::Misbehaved { .. })]), "{out:?}");
    }

    #[test]
    fn a_report_is_passed_on_as_it_is() {
        let out = handle(&mut PmiServer::new(&[1], &[1]), 0, r#"cmd=report {"a": "b = c  d"}"#);
        assert_eq!(out, [PmiEffect::Report(0, r#"{"a": "b = c  d"}"#.to_owned())]);
    }

    #[test]
    fn an_abort_may_say_anything() {
        let aborted = |line: &[u8], code, message: &str| {
            let mut out = Vec::new();
            PmiServer::new(&[1], &[1]).handle(0, line, &mut out);
            let message = message.to_owned();
            assert_eq!(out, [PmiEffect::Failed(0, Ending::Aborted { code, message })]);
        };
        aborted(
            b"cmd=abort exitcode=42 message=check left == right failed",
            42,
            "check left == right failed",
        );
        aborted(b"cmd=abort exitcode=3 message=bad n=3 =  message=no\r", 3, "bad n=3 =  message=no");
        aborted(b"cmd=abort exitcode=4 message=\xff", 4, "\u{fffd}");
        aborted(b"cmd=abort exitcode=5", 5, "");
        aborted(b"cmd=abort", 1, "");
    }

    #[test]
    fn get_appnum_answers_with_the_number_of_the_program() {
        let mut server = PmiServer::new(&[6], &[2, 1, 3]);
        let mut number = |rank: u32| match &handle(&mut server, rank, "cmd=get_appnum")[..] {
            [PmiEffect::Send(_, line)] => {
                line.trim_end().rsplit('=').next().and_then(|n| n.parse::<u32>().ok())
            }
            _ => None,
        };
        let numbers: Vec<_> = (0..6).filter_map(&mut number).collect();
        assert_eq!(numbers, [0, 0, 1, 2, 2, 2]);
    }

    #[test]
    fn a_rank_that_puts_without_end_is_answered_and_fails() {
        let mut server = PmiServer::new(&[1], &[1]);
        let put = |number: u32| format!("cmd=put kvsname=job key=k{number} value=v");
        let out = (0..10_000).map(|number| handle(&mut server, 0, &put(number))).find(|out| out.len() > 1);
        let out = out.expect("there is a bound");
        assert_eq!(out[0], PmiEffect::Send(0, "cmd=put_result rc=-1 msg=too_much\n".to_owned()));
        let what = "it has put more than 4096 values for other ranks".to_owned();
        assert_eq!(out[1], PmiEffect::Failed(0, Ending::Misbehaved { what }));
    }

    #[test]
    fn a_request_is_shorter_than_a_report() {
        let mut server = PmiServer::new(&[1], &[1]);
        let long = "x".repeat(REQUEST_MAX);
        assert!(matches!(
            &handle(&mut server, 0, &format!("cmd=report {long}"))[..],
            [PmiEffect::Report(..)]
        ));
        let out = handle(&mut server, 0, &format!("cmd=get key={long}"));
        let [PmiEffect::Failed(0, Ending::Misbehaved { what })] = &out[..] else { panic!("{out:?}") };
        assert!(what.starts_with("a line is longer than 64 KiB: `cmd=get key=xxx"), "{what}");
    }

    #[test]
    fn a_mapping_that_no_value_can_hold_is_left_out() {
        let ranks: Vec<u32> = (0..400).map(|node| node % 2 + 1).collect();
        let mut server = PmiServer::new(&ranks, &[600]);
        check(
            &mut server,
            "cmd=get kvsname=job key=PMI_process_mapping",
            "cmd=get_result rc=-1 msg=key_not_found",
        );
    }

    proptest! {
        #[test]
        fn any_lines_are_answered_or_refused(lines in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..40),
                "cmd=(init|put|get|barrier_in|abort|finalize|report|x)( (kvsname=job|key=[a-z]?|value=.?|exitcode=[-0-9]{0,12}|=)){0,4}"
                    .prop_map(String::into_bytes),
            ], 0..30), ranks in proptest::collection::vec(0u32..3, 30)) {
            let mut server = PmiServer::new(&[3], &[3]);
            for (line, rank) in lines.iter().zip(ranks) {
                let mut out = Vec::new();
                server.handle(rank, line, &mut out);
                prop_assert!(out.len() <= 3);
                for effect in out {
                    if let PmiEffect::Send(_, line) = effect {
                        prop_assert_eq!(line.matches('\n').count(), 1);
                    }
                }
            }
        }
    }
}
