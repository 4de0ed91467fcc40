//! The data of unexpected messages.

use carrousel_rank::Kept;
use carrousel_system::{Point, SYSTEM, System};
use std::collections::HashMap;

/// The most unused buffers that are kept for further messages.
const SPARE: usize = 64;

/// The data of messages that arrived before their receive, by message.
#[derive(Debug, Default)]
pub(crate) struct UnexpectedBuffers {
    data: HashMap<Kept, Vec<u8>>,
    spare: Vec<Vec<u8>>,
}

impl UnexpectedBuffers {
    /// Memory for the `len` bytes of a message.
    pub(crate) fn keep(&mut self, kept: Kept, len: usize) -> &mut [u8] {
        SYSTEM.passes(Point::Kept { bytes: len });
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(len, 0);
        self.data.entry(kept).insert_entry(buffer).into_mut()
    }

    /// Passes the data of a message to `read`, and forgets it.
    pub(crate) fn take(&mut self, kept: Kept, read: impl FnOnce(&[u8])) {
        if let Some(buffer) = self.data.remove(&kept) {
            SYSTEM.passes(Point::Taken { bytes: buffer.len() });
            read(&buffer);
            if self.spare.len() < SPARE {
                self.spare.push(buffer);
            }
        }
    }
}
