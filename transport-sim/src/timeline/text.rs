//! Text in a drawing: its width, its escapes, and free places for it.

/// The approximate width of a text in the drawing, in pixels.
pub(super) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.2
}

/// A number of bytes with a unit, where that is exact.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes}"),
    }
}

/// A text with the escapes of XML.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Control characters are not allowed in XML.
            _ if letter.is_control() => escaped.push(' '),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// The height of a line of text.
const LINE: f64 = 12.0;

/// The places of texts so far.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Left end, base line, right end.
    taken: Vec<(f64, f64, f64)>,
}

impl Places {
    /// Takes a place if it is free.
    pub(super) fn take(&mut self, x: f64, y: f64, width: f64) -> bool {
        let free = self.taken.iter().all(|(left, line, right)| {
            (line - y).abs() >= LINE || *right + 3.0 <= x || x + width + 3.0 <= *left
        });
        if free {
            self.taken.push((x, y, x + width));
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_do_not_overlap() {
        let mut places = Places::default();
        assert!(places.take(0.0, 0.0, 50.0));
        assert!(!places.take(40.0, 5.0, 50.0));
        assert!(places.take(40.0, 12.0, 50.0));
        assert!(places.take(60.0, 0.0, 50.0));
    }

    #[test]
    fn what_xml_cannot_have_is_replaced() {
        assert_eq!(escape("a<b>&\"\u{1}"), "a&lt;b&gt;&amp;&quot; ");
    }
}
