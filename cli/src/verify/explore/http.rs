//! The head of an HTTP request, and the answer to it. Nothing about a request is trusted.
//!
//! **Promises.** A request takes a bounded time and memory, whatever its sender does: its line, its header fields, and the
//! time until they have come are bounded; a body is refused, not read.
//! - Whoever asks a name that is not this host's gets nothing: a page of another site, whose name its owner has made point
//!   here, would otherwise read what only this host may see.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

/// Bytes of a request's first line. The path of a state has a few for each step.
pub(super) const LINE_MAX: usize = 8 << 10;
/// Bytes of all header fields. Browsers send fewer than a thousand.
pub(super) const FIELDS_MAX: usize = 8 << 10;
/// How long a request may take to come, and an answer to be taken.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// How long an answer waits until its sender has stopped sending, and how much it may send: a connection that is closed
/// with bytes unread is reset, and the answer lost.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 256 << 10;

/// A status of HTTP, with the words that say why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) u16, pub(super) &'static str);

impl Refusal {
    const MALFORMED: Self = Self(400, "this is no request of HTTP/1");
    const NO_HOST: Self = Self(400, "a request names its host once");
    const LENGTH: Self = Self(400, "a length is a number, and there is one");
    pub(super) const FORBIDDEN: Self =
        Self(403, "the address that the command has printed goes on with a secret");
    pub(super) const UNKNOWN: Self = Self(404, "there is no such state, or page");
    const METHOD: Self = Self(405, "states can be got, and nothing else");
    const LATE: Self = Self(408, "the request has not come in time");
    const BODY: Self = Self(413, "a request has no body here");
    const LINE: Self = Self(414, "the address is too long");
    const HOST: Self = Self(421, "only this host's own name and addresses are served");
    const FIELDS: Self = Self(431, "there are too many header fields");
    const CODING: Self = Self(501, "a body, which would be coded, is not read here");
    pub(super) const CROWDED: Self = Self(503, "too many connections are open");
    const VERSION: Self = Self(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");

    fn reason(self) -> &'static str {
        match self.0 {
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            413 => "Content Too Large",
            414 => "URI Too Long",
            421 => "Misdirected Request",
            431 => "Request Header Fields Too Large",
            501 => "Not Implemented",
            503 => "Service Unavailable",
            _ => "HTTP Version Not Supported",
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The path, without what stands behind a `?`.
    pub(super) path: String,
    /// Only the head of the answer is asked for.
    pub(super) head_only: bool,
}

/// Reads a request. `None` if its sender has left before its end.
pub(super) fn read(stream: &TcpStream) -> Result<Option<Request>, Refusal> {
    let (deadline, mut from) = (Instant::now() + PATIENCE, stream);
    let (mut head, mut piece) = (Vec::new(), [0; 2048]);
    loop {
        let seen = head.len();
        match read_before(&mut from, stream, deadline, &mut piece) {
            Ok(0) => return Ok(None),
            Ok(count) => head.extend_from_slice(&piece[..count]),
            Err(error) if is_timeout(&error) => return Err(Refusal::LATE),
            Err(_) => return Ok(None),
        }
        if let Some(request) = parse(&head, seen)? {
            return Ok(Some(request));
        }
    }
}

fn read_before(
    from: &mut impl Read,
    stream: &TcpStream,
    deadline: Instant,
    piece: &mut [u8],
) -> io::Result<usize> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match from.read(piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The request of these bytes; `None` if more have to come. The first `seen` of them had been looked at before.
fn parse(bytes: &[u8], seen: usize) -> Result<Option<Request>, Refusal> {
    let Some(line_end) = bytes.iter().take(LINE_MAX + 1).position(|byte| *byte == b'\n') else {
        return if bytes.len() > LINE_MAX { Err(Refusal::LINE) } else { Ok(None) };
    };
    // The end may have begun in what had been looked at.
    let from = seen.saturating_sub(3).max(line_end);
    let ends = |at: &usize| bytes[*at..].starts_with(b"\n\r\n") || bytes[*at..].starts_with(b"\n\n");
    let end = (from..bytes.len()).find(ends);
    if end.unwrap_or(bytes.len()) - line_end > FIELDS_MAX {
        return Err(Refusal::FIELDS);
    }
    let Some(end) = end else { return Ok(None) };
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| Refusal::MALFORMED)?;
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let request = first_line(lines.next().unwrap_or_default())?;
    let fields: Vec<(&str, &str)> = lines.map(field).collect::<Option<_>>().ok_or(Refusal::MALFORMED)?;
    let all = |name: &str| {
        fields.iter().filter(move |field| field.0.eq_ignore_ascii_case(name)).map(|field| field.1).collect()
    };
    let hosts: Vec<&str> = all("host");
    let [host] = hosts[..] else { return Err(Refusal::NO_HOST) };
    if !is_here(host) {
        return Err(Refusal::HOST);
    }
    let codings: Vec<&str> = all("transfer-encoding");
    if !codings.is_empty() {
        return Err(Refusal::CODING);
    }
    let lengths: Vec<&str> = all("content-length");
    match lengths[..] {
        [] => {}
        [length] if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) => {
            return Err(Refusal::LENGTH);
        }
        [length] if length.bytes().all(|byte| byte == b'0') => {}
        [_] => return Err(Refusal::BODY),
        _ => return Err(Refusal::LENGTH),
    }
    Ok(Some(request))
}

fn first_line(line: &str) -> Result<Request, Refusal> {
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = words[..] else { return Err(Refusal::MALFORMED) };
    let number = version.strip_prefix("HTTP/").ok_or(Refusal::MALFORMED)?;
    if !["1.0", "1.1"].contains(&number) {
        return Err(Refusal::VERSION);
    }
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) || !target.starts_with('/')
    {
        return Err(Refusal::MALFORMED);
    }
    if !["GET", "HEAD"].contains(&method) {
        return Err(Refusal::METHOD);
    }
    let path = target.split(['?', '#']).next().unwrap_or_default().to_owned();
    Ok(Request { path, head_only: method == "HEAD" })
}

