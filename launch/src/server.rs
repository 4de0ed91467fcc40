//! The launcher's side of PMI-1: what each line of a rank means. One function from a line to effects.

use crate::ending::Ending;
use crate::line::{Line, Writer};
use crate::mapping;
use std::collections::HashMap;

/// The longest line that a rank may send. Reports are the only long ones.
pub(crate) const LINE_MAX: usize = 16 << 20;
const KEY_MAX: usize = 64;
const VALUE_MAX: usize = 1024;
/// What this launcher adds to the answer to `init`, so that a client knows that it may report.
pub(crate) const OURS: &str = "carrousel";
/// What a report begins with. The rest of the line is the caller's.
pub(crate) const REPORT: &[u8] = b"cmd=report ";
const STORE: &str = "job";

/// What follows from a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// This rank is sent this line.
    Send(u32, String),
    /// The rank takes part: others may wait for it from now on.
    Initialised(u32),
    /// Nobody needs to wait for the rank any more.
    Finalised(u32),
    /// The rank cannot go on, or must not.
    Failed(u32, Ending),
    /// The rank has said something that the caller understands.
    Report(u32, String),
}

/// The store and the barrier of one job.
#[derive(Debug)]
pub(crate) struct Server {
    size: u32,
    store: HashMap<String, String>,
    waiting: Vec<bool>,
    arrived: u32,
}

impl Server {
    /// For ranks that are on nodes 0, 1, ..., so many on each.
    pub(crate) fn new(ranks_by_node: &[u32]) -> Self {
        let size = ranks_by_node.iter().sum();
        let mapping = mapping::write(ranks_by_node);
        // A client does without it: too long a value would break it.
        let mapping = (mapping.len() < VALUE_MAX).then(|| (mapping::KEY.to_owned(), mapping));
        Self { size, store: mapping.into_iter().collect(), waiting: vec![false; size as usize], arrived: 0 }
    }

    /// Takes a line of an existing rank, without its end. It has one effect, except `init`, `finalize`
    /// and the last `barrier_in`, which are answered too.
    pub(crate) fn handle(&mut self, rank: u32, bytes: &[u8], out: &mut Vec<Effect>) {
        if bytes.len() > LINE_MAX {
            return out.push(wrong(rank, "a line is longer than 16 MiB"));
        }
        if let Some(report) = bytes.strip_prefix(REPORT) {
            out.push(match str::from_utf8(report) {
                Ok(report) => Effect::Report(rank, report.to_owned()),
                Err(_) => wrong(rank, "a report is not UTF-8"),
            });
            return;
        }
        let line = match Line::parse(bytes) {
            Ok(line) => line,
            Err(error) => return out.push(wrong(rank, &format!("{error}: {}", excerpt(bytes)))),
        };
        let answer = match line.command {
            "init" => {
                out.push(Effect::Initialised(rank));
                let known = line.get("pmi_version") == Some("1");
                Writer::new("response_to_init")
                    .word("pmi_version", 1)
                    .word("pmi_subversion", 1)
                    .word("rc", if known { 0 } else { -1 })
                    .word("launcher", OURS)
            }
            "get_maxes" => Writer::new("maxes")
                .word("kvsname_max", 256)
                .word("keylen_max", KEY_MAX)
                .word("vallen_max", VALUE_MAX),
            "get_universe_size" => Writer::new("universe_size").word("size", self.size),
            "get_appnum" => Writer::new("appnum").word("appnum", 0),
            "get_my_kvsname" => Writer::new("my_kvsname").word("kvsname", STORE),
            "put" => self.put(&line),
            "get" => self.get(&line),
            "barrier_in" => return self.barrier(rank, out),
            "finalize" => {
                out.push(Effect::Finalised(rank));
                Writer::new("finalize_ack")
            }
            "abort" => {
                let code = line.number("exitcode").unwrap_or(1);
                let message = line.get("message").unwrap_or_default().to_owned();
                return out.push(Effect::Failed(rank, Ending::Aborted { code, message }));
            }
            // Whoever asks for more than PMI-1 needs (spawn, publish) can do without it, or says so.
            other => Writer::new(&format!("{other}_result")).word("rc", -1).word("msg", "unknown_command"),
        };
        out.push(Effect::Send(rank, answer.finish()));
    }

