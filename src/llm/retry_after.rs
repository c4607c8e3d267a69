//! How long a server asks to wait: in headers or in the text of its error.

use reqwest::header::HeaderMap;
use std::time::{Duration, SystemTime};

/// Phrases in the text of an error that stand before a duration.
const BEFORE: [&str; 3] = ["retrydelay", "try again in", "retry after"];

/// The wait that a server asks for. `text` is the error in small letters.
/// What is no sensible time (`-3`, `NaN`) counts as not said; a date that has
/// passed is no wait.
pub fn wait(headers: &HeaderMap, text: &str) -> Option<Duration> {
    let header = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = header("retry-after-ms").and_then(|text| seconds(text, 0.001));
    millis
        .or_else(|| header("retry-after").and_then(seconds_or_date))
        .or_else(|| BEFORE.iter().find_map(|phrase| after(text, phrase)))
}

fn seconds(text: &str, unit: f64) -> Option<Duration> {
    // The plain constructor panics on NaN, negative and huge numbers.
    Duration::try_from_secs_f64(text.parse::<f64>().ok()? * unit).ok()
}

fn seconds_or_date(text: &str) -> Option<Duration> {
    seconds(text, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(text).ok()?;
        Some(date.duration_since(SystemTime::now()).unwrap_or_default())
    })
}

fn after(text: &str, phrase: &str) -> Option<Duration> {
    let rest = &text[text.find(phrase)? + phrase.len()..];
    duration(rest.trim_start_matches([' ', ':', '"', '\\', '\n']))
}

/// `26s`, `4.77s`, `7m12s`, `350ms`, `20 seconds`.
fn duration(mut text: &str) -> Option<Duration> {
    let mut total = None;
    loop {
        let digits = text.len()
            - text
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .len();
        let (number, rest) = text.split_at(digits);
        let rest = rest.trim_start();
        let unit = match rest.as_bytes() {
            [b'm', b's', ..] => 0.001,
            [b's', ..] => 1.0,
            [b'm', ..] => 60.0,
            [b'h', ..] => 3600.0,
            _ => return total,
        };
        let Some(part) = seconds(number, unit) else { return total };
        total = Some(total.unwrap_or(Duration::ZERO).saturating_add(part));
        text = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderName;

    fn headers(all: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.insert(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn headers_come_first_milliseconds_before_seconds() {
        let both = headers(&[("retry-after-ms", "1500"), ("retry-after", "9")]);
        assert_eq!(wait(&both, ""), Some(Duration::from_millis(1500)));
        let float = headers(&[("retry-after", "0.5")]);
        assert_eq!(
            wait(&float, "try again in 9s"),
            Some(Duration::from_millis(500))
        );
    }

    #[test]
    fn dates_of_all_three_forms() {
        for past in [
            "Wed, 21 Oct 2015 07:28:00 GMT",
            "Wednesday, 21-Oct-15 07:28:00 GMT",
            "Wed Oct 21 07:28:00 2015",
        ] {
            let past = headers(&[("retry-after", past)]);
            assert_eq!(wait(&past, ""), Some(Duration::ZERO));
        }
        let soon = SystemTime::now() + Duration::from_secs(100);
        let soon = headers(&[("retry-after", &httpdate::fmt_http_date(soon))]);
        let wait = wait(&soon, "").unwrap();
        assert!(wait > Duration::from_secs(50) && wait <= Duration::from_secs(101));
    }

    #[test]
    fn nonsense_is_no_wait() {
        for odd in ["-3", "NaN", "inf", "1e300", "", "soon", "2015"] {
            let wait = wait(&headers(&[("retry-after", odd)]), "");
            assert!(wait.is_none() || odd == "2015", "{odd}: {wait:?}");
        }
    }

    #[test]
    fn durations_in_the_text() {
        for (text, millis) in [
            ("try again in 4.77s.", Some(4_770)),
            ("please try again in 7m12s", Some(432_000)),
            ("try again in 350ms", Some(350)),
            ("retrydelay\n26s\n", Some(26_000)),
            ("\\\"retrydelay\\\": \\\"26s\\\"", Some(26_000)),
            ("retry after 20 seconds", Some(20_000)),
            ("try again in a while", None),
            ("try again in 5", None),
            ("nothing", None),
        ] {
            let expected = millis.map(Duration::from_millis);
            assert_eq!(wait(&HeaderMap::new(), text), expected, "{text}");
        }
    }
}
