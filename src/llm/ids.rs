//! Ids and names that every server takes back.

use crate::message::Message;
use std::borrow::Cow;

/// Hands out the ids of the calls in a new answer: the server's own, unless it
/// is missing or taken.
pub struct Ids<'a> {
    history: &'a [Message],
    given: Vec<String>,
}

impl<'a> Ids<'a> {
    pub fn new(history: &'a [Message]) -> Self {
        Ids { history, given: vec![] }
    }

    pub fn settle(&mut self, sent: &str) -> String {
        let id = match sent {
            "" => self.fresh(),
            sent if self.is_taken(sent) => self.fresh(),
            sent => sent.to_string(),
        };
        self.given.push(id.clone());
        id
    }

    fn fresh(&self) -> String {
        new_id(self.history.len() + self.given.len(), |id| self.is_taken(id))
    }

    fn is_taken(&self, id: &str) -> bool {
        let in_message = |message: &Message| match message {
            Message::Assistant { calls, .. } => {
                calls.iter().any(|call| call.id == id)
            }
            _ => false,
        };
        self.given.iter().any(|given| given == id)
            || self.history.iter().any(in_message)
    }
}

/// A name as servers take it back: some refuse a whole conversation because a
/// model once made up a tool with a dot in its name.
pub fn safe_name(name: &str) -> Cow<'_, str> {
    const LONGEST: usize = 64;
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if name.is_empty() {
        return "unknown".into();
    }
    if name.len() <= LONGEST && name.chars().all(is_fine) {
        return name.into();
    }
    name.chars().map(|c| if is_fine(c) { c } else { '_' }).take(LONGEST).collect()
}

/// A result that a server takes: never blank.
pub fn safe_text(text: &str) -> &str {
    if text.trim().is_empty() { "(no output)" } else { text }
}

/// An id that is not taken yet. It depends on the place only, so that it is
/// the same in each request; nine letters and digits, as some servers demand.
pub fn new_id(place: usize, is_taken: impl Fn(&str) -> bool) -> String {
    let ids = (place..).map(|number| format!("call{number:05}"));
    // A finite history cannot hold all of them.
    ids.into_iter().find(|id| !is_taken(id)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;
    use serde_json::{Value, json};

    fn assistant(ids: &[&str]) -> Message {
        let call = |id: &&str| ToolCall {
            id: id.to_string(),
            name: "t".into(),
            args: Ok(json!({})),
        };
        let calls = ids.iter().map(call).collect();
        Message::Assistant { text: None, calls, raw: Value::Null }
    }

    #[test]
    fn a_new_answer_gets_ids_that_are_free() {
        let history = [Message::prompt("x"), assistant(&["a", "call00002"])];
        let mut ids = Ids::new(&history);
        let given = ["a", "b", "b", ""].map(|sent| ids.settle(sent));
        assert_eq!(given, ["call00003", "b", "call00004", "call00005"]);
    }

    #[test]
    fn names_are_made_safe() {
        assert_eq!(safe_name("read_file-2"), "read_file-2");
        assert_eq!(safe_name("fs.read file"), "fs_read_file");
        assert_eq!(safe_name(""), "unknown");
        assert_eq!(safe_name(&"ä".repeat(99)), "_".repeat(64));
    }
}
