//! The tools of an agent by name: what the model may call, and what runs.

use crate::message::ToolCall;
use crate::tool::{Definition, Tool, unknown};

/// Tools in the order in which they were registered. The order never changes,
/// so that the request's beginning stays the same and caches on the server
/// keep working.
#[derive(Clone, Default)]
pub struct ToolRegistry(Vec<Tool>);

impl ToolRegistry {
    /// Adds a tool. One of the same name is replaced in its place.
    pub fn register(&mut self, tool: Tool) {
        let name = &tool.definition.name;
        match self.0.iter_mut().find(|old| old.definition.name == *name) {
            Some(old) => *old = tool,
            None => self.0.push(tool),
        }
    }

    /// This registry and some more tools.
    pub fn with(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        tools.into_iter().for_each(|tool| self.register(tool));
        self
    }

    /// A smaller registry, without the tools of these names.
    pub fn exclude(&self, names: &[&str]) -> Self {
        let kept = |tool: &&Tool| !names.contains(&tool.definition.name.as_str());
        Self(self.0.iter().filter(kept).cloned().collect())
    }

    /// What the model is told.
    pub fn definitions(&self) -> Vec<Definition> {
        self.0.iter().map(|tool| tool.definition.clone()).collect()
    }

    /// Runs one call. A name that does not exist is answered like any other
    /// mistake: with a text that helps the model to do better.
    pub async fn execute(&self, call: &ToolCall) -> String {
        match self.0.iter().find(|tool| tool.definition.name == call.name) {
            Some(tool) => tool.execute(call).await,
            None => unknown(&call.name, &self.names()),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|tool| tool.definition.name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use serde_json::json;

    fn tool(name: &str, says: &'static str) -> Tool {
        let run = move |_| async move { Ok(says.to_string()) }.boxed();
        Tool::raw(name, "", json!({}), run)
    }

    fn registry() -> ToolRegistry {
        ToolRegistry::default().with([tool("b", "old"), tool("a", "A")])
    }

    async fn run(tools: &ToolRegistry, name: &str) -> String {
        let args = Ok(json!({}));
        tools.execute(&ToolCall { id: "1".into(), name: name.into(), args }).await
    }

    #[tokio::test]
    async fn a_call_reaches_the_tool_of_its_name() {
        assert_eq!(run(&registry(), "a").await, "A");
    }

    #[tokio::test]
    async fn an_unknown_name_is_answered_with_the_names_that_exist() {
        let text = run(&registry(), "c").await;
        assert_eq!(text, "Unknown tool: c. The tools are: b, a.");
    }

    #[tokio::test]
    async fn the_same_name_replaces_in_place() {
        let tools = registry().with([tool("b", "new")]);
        assert_eq!(tools.names(), ["b", "a"]);
        assert_eq!(run(&tools, "b").await, "new");
    }

    #[tokio::test]
    async fn excluding_leaves_the_original_alone() {
        let tools = registry();
        assert_eq!(tools.exclude(&["b", "zzz"]).names(), ["a"]);
        assert_eq!(tools.names(), ["b", "a"]);
    }
}
