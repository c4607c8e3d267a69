//! Reading JSON that is almost right.

use serde_json::{Error, Value};
use std::borrow::Cow;

/// Parses a body. Half of a surrogate pair (`\ud83d` alone, cut by a careless
/// program) would cost the whole answer, so it becomes a replacement character.
///
/// # Errors
/// What is wrong with the text, if that was not it.
pub fn parse(text: &str) -> Result<Value, Error> {
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str(text).or_else(|error| match mend(text) {
        Cow::Owned(text) => serde_json::from_str(&text),
        Cow::Borrowed(_) => Err(error),
    })
}

fn mend(text: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    let (mut done, mut at) = (0, 0);
    while let Some(found) = text[at..].find('\\') {
        at += found;
        at += match (escape(text, at), escape(text, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                mended += &text[done..at];
                mended += "\\ufffd";
                done = at + 6;
                6
            }
            (Some(_), _) => 6,
            // The character behind a backslash may be long, or missing.
            (None, _) => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    if done == 0 { Cow::Borrowed(text) } else { Cow::Owned(mended + &text[done..]) }
}

/// The number of a `\uXXXX` that begins at `at`.
fn escape(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn half_pairs_do_not_lose_the_body() {
        for (text, expected) in [
            (r#"["a\ud83d"]"#, "a\u{fffd}"),
            (r#"["\ude00b\ud83d\ude00"]"#, "\u{fffd}b😀"),
            (r#"["\ud83dé\ud83d\ud83d\ude00"]"#, "\u{fffd}é\u{fffd}😀"),
            (r#"["\\ud83d \ud83d\n"]"#, "\\ud83d \u{fffd}\n"),
        ] {
            assert_eq!(parse(text).unwrap(), json!([expected]), "{text}");
        }
    }

    #[test]
    fn other_mistakes_stay_mistakes() {
        for text in ["", "[", r#"["\"#, r#"["\é"]"#, r#"["\ud83d"#, r#"["\ud8"]"#] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("\u{feff}\n\n[1]").unwrap(), json!([1]));
    }
}
