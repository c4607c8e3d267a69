//! A tool: what the model sees of it, and the function that runs.
//!
//! Both come from one typed function, so the schema that the model reads and
//! the check that its arguments must pass cannot drift apart.

use crate::llm::BoxFuture;
use crate::message::ToolCall;
use crate::schema;
use anyhow::anyhow;
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// What the model is told about a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    pub name: String,
    pub description: String,
    /// JSON schema of the arguments: always an object with `properties`.
    pub schema: Value,
}

type Handler =
    dyn Fn(Value) -> BoxFuture<'static, anyhow::Result<String>> + Send + Sync;

/// A definition and what runs. Cloning is cheap.
#[derive(Clone)]
pub struct Tool {
    pub definition: Definition,
    run: Arc<Handler>,
}

impl Tool {
    /// Makes a tool from `async fn f(state, args)`.
    ///
    /// The doc comments of `A` describe the parameters to the model. `state`
    /// is what the tool works on; it is cloned for each call.
    pub fn new<S, A, F, Fut>(name: &str, description: &str, state: S, f: F) -> Tool
    where
        S: Clone + Send + Sync + 'static,
        A: DeserializeOwned + JsonSchema,
        F: Fn(S, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = anyhow::Result<String>> + Send + 'static,
    {
        Tool::raw(name, description, schema::of::<A>(), move |args| {
            match parse(args) {
                Ok(args) => f(state.clone(), args).boxed(),
                Err(error) => std::future::ready(Err(error)).boxed(),
            }
        })
    }

    /// Makes a tool from a schema and a handler of raw JSON: for tools that
    /// come from elsewhere.
    pub fn raw(
        name: &str,
        description: &str,
        schema: Value,
        run: impl Fn(Value) -> BoxFuture<'static, anyhow::Result<String>>
        + Send
        + Sync
        + 'static,
    ) -> Tool {
        let schema = schema::plain(schema);
        let (name, description) = (name.into(), description.into());
        Tool {
            definition: Definition { name, description, schema },
            run: Arc::new(run),
        }
    }

    /// Runs one call. Whatever happens, the result is text for the model: a
    /// call without an answer would make the whole conversation unusable.
    pub async fn execute(&self, call: &ToolCall) -> String {
        if call.name != self.definition.name {
            return unknown(&call.name, &[&self.definition.name]);
        }
        let args = match &call.args {
            Ok(args) => schema::coerce(args.clone(), &self.definition.schema),
            Err(why) => return format!("Error: {why}"),
        };
        // A tool may panic when it is called as well as when it is awaited.
        let run = async { (self.run)(args).await };
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => format!("Error: {error:#}"),
            Err(panic) => format!(
                "Error: the tool {} failed inside: {}. Nothing else is known.",
                call.name,
                panic_text(&*panic)
            ),
        }
    }
}

/// The result of a call whose name does not exist: the model sees the names
/// that do.
pub fn unknown(name: &str, names: &[&str]) -> String {
    format!("Unknown tool: {name}. The tools are: {}.", names.join(", "))
}

fn parse<A: DeserializeOwned>(args: Value) -> anyhow::Result<A> {
    serde_path_to_error::deserialize(args).map_err(|error| {
        let place = match error.path().to_string() {
            path if path == "." => String::new(),
            path => format!(" at `{path}`"),
        };
        anyhow!("invalid arguments{place}: {}", error.inner())
    })
}

/// What a panic said, as far as it is text.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    struct Args {
        /// How many.
        count: u64,
        #[serde(default)]
        tags: Vec<String>,
    }

    fn tool() -> Tool {
        Tool::new("count", "Counts.", 10, |base: u64, args: Args| async move {
            assert_ne!(args.count, 13, "thirteen");
            Ok(format!("{} {}", base + args.count, args.tags.join("+")))
        })
    }

    async fn run(args: Value) -> String {
        let args = Ok(args);
        let call = ToolCall { id: "1".into(), name: "count".into(), args };
        tool().execute(&call).await
    }

    #[tokio::test]
    async fn state_and_arguments_reach_the_function() {
        assert_eq!(run(json!({"count": 1, "tags": ["a", "b"]})).await, "11 a+b");
    }

    #[tokio::test]
    async fn an_error_names_the_field() {
        let text = run(json!({"count": true})).await;
        assert!(text.starts_with("Error: invalid arguments at `count`:"), "{text}");
        let text = run(json!({})).await;
        assert!(text.contains("missing field `count`"), "{text}");
        let text = run(json!({"count": 1, "tags": ["a", 2]})).await;
        assert!(text.contains("at `tags[1]`"), "{text}");
    }

    #[tokio::test]
    async fn values_in_strings_are_unwrapped_where_the_schema_says_so() {
        let text = run(json!({"count": "2", "tags": "[\"x\"]"})).await;
        assert_eq!(text, "12 x");
    }

    #[tokio::test]
    async fn a_panic_is_a_result() {
        let text = run(json!({"count": 13})).await;
        assert!(text.contains("thirteen"), "{text}");
    }
}
