//! What the tools have to know about the bytes of a file: which line ends they
//! use, and whether they are still those that the model has seen.

use std::{
    hash::{DefaultHasher, Hasher},
    io::{self, Read},
};

/// The line end of a text, judged by its first line. The model is shown, and
/// answers with, `\n` only.
pub(super) fn line_end(text: &[u8]) -> Option<&'static str> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    match text[..end].ends_with(b"\r") {
        true => Some("\r\n"),
        false => Some("\n"),
    }
}

pub(super) fn with_line_end(text: &str, end: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', end)
}

/// A reader that takes the fingerprint of what passes through it.
pub(super) struct Fingerprint<R> {
    inner: R,
    hasher: DefaultHasher,
    pub(super) has_nul: bool,
}

impl<R: Read> Fingerprint<R> {
    pub(super) fn new(inner: R) -> Self {
        let hasher = DefaultHasher::new();
        Self { inner, hasher, has_nul: false }
    }

    /// Reads all that is left.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(self.hasher.finish())
    }
}

impl<R: Read> Read for Fingerprint<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_nul {
            // Nobody wants the rest of a binary file.
            return Ok(0);
        }
        let n = self.inner.read(buffer)?;
        self.hasher.write(&buffer[..n]);
        self.has_nul |= buffer[..n].contains(&0);
        Ok(n)
    }
}

pub(super) fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_does_not_depend_on_the_pieces() {
        let bytes: Vec<u8> = (1..=255).cycle().take(20_000).collect();
        for size in [1, 7, 8, 4096] {
            let mut pieces = Fingerprint::new(&bytes[..]);
            let mut buffer = vec![0; size];
            while pieces.read(&mut buffer).unwrap() > 0 {}
            assert_eq!(pieces.hasher.finish(), fingerprint(&bytes));
        }
    }
}
