//! Host files: a line for each host that a job may use, as other launchers and batch systems write them.

use crate::error::LaunchError;
use crate::job::Host;
use std::collections::HashMap;

impl Host {
    /// The hosts that a file of this name lists, one in each line: `HOST`, `HOST:RANKS` or `HOST slots=RANKS`; `#` begins a
    /// comment. Batch systems write a line for each processor of a host: a host with several lines takes as many ranks as
    /// all its lines together say.
    ///
    /// # Errors
    /// When the text has no host, or has an invalid line, which the error names.
    pub fn listed_in(name: &str, text: &str) -> Result<Vec<Self>, LaunchError> {
        let mut hosts = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                let wrong = |found: &str, expected| LaunchError::InvalidHostFile {
                    file: name.to_owned(),
                    line: Some(number),
                    found: found.to_owned(),
                    expected,
                };
                hosts.push(entry(line, wrong)?);
            }
        }
        if hosts.is_empty() {
            let (found, expected) = ("no host".to_owned(), "a line for each, as in `node1 slots=4`");
            return Err(LaunchError::InvalidHostFile { file: name.to_owned(), line: None, found, expected });
        }
        Ok(Self::merge(hosts))
    }

    /// Each host once, in the order of first mention, with the ranks of all its entries.
    pub fn merge(hosts: Vec<Self>) -> Vec<Self> {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut merged: Vec<Self> = Vec::new();
        for host in hosts {
            match places.get(&host.name) {
                Some(place) => merged[*place].ranks = merged[*place].ranks.saturating_add(host.ranks),
                None => {
                    places.insert(host.name.clone(), merged.len());
                    merged.push(host);
                }
            }
        }
        merged
    }
}

fn entry(line: &str, wrong: impl Fn(&str, &'static str) -> LaunchError) -> Result<Host, LaunchError> {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let mut host = Host::parse(first)
        .map_err(|_| wrong(first, "HOST, HOST:RANKS or HOST slots=RANKS, as in `node1:4`"))?;
    for word in words {
        let slots = word.strip_prefix("slots=").filter(|_| !first.contains(':'));
        let slots = slots.ok_or_else(|| wrong(word, "nothing behind the host but slots=RANKS, once"))?;
        let count = slots.parse().ok().filter(|count| *count > 0 && line.matches("slots=").count() == 1);
        host.ranks = count.ok_or_else(|| wrong(word, "slots=RANKS with a number from 1, once"))?;
    }
    Ok(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Vec<(String, u32)>, String> {
        let pairs = |hosts: Vec<Host>| hosts.into_iter().map(|host| (host.name, host.ranks)).collect();
        Host::listed_in("hosts", text).map(pairs).map_err(|error| error.to_string())
    }

    #[test]
    fn each_line_is_a_host() {
        let text = "# nodes\n\nnode1\nnode2:4  # the big one\n  me@node3 slots=2\r\n";
        let expected = [("node1", 1), ("node2", 4), ("me@node3", 2)];
        assert_eq!(read(text), Ok(expected.map(|(name, ranks)| (name.to_owned(), ranks)).to_vec()));
        assert_eq!(read("a\na\nb:2\na\n"), Ok(vec![("a".to_owned(), 3), ("b".to_owned(), 2)]));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let check = |text: &str, says: &str| {
            let error = read(text).expect_err("it is wrong");
            assert!(error.starts_with(says), "{error}");
        };
        check("a\nb c\n", "hosts:2: found `c`, expected nothing behind the host but slots=RANKS");
        check("a slots=0", "hosts:1: found `slots=0`, expected slots=RANKS with a number from 1");
        check("a slots=1 slots=2", "hosts:1: found `slots=1`, expected slots=RANKS");
        check("a:2 slots=2", "hosts:1: found `slots=2`, expected nothing");
        check("\n-oProxyCommand=x", "hosts:2: found `-oProxyCommand=x`, expected HOST, ");
        check("# nobody\n", "hosts: found `no host`, expected a line for each");
    }

    proptest! {
        #[test]
        fn any_line_is_a_host_or_an_error(line in "[a-b:=# 0-9]{0,6}( slots=[0-9]{0,12})?\\PC{0,3}") {
            let _ = entry(line.trim(), |found, expected| LaunchError::InvalidHostFile {
                file: String::new(), line: None, found: found.to_owned(), expected,
            });
        }
    }
}
