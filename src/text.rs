//! Cutting and cleaning text, always between characters: Rust panics on a
//! slice that ends inside one, and tool output is full of accents and emoji.

use std::str;

/// The first `n` characters of `text`.
pub fn head(text: &str, n: usize) -> &str {
    match text.char_indices().nth(n) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// The last `n` characters of `text`.
pub fn tail(text: &str, n: usize) -> &str {
    match text.char_indices().rev().take(n).last() {
        Some((start, _)) => &text[start..],
        None => "",
    }
}

/// Shortens `text` to about `max_chars` characters. Both ends are kept: a log
/// starts with what was asked and ends with the error.
pub fn head_tail(text: &str, max_chars: usize) -> String {
    let mut buffer = HeadTail::new(max_chars);
    buffer.push_str(text);
    buffer.shorten();
    buffer.joined()
}

/// Makes text safe to print on a terminal. Control characters could move the
/// cursor, recolour the screen or fake a prompt; the invisible ones that
/// reverse the writing direction could show another command than the one
/// that runs. Newlines and tabs stay.
pub fn printable(text: &str) -> String {
    text.replace("\r\n", "\n").chars().map(visible).collect()
}

fn visible(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        // Unicode has a picture for each: the escape character becomes `␛`.
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}' => '\u{fffd}',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ => c,
    }
}

/// Collects a stream of bytes of any length as text, in bounded memory: the
/// first and the last characters are kept, those between are counted.
///
/// Bytes that are not UTF-8 become U+FFFD. NUL characters are dropped, because
/// some servers refuse every later request that contains one.
pub struct HeadTail {
    max_chars: usize,
    head: String,
    tail: String,
    /// Characters that lay between `head` and `tail`.
    cut: usize,
    /// The first bytes of a character whose last ones have not come yet.
    unfinished: Vec<u8>,
    replaced: bool,
}

impl HeadTail {
    /// An empty buffer for at most `max_chars` characters.
    pub fn new(max_chars: usize) -> Self {
        Self {
            max_chars,
            head: String::new(),
            tail: String::new(),
            cut: 0,
            unfinished: Vec::new(),
            replaced: false,
        }
    }

    /// Adds bytes; a character may be split between two calls.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut all = std::mem::take(&mut self.unfinished);
        all.extend_from_slice(bytes);
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.push_str(chunk.valid());
            let bad = chunk.invalid();
            if chunks.peek().is_none() && may_go_on(bad) {
                self.unfinished = bad.to_vec();
            } else if !bad.is_empty() {
                self.replace();
            }
        }
    }

    fn replace(&mut self) {
        self.replaced = true;
        self.push_str("\u{fffd}");
    }

    fn push_str(&mut self, text: &str) {
        self.tail.extend(text.split('\0'));
        // Only now and then, so that the cost per byte stays small. A
        // character has at most four bytes: nothing is cut too early.
        if self.tail.len() > 8 * self.max_chars + 65_536 {
            self.shorten();
        }
    }

    /// Cuts the middle out if there are more characters than allowed.
    fn shorten(&mut self) {
        if self.cut == 0 && self.tail.chars().count() <= self.max_chars {
            return;
        }
        if self.cut == 0 {
            self.head = head(&self.tail, self.max_chars.div_ceil(2)).to_string();
            self.tail.drain(..self.head.len());
        }
        let keep = tail(&self.tail, self.max_chars / 2).len();
        let end = self.tail.len() - keep;
        self.cut += self.tail[..end].chars().count();
        self.tail.drain(..end);
    }

    fn joined(&self) -> String {
        let (head, cut, tail) = (&self.head, self.cut, &self.tail);
        match cut {
            0 => tail.clone(),
            _ => format!("{head}\n[... {cut} characters cut ...]\n{tail}"),
        }
    }

    /// The text without trailing white space, with a marker where characters
    /// were cut, and whether bytes had to be replaced.
    pub fn finish(mut self) -> (String, bool) {
        if !self.unfinished.is_empty() {
            self.replace();
        }
        self.tail.truncate(self.tail.trim_end().len());
        self.shorten();
        (self.joined(), self.replaced)
    }
}

