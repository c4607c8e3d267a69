//! The lines between two `---` at the head of a Markdown file: what a skill or
//! a memory says about itself, for programs to read.

use anyhow::{Context, ensure};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::scanner::TScalarStyle;

/// What the frontmatter of a file says, and the text below it without the
/// blank lines around that. A file without frontmatter has no fields.
///
/// People write these lines by hand, and `description: Use when: asked` is not
/// YAML. What YAML does not give as a text is therefore read line by line.
/// Fields that `T` does not name are ignored. Those that it names should be
/// `Option<String>`, so that one odd value does not cost the whole file.
///
/// # Errors
/// When the frontmatter is not closed, or does not fit `T`.
pub fn parse<T: DeserializeOwned>(text: &str) -> anyhow::Result<(T, String)> {
    // Editors on Windows put a mark before the text, and end lines with CRLF.
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let (header, body) =
        split(&text).context("the frontmatter has no closing line `---`")?;
    let lines = by_line(header);
    let yaml = by_yaml(header);
    if yaml.is_none() {
        let broken = lines.iter().find(|(_, value)| is_open(value));
        ensure!(broken.is_none(), "a bracket in the frontmatter is not closed");
    }
    let mut fields = yaml.unwrap_or_default();
    for (key, value) in lines {
        fields.entry(key).or_insert(value);
    }
    let fields = serde_json::from_value(Value::Object(fields))
        .context("the frontmatter cannot be read")?;
    Ok((fields, body.trim_matches('\n').to_string()))
}

/// A file that [`parse`] reads back as it was, whatever the values contain.
pub fn render(fields: &[(&str, &str)], body: &str) -> String {
    // A JSON string is a YAML string too, and always fits on one line.
    let line =
        |(key, value): &(&str, &str)| format!("{key}: {}\n", Value::from(*value));
    let header: String = fields.iter().map(line).collect();
    format!("---\n{header}---\n\n{}\n", body.trim_matches('\n'))
}

/// Header and body. `None`: the header does not end.
fn split(text: &str) -> Option<(&str, &str)> {
    let is_rule = |line: &str| line.trim_end() == "---";
    let rest = match text.trim_start().split_once('\n') {
        Some((first, rest)) if is_rule(first) => rest,
        _ => return Some(("", text)),
    };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        let start = end;
        end += line.len();
        if is_rule(line) {
            return Some((&rest[..start], &rest[end..]));
        }
    }
    None
}

/// The fields of a YAML mapping whose values are plain texts. `None`: it is not
/// YAML.
///
/// It takes the parser's events one by one and builds nothing from them: a few
/// lines of YAML that repeat each other can stand for gigabytes.
fn by_yaml(header: &str) -> Option<Map<String, Value>> {
    let mut parser = Parser::new_from_str(header);
    let (mut fields, mut key, mut depth) = (Map::new(), None, 0);
    loop {
        let (event, _) = parser.next_token().ok()?;
        match event {
            Event::StreamEnd => return Some(fields),
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                depth += 1;
                key = None;
            }
            Event::MappingEnd | Event::SequenceEnd => depth -= 1,
            Event::Alias(_) if depth == 1 => key = None,
            Event::Scalar(text, style, ..) if depth == 1 => match key.take() {
                None => key = Some(text),
                Some(name) => {
                    let nothing = ["", "~", "null"].contains(&&*text);
                    let value = match nothing && style == TScalarStyle::Plain {
                        true => Value::Null,
                        false => text.into(),
                    };
                    fields.entry(name).or_insert(value);
                }
            },
            _ => {}
        }
    }
}

/// A list or mapping without its end: no way of reading gives what was meant.
fn is_open(value: &Value) -> bool {
    let text = value.as_str().unwrap_or("");
    let opens = |open, close| text.starts_with(open) && !text.contains(close);
    opens('[', ']') || opens('{', '}')
}

/// `key: value` a line. A line that is not like that, or is indented, goes on
/// with the value before. Of two equal keys the first counts.
fn by_line(header: &str) -> Map<String, Value> {
    let mut values: Vec<(&str, String)> = vec![];
    for line in header.lines().filter(|line| !line.starts_with('#')) {
        match (key_value(line), values.last_mut()) {
            (Some((key, value)), _) => values.push((key, value.trim().into())),
            (None, Some((_, value))) => *value += &format!(" {}", line.trim()),
            (None, None) => {}
        }
    }
    let mut fields = Map::new();
    for (key, value) in values {
        fields.entry(key).or_insert(scalar(value.trim()).into());
    }
    fields
}

fn key_value(line: &str) -> Option<(&str, &str)> {
    let is_key = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    line.split_once(':').filter(|(key, _)| key.chars().all(is_key))
}

