//! What the rest of the program may say to the user, and ask.

use super::screen;
use crate::llm::{BoxFuture, Reply};
use crate::message::ToolCall;
use crate::text::head;
use std::sync::Arc;

/// Somebody to tell, and perhaps to ask.
pub trait Console: Send + Sync {
    /// Asks a question whose answer is yes or no. No answer is a no.
    fn confirm<'a>(&'a self, question: &'a str) -> BoxFuture<'a, bool>;

    /// Prints a notice on stderr: one or more whole lines.
    fn note(&self, text: &str);

    /// What the model said beside its calls, and what it cost.
    fn show_reply(&self, reply: &Reply) {
        let text = reply.text.trim();
        if !reply.calls.is_empty() && !text.is_empty() {
            self.note(text);
        }
        if reply.is_cut() {
            self.note("[cut] the answer reached the limit of its length");
        }
        if let Some(usage) = reply.usage {
            let (sent, got) = (usage.input_tokens, usage.output_tokens);
            self.note(&format!("[tokens] {sent} in, {got} out"));
        }
    }

    /// A call that is about to run: a command is shown whole.
    fn show_call(&self, call: &ToolCall) {
        self.note(&describe(call));
    }

    /// The first lines of a result.
    fn show_result(&self, text: &str) {
        self.note(&preview(text));
    }
}

fn describe(call: &ToolCall) -> String {
    let args = match &call.args {
        Ok(args) => args,
        Err(_) => return format!("> {} (unusable arguments)", call.name),
    };
    match args["command"].as_str() {
        Some(command) if call.name == "bash" => format!("$ {command}"),
        _ => format!("> {} {}", call.name, cut(&args.to_string())),
    }
}

fn preview(text: &str) -> String {
    const SHOWN: usize = 8;
    let mut lines = text.lines();
    let first = lines
        .by_ref()
        .take(SHOWN)
        .map(|line| format!("  {}", cut(line)).trim_end().to_string());
    let mut shown: Vec<_> = first.collect();
    match lines.count() {
        0 => {}
        1 => shown.push("  … (1 more line)".into()),
        rest => shown.push(format!("  … ({rest} more lines)")),
    }
    shown.join("\n")
}

fn cut(line: &str) -> String {
    const WIDTH: usize = 200;
    match head(line, WIDTH) {
        all if all == line => line.into(),
        start => format!("{start}…"),
    }
}

/// For work that nobody watches: every question is answered with no.
pub struct Unattended {
    /// Stands in front of each line.
    pub label: String,
}

impl Console for Unattended {
    fn confirm<'a>(&'a self, question: &'a str) -> BoxFuture<'a, bool> {
        self.note(&format!("{question} [y/N] no: nobody is there to answer"));
        Box::pin(std::future::ready(false))
    }

    fn note(&self, text: &str) {
        screen::note(&prefixed(&self.label, text));
    }
}

/// Puts a label in front of everything that is said and asked.
pub struct Labelled {
    pub label: String,
    pub inner: Arc<dyn Console>,
}

impl Console for Labelled {
    fn confirm<'a>(&'a self, question: &'a str) -> BoxFuture<'a, bool> {
        let question = prefixed(&self.label, question);
        Box::pin(async move { self.inner.confirm(&question).await })
    }

    fn note(&self, text: &str) {
        self.inner.note(&prefixed(&self.label, text));
    }
}

fn prefixed(label: &str, text: &str) -> String {
    let lines = text
        .split('\n')
        .map(|line| format!("{label} {line}").trim_end().to_string());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::sync::Mutex;

    fn call(name: &str, args: Result<Value, String>) -> ToolCall {
        ToolCall { id: "1".into(), name: name.into(), args }
    }

    #[test]
    fn a_command_is_shown_whole_and_other_arguments_are_cut() {
        let long = format!("echo {}\nrm -rf x", "a".repeat(500));
        let bash = call("bash", Ok(json!({"command": long})));
        assert_eq!(describe(&bash), format!("$ {long}"));
        let write = call("write_file", Ok(json!({"content": "é".repeat(500)})));
        let shown = describe(&write);
        assert!(shown.starts_with("> write_file {\"content\":\"éé"), "{shown}");
        assert!(shown.ends_with("é…") && shown.chars().count() < 220, "{shown}");
        assert_eq!(describe(&call("bash", Ok(json!({})))), "> bash {}");
        let odd = describe(&call("glob", Err("not JSON".into())));
        assert_eq!(odd, "> glob (unusable arguments)");
    }

    #[test]
    fn a_result_shows_its_first_lines() {
        assert_eq!(preview("a\nb"), "  a\n  b");
        assert_eq!(preview(&"é".repeat(201)), format!("  {}…", "é".repeat(200)));
        let nine = preview("x\n".repeat(9).trim_end());
        assert_eq!(nine, format!("{}  … (1 more line)", "  x\n".repeat(8)));
        let many = preview(&"x\n".repeat(20));
        assert!(many.ends_with("  … (12 more lines)"), "{many}");
    }

    /// Remembers what it was told; says yes.
    #[derive(Default)]
    struct Memory(Mutex<Vec<String>>);

    impl Console for Memory {
        fn confirm<'a>(&'a self, question: &'a str) -> BoxFuture<'a, bool> {
            self.note(question);
            Box::pin(std::future::ready(true))
        }

        fn note(&self, text: &str) {
            self.0.lock().unwrap().push(text.into());
        }
    }

    #[tokio::test]
    async fn a_label_stands_in_front_of_each_line() {
        let memory = Arc::new(Memory::default());
        let console = Labelled { label: "[sub]".into(), inner: memory.clone() };
        assert!(console.confirm("Sure?\nReally?").await);
        console.show_result("a\nb");
        let said = memory.0.lock().unwrap().clone();
        assert_eq!(said, ["[sub] Sure?\n[sub] Really?", "[sub]   a\n[sub]   b"]);
    }

    #[tokio::test]
    async fn nobody_says_no() {
        let console = Unattended { label: "[cron]".into() };
        assert!(!console.confirm("Sure?").await);
    }
}