/// Whether more bytes could still turn `bytes` into a character.
fn may_go_on(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: &str = "aé漢🦀\u{301}z";

    fn collect(pieces: &[&[u8]], max_chars: usize) -> (String, bool) {
        let mut buffer = HeadTail::new(max_chars);
        for piece in pieces {
            buffer.push(piece);
        }
        buffer.finish()
    }

    #[test]
    fn heads_and_tails_end_between_characters() {
        let chars: Vec<char> = MIXED.chars().collect();
        for n in 0..=chars.len() + 1 {
            let kept = n.min(chars.len());
            let first: String = chars[..kept].iter().collect();
            let last: String = chars[chars.len() - kept..].iter().collect();
            assert_eq!(head(MIXED, n), first);
            assert_eq!(tail(MIXED, n), last);
        }
    }

    #[test]
    fn emoji_at_every_offset_around_the_cut() {
        for before in 0..12 {
            let text = format!("{}🦀{}", "a".repeat(before), "z".repeat(12));
            for max in 0..30 {
                let cut = text.chars().count().saturating_sub(max);
                let short = head_tail(&text, max);
                let marker = format!("\n[... {cut} characters cut ...]\n");
                assert_eq!(short.contains(&marker), cut > 0, "{before} {max}");
                assert!(short.chars().count() <= max + marker.len());
            }
        }
    }

    #[test]
    fn head_and_tail_are_kept() {
        let cut = "\n[... 4 characters cut ...]\n";
        assert_eq!(head_tail("abc1234xyz", 6), format!("abc{cut}xyz"));
        assert_eq!(head_tail("abcxyz", 6), "abcxyz");
        assert_eq!(head_tail("abcxyz ", 7), "abcxyz ");
    }

    #[test]
    fn a_character_may_arrive_in_pieces() {
        let bytes = MIXED.as_bytes();
        for at in 0..=bytes.len() {
            let whole = collect(&[&bytes[..at], &bytes[at..]], 100);
            assert_eq!(whole, (MIXED.to_string(), false), "{at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(collect(&single, 100), (MIXED.to_string(), false));
    }

    #[test]
    fn invalid_bytes_are_replaced_as_the_standard_library_does() {
        let cases: [&[u8]; 6] = [
            b"a\xffb",
            b"\xff\xfe",
            b"x\xf0\x9f",
            b"\xf0\x9fx",
            b"\xc3\xc3\xa9",
            b"\xed\xa0\x80",
        ];
        for bytes in cases {
            let (text, replaced) = collect(&[bytes], 100);
            assert_eq!(text, String::from_utf8_lossy(bytes), "{bytes:x?}");
            assert!(replaced);
        }
        let genuine = collect(&["\u{fffd}".as_bytes()], 100);
        assert_eq!(genuine, ("\u{fffd}".to_string(), false));
    }

    #[test]
    fn nul_and_trailing_blanks_do_not_survive() {
        assert_eq!(collect(&[b"a\0b\0\n \n"], 3), ("ab".to_string(), false));
        assert_eq!(collect(&[b"abc\n"], 3), ("abc".to_string(), false));
    }

    #[test]
    fn memory_is_bounded_and_the_count_is_exact() {
        let mut buffer = HeadTail::new(10);
        let line = "0123456789é".as_bytes();
        for _ in 0..100_000 {
            buffer.push(line);
            assert!(buffer.tail.len() < 100_000);
        }
        let (text, _) = buffer.finish();
        let cut = 11 * 100_000 - 10;
        let marker = format!("\n[... {cut} characters cut ...]\n");
        assert_eq!(text, format!("01234{marker}6789é"));
    }

    #[test]
    fn control_characters_are_shown_not_obeyed() {
        assert_eq!(printable("\x1b[31mred\x07"), "␛[31mred␇");
        assert_eq!(printable("a\r\nb\tc\rd"), "a\nb\tc␍d");
        assert_eq!(printable("\u{9b}2J\u{7f}"), "\u{fffd}2J␡");
        assert_eq!(printable("rm \u{202e}x"), "rm \u{fffd}x");
        assert_eq!(printable(MIXED), MIXED);
    }
}
