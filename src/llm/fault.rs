//! An error of a server, in whatever shape it comes, as text and numbers.

use super::json;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// What a server said instead of an answer.
pub struct Fault<'a> {
    /// The HTTP status, or the code that an error inside of a 200 names.
    pub status: u16,
    pub headers: &'a HeaderMap,
    /// For the user: `HTTP 400: bad thing happened`.
    pub message: String,
    /// All that is said, names and values, in small letters: for matching.
    pub text: String,
    /// The body as JSON, `Null` if it is none.
    pub value: Value,
}

impl<'a> Fault<'a> {
    pub fn read(status: u16, headers: &'a HeaderMap, body: &str) -> Self {
        let value = match json::parse(body).unwrap_or_default() {
            Value::Array(mut list) if list.len() == 1 => list.remove(0),
            value => value,
        };
        let said = said(&value).unwrap_or_else(|| excerpt(body, BODY));
        let mut text = String::new();
        gather(&value, &mut text);
        if value.is_null() {
            text = body.to_string();
        }
        let inner = code(&value).filter(|_| status == 200);
        let place = inner.map_or_else(String::new, |code| format!(", error {code}"));
        Fault {
            status: inner.unwrap_or(status),
            headers,
            message: format!("HTTP {status}{place}: {said}"),
            text: text.to_lowercase(),
            value,
        }
    }

    pub fn has_any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.text.contains(phrase))
    }
}

/// The error that a body holds, and its place in the many shapes.
fn said(value: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::trim).map(str::to_string);
    let choice = &value["choices"][0]["error"];
    [&value["error"], value, choice]
        .into_iter()
        .find_map(|place| {
            let message = text(place).or_else(|| text(&place["message"]));
            message
                .filter(|text| !text.is_empty())
                .or_else(|| detail(&place["detail"]))
        })
        .or_else(|| text(choice))
        .map(|text| excerpt(&text, MESSAGE))
}

/// FastAPI's form: a string, or a list of what is wrong where.
fn detail(detail: &Value) -> Option<String> {
    if let Some(list) = detail.as_array() {
        let lines = list.iter().filter_map(|one| {
            let place: Vec<_> = one["loc"].as_array()?.iter().map(plain).collect();
            Some(format!("{}: {}", place.join("."), plain(&one["msg"])))
        });
        return Some(lines.collect::<Vec<_>>().join("; "));
    }
    detail.as_str().map(str::to_string)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// The code inside of an error: a number, or a number in a string.
fn code(value: &Value) -> Option<u16> {
    let places = [&value["error"]["code"], &value["choices"][0]["error"]["code"]];
    let all = places.into_iter().chain([&value["code"], &value["error"]["status"]]);
    all.filter_map(|code| plain(code).parse().ok())
        .find(|code| (100..600).contains(code))
}

/// All names and values of a JSON value. Gateways put the error of the server
/// behind them into a string, so strings that hold JSON are opened too.
fn gather(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            text.push_str(name);
            text.push('\n');
            gather(value, text);
        }),
        Value::Array(list) => list.iter().for_each(|one| gather(one, text)),
        Value::String(one) if one.trim_start().starts_with(['{', '[']) => {
            match json::parse(one) {
                Ok(inner) => gather(&inner, text),
                Err(_) => *text += &format!("{one}\n"),
            }
        }
        other => *text += &format!("{}\n", plain(other)),
    }
}

/// How much is shown of a server's own words, and of a body that has none (in
/// characters).
const MESSAGE: usize = 600;
pub const BODY: usize = 200;

/// The beginning of a text, on one line.
pub fn excerpt(text: &str, longest: usize) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(longest) {
        _ if line.is_empty() => "(empty body)".into(),
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The number under a name, anywhere in a JSON value.
pub fn number_named(value: &Value, name: &str) -> Option<u64> {
    match value {
        Value::Object(fields) => fields
            .get(name)
            .and_then(Value::as_u64)
            .or_else(|| fields.values().find_map(|value| number_named(value, name))),
        Value::Array(list) => list.iter().find_map(|one| number_named(one, name)),
        _ => None,
    }
}

/// The number right behind a phrase, such as 8192 in `length is 8,192`.
pub fn number_after(text: &str, phrase: &str) -> Option<u64> {
    text.match_indices(phrase).find_map(|(at, _)| {
        let rest =
            text[at + phrase.len()..].trim_start_matches([' ', '(', '[', '`']);
        number_at_start(rest)
    })
}

pub fn number_at_start(text: &str) -> Option<u64> {
    let mut digits = String::new();
    let mut rest = text;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        digits += &rest[..end];
        // A comma inside of a number has three digits behind it.
        match rest[end..].strip_prefix(',') {
            Some(more) if is_group(more) && !digits.is_empty() => rest = more,
            _ => return digits.parse().ok(),
        }
    }
}

fn is_group(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: &str) -> String {
        Fault::read(400, &HeaderMap::new(), body).message
    }

    #[test]
    fn every_shape_has_its_message() {
        for (body, expected) in [
            (r#"{"error":{"message":"m","code":1}}"#, "m"),
            (r#"[{"error":{"message":"m"}}]"#, "m"),
            (r#"{"error":"m"}"#, "m"),
            (r#"{"object":"error","message":"m","code":400}"#, "m"),
            (r#"{"detail":"m"}"#, "m"),
            (r#"{"detail":[{"loc":["body",2,"x"],"msg":"m"}]}"#, "body.2.x: m"),
            (r#"{"choices":[{"error":{"message":"m"}}]}"#, "m"),
            (r#"{"choices":[{"error":"m"}]}"#, "m"),
            (r#"{"StatusCode":400,"error":"m"}"#, "m"),
            (r#"{"odd":1}"#, r#"{"odd":1}"#),
            ("plain  words\nhere", "plain words here"),
            ("", "(empty body)"),
        ] {
            assert_eq!(message(body), format!("HTTP 400: {expected}"), "{body}");
        }
        assert!(message(&"ä".repeat(999)).chars().count() < 220);
    }

    #[test]
    fn an_error_in_a_string_is_opened() {
        let inner = r#"{\"error\":{\"details\":[{\"retryDelay\":\"26s\"}]}}"#;
        let body = format!(r#"{{"error":{{"metadata":{{"raw":"{inner}"}}}}}}"#);
        let headers = HeaderMap::new();
        let fault = Fault::read(429, &headers, &body);
        assert!(fault.text.contains("retrydelay\n26s"), "{}", fault.text);
    }

    #[test]
    fn numbers_are_found() {
        for (text, number) in [
            ("limit is 8192 tokens", Some(8192)),
            ("limit is (128,000)", Some(128_000)),
            ("limit is [1, 99]", Some(1)),
            ("limit is 99999999999999999999999", None),
            ("the limit is unknown, limit is 5", Some(5)),
            ("none", None),
        ] {
            assert_eq!(number_after(text, "limit is"), number, "{text}");
        }
    }
}
