//! Requests that a server refuses for their form, and the form it wants.
//!
//! "Other servers ignore unknown fields" is not true, and nobody agrees on
//! which fields must be there. One change answers each such error; the client
//! sends the request once more and keeps the change for the rest of the run.

use serde_json::Value;
use std::borrow::Cow;

/// What a server has turned out to want.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quirks {
    pub reasoning: Reasoning,
    /// The limit of the answer goes by its newer name.
    pub completion_tokens: bool,
}

/// What happens to the thoughts in messages that go back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reasoning {
    /// They go back as they came.
    #[default]
    AsItCame,
    /// Each message of the model has them, if need be empty.
    Always,
    /// None has them.
    Never,
}

struct Repair {
    /// All of these stand in the error (in small letters) …
    all: &'static [&'static str],
    /// … and one of these.
    any: &'static [&'static str],
    change: fn(&mut Quirks),
}

const UNKNOWN_FIELD: &[&str] = &[
    "unsupported",
    "not supported",
    "extra_forbidden",
    "not permitted",
    "unrecognized",
    "unknown name",
    "unknown field",
    "unknown parameter",
    "unexpected",
];

const REPAIRS: &[Repair] = &[
    Repair {
        all: &["reasoning_content"],
        any: &["passed back", "missing"],
        change: |quirks| quirks.reasoning = Reasoning::Always,
    },
    Repair {
        all: &["reasoning"],
        any: UNKNOWN_FIELD,
        change: |quirks| quirks.reasoning = Reasoning::Never,
    },
    Repair {
        all: &["max_tokens", "max_completion_tokens"],
        any: &["unsupported", "not supported", "instead"],
        change: |quirks| quirks.completion_tokens = true,
    },
    Repair {
        all: &["max_completion_tokens"],
        any: UNKNOWN_FIELD,
        change: |quirks| quirks.completion_tokens = false,
    },
];

impl Quirks {
    /// What to do differently after this error (in small letters), if the
    /// table knows it and it is not done yet.
    pub fn learn(self, error: &str) -> Option<Quirks> {
        let says = |phrase: &&str| error.contains(phrase);
        let fits =
            |one: &&Repair| one.all.iter().all(says) && one.any.iter().any(says);
        let changed = |repair: &Repair| {
            let mut better = self;
            (repair.change)(&mut better);
            better
        };
        REPAIRS.iter().filter(fits).map(changed).find(|better| *better != self)
    }
}

impl Reasoning {
    /// Applies this to one message of the model.
    pub fn applied(self, mut message: Cow<'_, Value>) -> Cow<'_, Value> {
        let has =
            |name: &str| message.get(name).is_some_and(|value| !value.is_null());
        match self {
            Reasoning::Always if !has("reasoning_content") => {
                let thoughts = message.get("reasoning").and_then(Value::as_str);
                let thoughts = thoughts.unwrap_or("").into();
                message.to_mut()["reasoning_content"] = thoughts;
            }
            Reasoning::Never if has("reasoning_content") || has("reasoning") => {
                if let Value::Object(fields) = message.to_mut() {
                    fields.retain(|name, _| !name.starts_with("reasoning"));
                }
            }
            _ => {}
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_teach_once() {
        let quirks = Quirks::default();
        for (error, reasoning) in [
            ("the `reasoning_content` must be passed back", Reasoning::Always),
            (
                "thinking is enabled but reasoning_content is missing",
                Reasoning::Always,
            ),
            ("property 'reasoning_content' is unsupported", Reasoning::Never),
            ("extra_forbidden\nloc\nreasoning_content", Reasoning::Never),
        ] {
            let better = quirks.learn(error).unwrap();
            assert_eq!(better.reasoning, reasoning, "{error}");
            assert_eq!(better.learn(error), None);
        }
        let newer =
            "unsupported: 'max_tokens'. use 'max_completion_tokens' instead.";
        let newer = quirks.learn(newer).unwrap();
        assert!(newer.completion_tokens);
        let older = "max_completion_tokens: extra inputs are not permitted";
        assert_eq!(newer.learn(older), Some(quirks));
        for other in [
            "bad thing happened",
            "unknown model reasoning-1",
            "'max_tokens' or 'max_completion_tokens' is too large: 5000",
        ] {
            assert_eq!(quirks.learn(other), None, "{other}");
        }
    }

    #[test]
    fn thoughts_are_added_and_removed() {
        let applied =
            |how: Reasoning, message: Value| how.applied(Cow::Owned(message));
        let with = json!({"content": "c", "reasoning": "r", "x": 1});
        let added = applied(Reasoning::Always, with.clone());
        assert_eq!(added["reasoning_content"], "r");
        let empty = applied(Reasoning::Always, json!({"reasoning_content": null}));
        assert_eq!(empty["reasoning_content"], "");
        let gone = applied(Reasoning::Never, with.clone());
        assert_eq!(*gone, json!({"content": "c", "x": 1}));
        assert_eq!(*applied(Reasoning::AsItCame, with.clone()), with);
    }
}
