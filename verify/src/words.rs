//! The library's own words, explained in a line each for readers who know MPI.

/// Each word with its meaning, in the order in which they are explained.
const WORDS: [(&str, &str); 24] = [
    ("EAGER", "a packet with a small message, sent without asking whether there is a receive"),
    ("RTS", "announces a message, whose data moves only once there is a receive (ready to send)"),
    ("RTR", "announces a receive to its sender (ready to receive)"),
    ("RTR-ACK", "a packet that says which send goes into an announced receive"),
    ("RTS-ACK", "a packet that says that an announced message has its receive"),
    ("CTS", "a packet that lets a sender write into a receive (clear to send)"),
    ("ATS", "a packet that says that the receiver has read the data: the send is complete"),
    ("ATP", "a packet that says that the sender has written the data: the receive is complete"),
    ("FIN", "a packet behind the data of a message: the receive is complete"),
    ("CANCEL", "a packet that takes an announced receive back"),
    ("CANCEL-ACK", "a packet that says that an announced receive is taken back"),
    ("ACK", "a packet that says that a packet has been taken"),
    ("GRANT", "a target admits an origin to its memory, by a post, a fence or a lock"),
    ("DONE", "an origin has ended an access epoch, and its data is there"),
    ("LOCK", "an origin requests the lock of a target"),
    ("UNLOCK", "an origin releases the lock of a target"),
    ("Late Post", "an origin has to wait because its target has not called post yet"),
    ("Late Complete", "a target has to wait because an origin has not called complete yet"),
    ("Early Fence", "a rank has called its fence while data was still on its way to it"),
    ("Wait at Fence", "a rank has called its fence, and another one has not"),
    ("Late Unlock", "an origin has to wait for a lock whose holder has not called unlock yet"),
    ("STAGE", "an origin asks for a buffer for the operand of a large accumulate"),
    ("BUFFER", "a target has a buffer for the operand of a large accumulate"),
    ("staging buffer", "memory at a target for the operand of a large accumulate"),
];

/// The words that stand in a text, with their meanings.
pub fn words_of(text: &str) -> Vec<(&'static str, &'static str)> {
    let is_part = |byte: Option<u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let stands = |word: &str| {
        text.match_indices(word).any(|(at, _)| {
            let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at).copied());
            !is_part(before) && !is_part(text.as_bytes().get(at + word.len()).copied())
        })
    };
    WORDS.into_iter().filter(|(word, _)| stands(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_explained_where_it_stands_as_a_whole() {
        let found = |text| words_of(text).into_iter().map(|(word, _)| word).collect::<Vec<_>>();
        assert_eq!(found("sends RTS to rank 1 (Late Post)"), ["RTS", "Late Post"]);
        assert_eq!(found("RTR-ACK of rank 0"), ["RTR-ACK"]);
        assert_eq!(found("STARTS, and nothing else"), [""; 0]);
    }
}