/// A value without its quotes or its block marker (`>-`).
fn scalar(value: &str) -> String {
    if let Ok(text) = serde_json::from_str(value) {
        return text;
    }
    for quote in ['"', '\''] {
        let inner = value.strip_prefix(quote).and_then(|v| v.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.into();
        }
    }
    let (marker, rest) = value.split_once(' ').unwrap_or((value, ""));
    match marker {
        "|" | ">" | "|-" | ">-" | "|+" | ">+" => rest.trim().into(),
        _ => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Fields {
        name: Option<String>,
        description: Option<String>,
    }

    fn fields(text: &str) -> (Option<String>, Option<String>) {
        let (found, _) = parse::<Fields>(text).unwrap();
        (found.name, found.description)
    }

    /// What `description` is in a file with these lines.
    fn description(lines: &str) -> String {
        let text = format!("---\nname: n\n{lines}\n---\nbody");
        let (name, description) = fields(&text);
        assert_eq!(name.as_deref(), Some("n"), "{lines}");
        description.unwrap_or_default()
    }

    #[test]
    fn every_line_end_and_mark_is_read_alike() {
        let plain = "---\nname: a\n---\n\nText.\n\n---\n\nMore.\n";
        let body = "Text.\n\n---\n\nMore.";
        let variants = [
            plain.to_string(),
            plain.replace('\n', "\r\n"),
            format!("\u{feff}{plain}"),
            format!("\u{feff}\r\n\n{plain}"),
            plain.replacen("---\n", "--- \t\n", 2),
        ];
        for text in variants {
            let (found, rest) = parse::<Fields>(&text).unwrap();
            assert_eq!(
                (found.name.as_deref(), &*rest),
                (Some("a"), body),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_file_without_frontmatter_is_all_body() {
        for text in ["", "Text.\n---\nname: a\n---", "----\nname: a\n---", "---"] {
            let (found, body) = parse::<Fields>(text).unwrap();
            assert_eq!(found, Fields { name: None, description: None });
            assert_eq!(body, text);
        }
        assert_eq!(parse::<Fields>("---\n---").unwrap().1, "");
    }

    #[test]
    fn an_open_frontmatter_is_an_error() {
        for text in ["---\nname: a\n", "---\n", "---\nname: a\n ---\n----\n"] {
            let error = parse::<Fields>(text).unwrap_err();
            assert!(error.to_string().contains("no closing line `---`"));
        }
    }

    #[test]
    fn yaml_is_read_as_yaml() {
        for (lines, value) in [
            ("description: Does a.", "Does a."),
            ("description: 'It''s: good'", "It's: good"),
            (r#"description: "a\n\u4e2d: \"b\"""#, "a\n中: \"b\""),
            ("description: >-\n  Does a.\n  Use when: b.", "Does a. Use when: b."),
            ("description: |\n  a\n  ---\n\n  b", "a\n---\n\nb\n"),
            ("description: Does a\n  and b.", "Does a and b."),
            ("description: 1.50", "1.50"),
            ("description: yes", "yes"),
            ("description: ~", ""),
            ("description: a # a remark", "a"),
            ("tags: [a, b]\nmetadata:\n  name: inner\ndescription: a", "a"),
        ] {
            assert_eq!(description(lines), value, "{lines}");
        }
    }

    #[test]
    fn what_is_not_yaml_is_read_line_by_line() {
        for (lines, value) in [
            ("description: Use when: asked", "Use when: asked"),
            ("description: Use when:\n  a: b", "Use when: a: b"),
            ("description: *bold* first", "*bold* first"),
            ("description: @x `y` %z", "@x `y` %z"),
            ("description: \"a \"b\" c\"", "a \"b\" c"),
            ("description: 'don't: do'", "don't: do"),
            ("hint: [a] [b]\ndescription: >-\n  Does\n\n  it.", "Does  it."),
            ("hint: {{x}}:\n# remark\ndescription: \"a\\tb\"", "a\tb"),
            ("description: [a, b]", "[a, b]"),
            ("description: a\nname: m\ndescription: b", "a"),
            (
                "description: wrapped: yes\nwithout indent",
                "wrapped: yes without indent",
            ),
            ("hint: a: b\nmetadata:\n  description: inner\ndescription:", ""),
        ] {
            assert_eq!(description(lines), value, "{lines}");
        }
    }

    #[test]
    fn text_that_is_no_mapping_has_no_fields() {
        for header in ["- a\n- b", "just text", ": : :", "\t", "{", "&a *a", "\0"] {
            let text = format!("---\n{header}\n---\n");
            assert_eq!(fields(&text), (None, None), "{header}");
        }
    }

    #[test]
    fn a_small_file_cannot_use_up_the_memory() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x]\n");
        for i in 1..12 {
            let one = format!("*a{}, ", i - 1);
            bomb += &format!("a{i}: &a{i} [{}x]\n", one.repeat(9));
        }
        assert_eq!(description(&format!("{bomb}description: d")), "d");
        let deep = format!("x: {}\ndescription: d", "[".repeat(50_000));
        let deep = format!("---\n{deep}\n---\n");
        assert!(parse::<Map<String, Value>>(&deep).is_err(), "nothing overflows");
    }

    #[test]
    fn a_bracket_that_is_never_closed_is_told() {
        for line in ["name: [unclosed", "description: {a: b\n  c]: d"] {
            let text = format!("---\n{line}\n---\n");
            let error = parse::<Map<String, Value>>(&text).unwrap_err();
            assert!(error.to_string().contains("bracket"), "{line}: {error}");
        }
    }

    #[test]
    fn values_that_look_like_syntax_come_back() {
        for value in [
            "null",
            "~",
            "",
            "---",
            "a\n---\nb: c",
            "'",
            "\"",
            "a: b",
            "#",
            "\u{7f}\r",
        ] {
            let text = render(&[("name", "n"), ("description", value)], "");
            assert_eq!(fields(&text).1.as_deref(), Some(value));
        }
    }

    proptest! {
        #[test]
        fn everything_comes_back(
            name in "(?s).{0,30}",
            description in "(?s).{0,30}",
            body in "[ -~\t\n中é]*",
        ) {
            let pairs = [("name", &*name), ("description", &*description)];
            let text = render(&pairs, &body);
            let (found, rest) = parse::<Fields>(&text).unwrap();
            prop_assert_eq!(found.name.unwrap(), name);
            prop_assert_eq!(found.description.unwrap(), description);
            prop_assert_eq!(rest, body.trim_matches('\n'));
        }

        #[test]
        fn no_text_panics(text in "(---\n)?[ -~\n\t中]{0,99}(\n---\n)?.*") {
            let _ = parse::<Fields>(&text);
        }
    }
}