    fn put(&mut self, line: &Line<'_>) -> Writer {
        let answer = |rc: i32, msg: &str| Writer::new("put_result").word("rc", rc).word("msg", msg);
        match (line.get("key"), line.get("value")) {
            _ if line.get("kvsname") != Some(STORE) => answer(-1, "unknown_kvsname"),
            (Some(key), Some(value)) if key.len() < KEY_MAX && value.len() < VALUE_MAX => {
                if self.store.contains_key(key) {
                    return answer(-1, "duplicate_key");
                }
                self.store.insert(key.to_owned(), value.to_owned());
                answer(0, "success")
            }
            (Some(_), Some(_)) => answer(-1, "too_long"),
            _ => answer(-1, "no_key_or_value"),
        }
    }

    fn get(&self, line: &Line<'_>) -> Writer {
        let answer = |rc: i32, msg: &str| Writer::new("get_result").word("rc", rc).word("msg", msg);
        if line.get("kvsname") != Some(STORE) {
            return answer(-1, "unknown_kvsname");
        }
        match line.get("key").and_then(|key| self.store.get(key)) {
            Some(value) => answer(0, "success").word("value", value),
            None => answer(-1, "key_not_found"),
        }
    }

    fn barrier(&mut self, rank: u32, out: &mut Vec<Effect>) {
        if std::mem::replace(&mut self.waiting[rank as usize], true) {
            return out.push(wrong(rank, "it entered a barrier that it has not left"));
        }
        self.arrived += 1;
        if self.arrived == self.size {
            self.arrived = 0;
            self.waiting.fill(false);
            out.extend((0..self.size).map(|rank| Effect::Send(rank, Writer::new("barrier_out").finish())));
        }
    }
}

/// The end of a rank that is not understood.
fn wrong(rank: u32, what: &str) -> Effect {
    Effect::Failed(rank, Ending::Misbehaved { what: what.to_owned() })
}

/// The line that tells a rank that another has ended.
pub(crate) fn lost(rank: u32, ending: &Ending) -> String {
    ending.write(Writer::new("lost").word("rank", rank)).finish()
}

/// The beginning of what was sent, as a person can read it on one line.
fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(60)];
    let more = if shown.len() < bytes.len() { "..." } else { "" };
    format!("`{}{more}`", shown.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn handle(server: &mut Server, rank: u32, line: &str) -> Vec<Effect> {
        let mut out = Vec::new();
        server.handle(rank, line.as_bytes(), &mut out);
        out
    }

    fn check(server: &mut Server, line: &str, answer: &str) {
        let expected = Effect::Send(0, format!("{answer}\n"));
        assert_eq!(handle(server, 0, line).last(), Some(&expected), "{line}");
    }

    #[test]
    fn it_answers_as_other_launchers_do() {
        let server = &mut Server::new(&[2, 2]);
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
    fn a_barrier_opens_for_all_when_the_last_has_come() {
        let mut server = Server::new(&[2]);
        for _ in 0..3 {
            assert_eq!(handle(&mut server, 1, "cmd=barrier_in"), []);
            let out = Writer::new("barrier_out").finish();
            let expected = [Effect::Send(0, out.clone()), Effect::Send(1, out)];
            assert_eq!(handle(&mut server, 0, "cmd=barrier_in"), expected);
        }
    }

    #[test]
    fn who_enters_a_barrier_twice_misbehaves() {
        let mut server = Server::new(&[2]);
        handle(&mut server, 1, "cmd=barrier_in");
        let out = handle(&mut server, 1, "cmd=barrier_in");
        assert!(matches!(&out[..], [Effect::Failed(1, Ending::Misbehaved { .. })]), "{out:?}");
    }

    #[test]
    fn a_report_is_passed_on_as_it_is() {
        let out = handle(&mut Server::new(&[1]), 0, r#"cmd=report {"a": "b = c  d"}"#);
        assert_eq!(out, [Effect::Report(0, r#"{"a": "b = c  d"}"#.to_owned())]);
    }

    #[test]
    fn a_mapping_that_no_value_can_hold_is_left_out() {
        let ranks: Vec<u32> = (0..400).map(|node| node % 2 + 1).collect();
        let mut server = Server::new(&ranks);
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
            let mut server = Server::new(&[3]);
            for (line, rank) in lines.iter().zip(ranks) {
                let mut out = Vec::new();
                server.handle(rank, line, &mut out);
                prop_assert!(out.len() <= 3);
                for effect in out {
                    if let Effect::Send(_, line) = effect {
                        prop_assert_eq!(line.matches('\n').count(), 1);
                    }
                }
            }
        }
    }
}
