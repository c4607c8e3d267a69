//! Keeps keys out of everything that is shown.

use reqwest::Url;

/// Shorter texts are no keys that anybody would want to steal.
pub const SHORTEST: usize = 6;

/// Replaces `key`, and all that looks like a vendor's key (`sk-…`): some
/// servers put the key that they refuse into their error.
pub fn mask(text: &str, key: Option<&str>) -> String {
    let mut text = match key {
        // A local server takes any key: an `x` would be found in every word.
        Some(key) if key.len() >= SHORTEST => text.replace(key, "[key]"),
        _ => text.to_string(),
    };
    let mut from = 0;
    while let Some(at) = text[from..].find("sk-").map(|at| from + at) {
        let end =
            at + 3 + text[at + 3..].find(ends_word).unwrap_or(text.len() - at - 3);
        let starts_word = text[..at].chars().next_back().is_none_or(ends_word);
        from = at + 3;
        if starts_word && end - at >= 8 {
            text.replace_range(from..end, "…");
        }
    }
    text
}

fn ends_word(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || "-_*".contains(c))
}

/// An address without a user name and a password.
pub fn shown(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return "(not an address)".into() };
    // Both fail only where an address cannot have them anyway.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.to_string().trim_end_matches('/').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_masked_and_words_are_not() {
        let text =
            "key sk-abcd1234, my-secret/xyz; task-12345678 sk-no 'sk-x_y-zzzz'";
        assert_eq!(
            mask(text, Some("my-secret")),
            "key sk-…, [key]/xyz; task-12345678 sk-no 'sk-…'"
        );
        assert_eq!(mask("", Some("")), "");
        assert_eq!(mask("exceeds the context", Some("x")), "exceeds the context");
    }

    #[test]
    fn addresses_lose_their_password() {
        assert_eq!(shown("http://u:p@h:1/v1/"), "http://h:1/v1");
        assert_eq!(shown("nonsense"), "(not an address)");
    }
}
