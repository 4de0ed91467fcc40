//! Host files: a line for each host that a job may use, as other launchers and batch systems write them.

use crate::error::LaunchError;
use crate::job::Host;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of the longest host file: some hundred thousand hosts.
const BYTES_MAX: u64 = 16 << 20;

/// The text of a file, or of a pipe, as batch systems give one. A device without an end is an error.
fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        let what =
            format!("it is too long for a list of hosts, or has no end: expected at most {BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(text)
}

impl Host {
    /// Reads a file with a host in each line: `HOST`, `HOST:RANKS` or `HOST slots=RANKS`; `#` begins a comment.
    /// Batch systems write a line for each processor of a host: a host with several lines takes as many ranks as all
    /// its lines together say.
    ///
    /// # Errors
    /// When the file cannot be read, is longer than 16 MiB, has no host, or has an invalid line, which the error names.
    pub fn read_file(file: &Path) -> Result<Vec<Self>, LaunchError> {
        let text = read_text(file).map_err(|source| LaunchError::File {
            doing: "read",
            path: file.to_owned(),
            source,
        })?;
        let name = file.display().to_string();
        let mut hosts = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                let wrong = |found: &str, expected| LaunchError::InvalidHostFile {
                    file: name.clone(),
                    line: Some(number),
                    found: found.to_owned(),
                    expected,
                };
                hosts.push(entry(line, wrong)?);
            }
        }
        if hosts.is_empty() {
            let (found, expected) = ("no host".to_owned(), "a line for each, as in `node1 slots=4`");
            return Err(LaunchError::InvalidHostFile { file: name, line: None, found, expected });
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
        let file = tempfile::NamedTempFile::new().expect("it can be made");
        std::fs::write(file.path(), text).expect("it can be written");
        let hosts = Host::read_file(file.path());
        let pairs = |hosts: Vec<Host>| hosts.into_iter().map(|host| (host.name, host.ranks)).collect();
        let name = file.path().display().to_string();
        hosts.map(pairs).map_err(|error| error.to_string().replace(&name, "hosts"))
    }

    #[test]
    fn each_line_is_a_host() {
        let text = "# nodes\n\nnode1\nnode2:4  # the big one\n  me@node3 slots=2\r\n";
        let expected = [("node1", 1), ("node2", 4), ("me@node3", 2)];
        assert_eq!(read(text), Ok(expected.map(|(name, ranks)| (name.to_owned(), ranks)).to_vec()));
        assert_eq!(read("a\na\nb:2\na\n"), Ok(vec![("a".to_owned(), 3), ("b".to_owned(), 2)]));
    }

    #[test]
    fn a_device_without_an_end_is_an_error() {
        let error = Host::read_file(Path::new("/dev/zero")).expect_err("it lists no hosts").to_string();
        assert!(error.contains("/dev/zero") && error.contains("has no end"), "{error}");
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
        let missing = Host::read_file(Path::new("/nowhere/hosts")).expect_err("there is none");
        assert!(missing.to_string().starts_with("cannot read /nowhere/hosts: "), "{missing}");
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
