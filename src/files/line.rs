//! One line of a file that may be a single line of a hundred megabytes.

use std::{
    io::{self, BufRead},
    str,
};

use crate::text::head;

/// How many characters of a line the model gets to see.
pub(super) const MAX_LINE_CHARS: usize = 2_000;
const BOM: char = '\u{feff}';

/// One line, of which only the beginning is kept if it is very long.
#[derive(Default)]
pub(super) struct Line {
    bytes: Vec<u8>,
    /// Characters behind `bytes`.
    cut: usize,
    ended: bool,
}

impl Line {
    pub(super) fn read(
        reader: &mut impl BufRead,
        wanted: bool,
    ) -> io::Result<Option<Self>> {
        // A character has at most four bytes; then the line end.
        let most = if wanted { 4 * MAX_LINE_CHARS + 8 } else { 0 };
        let mut line = Self::default();
        let mut found = false;
        while !line.ended {
            let chunk = reader.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            found = true;
            let n = line.add(chunk, most);
            reader.consume(n);
        }
        Ok(found.then_some(line))
    }

    /// Takes this line's part of `chunk` and returns its length.
    fn add(&mut self, chunk: &[u8], most: usize) -> usize {
        let newline = chunk.iter().position(|byte| *byte == b'\n');
        self.ended = newline.is_some();
        let part = &chunk[..newline.unwrap_or(chunk.len())];
        let room = most.saturating_sub(self.bytes.len()).min(part.len());
        self.bytes.extend_from_slice(&part[..room]);
        // Every byte but the continuations (binary 10...) starts a character.
        let starts = |byte: &&u8| *byte & 0xc0 != 0x80;
        self.cut += part[room..].iter().filter(starts).count();
        part.len() + usize::from(self.ended)
    }

    /// The text for the model with its number of characters.
    pub(super) fn shown(&self, is_first: bool) -> (String, usize) {
        let text = String::from_utf8_lossy(&self.bytes);
        let mut text = text.as_ref();
        if is_first {
            text = text.strip_prefix(BOM).unwrap_or(text);
        }
        if self.ended && self.cut == 0 {
            text = text.strip_suffix('\r').unwrap_or(text);
        }
        let start = head(text, MAX_LINE_CHARS);
        let cut = self.cut + text[start.len()..].chars().count();
        let mut shown = start.to_string();
        if cut > 0 {
            shown += &format!(" [... {cut} characters cut ...]");
        }
        if self.ended {
            shown.push('\n');
        }
        let chars = shown.chars().count();
        (shown, chars)
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.cut == 0 && str::from_utf8(&self.bytes).is_err()
    }
}