/// A header field. A line that begins with a space would continue the one before it, which no browser does any more.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    is_name.then_some((name, value.trim_matches([' ', '\t'])))
}

/// Whether a request for this host is for this one. Any port will do: ssh may have forwarded another.
fn is_here(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) if port.is_empty() || is_port(port) => name,
        Some(_) => return false,
        None => match host.find(':') {
            Some(at) if is_port(&host[at..]) => &host[..at],
            Some(_) => return false,
            None => host,
        },
    };
    let is_loopback = |address: IpAddr| address.is_loopback();
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|digits| digits.parse::<u16>().is_ok())
}

/// The answer: a page, or why there is none.
pub(super) enum Answer<'a> {
    /// A page of this type.
    Page(&'static str, &'a [u8]),
    /// No page.
    Refused(Refusal),
}

/// Refuses a request that was not read, and waits for nothing.
pub(super) fn refuse(stream: &TcpStream, why: Refusal) {
    let (status, reason) = (why.0, why.reason());
    let text = format!("HTTP/1.1 {status} {reason}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let mut to = stream;
    // A connection that takes not even this had its answer.
    let _ = stream.set_nonblocking(true).and_then(|()| to.write_all(text.as_bytes()));
}

/// Sends an answer, as far as it is taken in time, and ends the connection.
pub(super) fn answer(stream: &TcpStream, answer: &Answer<'_>, head_only: bool) {
    // What is not taken has no one to tell it to.
    let _ = try_answer(stream, answer, head_only);
}

fn try_answer(stream: &TcpStream, answer: &Answer<'_>, head_only: bool) -> io::Result<()> {
    let (status, reason, kind, refused);
    let body = match answer {
        Answer::Page(it, body) => {
            (status, reason, kind) = (200, "OK", *it);
            *body
        }
        Answer::Refused(why) => {
            (status, reason, kind) = (why.0, why.reason(), "text/plain; charset=utf-8");
            refused = format!("{}\n", why.1);
            refused.as_bytes()
        }
    };
    let allow = if status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    // A page of this server loads nothing but from it, is shown in no frame, and tells no other its address.
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n{allow}\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: default-src 'none'; script-src 'self'; \
         style-src 'self'; connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; \
         form-action 'none'\r\n\r\n",
        body.len()
    );
    let mut bytes = head.into_bytes();
    if !head_only {
        bytes.extend_from_slice(body);
    }
    let deadline = Instant::now() + PATIENCE;
    let (mut to, mut left) = (stream, &bytes[..]);
    while !left.is_empty() {
        let time = deadline.saturating_duration_since(Instant::now());
        if time.is_zero() {
            return Ok(());
        }
        stream.set_write_timeout(Some(time))?;
        match to.write(left) {
            Ok(count) => left = &left[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    let (deadline, mut from, mut read, mut piece) = (Instant::now() + LINGER, stream, 0, [0; 4096]);
    while read < LINGER_BYTES {
        match read_before(&mut from, stream, deadline, &mut piece)? {
            0 => break,
            count => read += count,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All at once, and byte by byte: the two say the same.
    fn check(text: &str) -> Result<Option<Request>, Refusal> {
        let whole = parse(text.as_bytes(), 0);
        let mut pieces = Ok(None);
        for end in 1..=text.len() {
            pieces = parse(&text.as_bytes()[..end], end - 1);
            if pieces != Ok(None) {
                break;
            }
        }
        assert_eq!(whole, pieces, "{text:?}");
        whole
    }

    fn refused(text: &str) -> u16 {
        check(text).expect_err(text).0
    }

    #[test]
    fn a_request_is_understood() {
        fn path(text: &str) -> Option<(String, bool)> {
            check(text).expect("right").map(|it| (it.path, it.head_only))
        }
        let host = "Host: 127.0.0.1:3000\r\n\r\n";
        assert_eq!(path(&format!("GET /a/b?c HTTP/1.1\r\n{host}")), Some(("/a/b".to_owned(), false)));
        assert_eq!(path("HEAD / HTTP/1.0\nhost:\tLocalhost\n\n"), Some(("/".to_owned(), true)));
        assert_eq!(
            path(&format!("GET / HTTP/1.1\r\nContent-Length: 0\r\n{host}")),
            Some(("/".to_owned(), false))
        );
        assert_eq!(path("GET / HTTP/1.1\r\nHost: localhost\r\n"), None);
    }

    #[test]
    fn a_body_is_refused_however_long_it_says_it_is() {
        let with = |field: &str| refused(&format!("GET / HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n"));
        assert_eq!(with("Content-Length: 99999999999999"), 413);
        assert_eq!(with("Content-Length: 99999999999999999999999999999999999999999999"), 413);
        for wrong in ["", "-1", "+1", "0x1", "1 1", "0\r\nContent-Length: 0"] {
            assert_eq!(with(&format!("Content-Length: {wrong}")), 400, "{wrong}");
        }
        assert_eq!(with("Transfer-Encoding: chunked"), 501);
    }

    #[test]
    fn only_this_host_is_served() {
        let of =
            |host: &str| check(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).map_err(|it| it.0).err();
        for here in ["localhost", "LOCALHOST:1", "127.0.0.1", "127.9.9.9:65535", "[::1]", "[::1]:80"] {
            assert_eq!(of(here), None, "{here}");
        }
        for other in
            ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "0.0.0.0", "10.0.0.1"]
        {
            assert_eq!(of(other), Some(421), "{other}");
        }
        for other in [
            "localhost:",
            "localhost:99999",
            "[::1",
            "[::1]x",
            "::1",
            "localhost:80:80",
            "[::2]",
            "localhost@x",
        ] {
            assert_eq!(of(other), Some(421), "{other}");
        }
        assert_eq!(refused("GET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"), 400);
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_reason() {
        let rest = "Host: localhost\r\n\r\n";
        for wrong in ["GET /", "", "GET  / HTTP/1.1", "GET http://x/ HTTP/1.1", "g / HTTP/1.1", "GET / FTP/1"]
        {
            assert_eq!(refused(&format!("{wrong}\r\n{rest}")), 400, "{wrong}");
        }
        assert_eq!(refused(&format!("POST / HTTP/1.1\r\n{rest}")), 405);
        assert_eq!(refused(&format!("GET / HTTP/2\r\n{rest}")), 505);
        assert_eq!(refused(&format!("GET / HTTP/1.1\r\nno field\r\n{rest}")), 400);
        assert_eq!(refused(&format!("GET / HTTP/1.1\r\n folded: x\r\n{rest}")), 400);
        assert_eq!(parse(b"GET /\xff HTTP/1.1\r\n\r\n", 0), Err(Refusal::MALFORMED));
    }

    #[test]
    fn a_line_and_the_fields_have_an_end() {
        assert_eq!(refused(&"x".repeat(LINE_MAX + 1)), 414);
        assert_eq!(parse("x".repeat(LINE_MAX).as_bytes(), 0), Ok(None));
        let long = format!("GET / HTTP/1.1\r\n{}", "a: b\r\n".repeat(FIELDS_MAX / 6 + 2));
        assert_eq!(refused(&long), 431);
    }
}
