//! The gate in front of every tool call: allow it, ask the user, or deny it.
//!
//! It judges what a command line is, word by word, not what its text looks
//! like. It is a gate and not a sandbox: it stops accidents and shows what is
//! about to happen, but a program that it lets pass may do anything.

use serde_json::Value;

use crate::judge::Judge;
use crate::message::ToolCall;
use crate::place::{Place, Spot};
use crate::rules::{Level, RUNS_LATER};
use crate::shell::Word;

/// What shall become of a call. A reason completes "This …" and "Permission
/// denied: …", as in "deletes files".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    Allow,
    Ask(String),
    Deny(String),
}

/// Judges a call before its tool runs. What is not known to be dangerous is
/// allowed: who is asked all the time says yes without reading.
pub fn check_permission(name: &str, args: &Value) -> Permission {
    match (name, &args["command"], &args["path"]) {
        ("bash", Value::String(command), _) => check_command(command),
        ("write_file" | "edit_file", _, Value::String(path)) => check_path(path),
        // Reading does no harm, and the file tools refuse to leave the
        // workspace. An unknown tool, or arguments that do not fit, run
        // nothing: the error that they meet tells the model more than we can.
        _ => Permission::Allow,
    }
}

fn check_command(command: &str) -> Permission {
    match Judge::verdict(command) {
        None => Permission::Allow,
        Some((Level::Ask, reason)) => Permission::Ask(reason.into()),
        Some((Level::Deny, reason)) => Permission::Deny(reason.into()),
    }
}

/// Most files wait until somebody runs them. A git hook does not.
fn check_path(path: &str) -> Permission {
    let path = Word::from(path.replace('\\', "/").as_str());
    match Spot::workspace().join(&path).place() {
        Place::RunsLater => Permission::Ask(RUNS_LATER.into()),
        _ => Permission::Allow,
    }
}

/// What the user is asked. It shows the whole call, since a yes to the part
/// that fits on a line would be a yes to the rest, unseen.
pub fn question(call: &ToolCall, reason: &str) -> String {
    let args = call.object();
    let shown = match (call.name.as_str(), args["command"].as_str()) {
        ("bash", Some(command)) => visible(command),
        (name, _) => visible(&format!("{name} {args}")),
    };
    format!("This {reason}:\n{shown}\nAllow it?")
}

/// Spells out what would make a terminal show something else: "go back to the
/// start of the line", "write from right to left".
fn visible(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{2069}');
        if turns || c.is_control() && c != '\n' && c != '\t' {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bash(command: &str) -> Permission {
        check_permission("bash", &json!({"command": command}))
    }

    #[test]
    fn the_strictest_part_decides() {
        assert_eq!(bash("ls"), Permission::Allow);
        assert!(matches!(bash("ls; rm a"), Permission::Ask(_)));
        assert!(matches!(bash("ls; rm a; sudo ls; rm b"), Permission::Deny(_)));
    }

    #[test]
    fn the_reason_is_that_of_the_verdict() {
        let reason = "removes the root, a home or a system directory";
        assert_eq!(bash("rm a; rm -rf /"), Permission::Deny(reason.into()));
    }

    #[test]
    fn what_runs_nothing_is_allowed() {
        for args in [json!(null), json!("sudo ls"), json!({}), json!({"command": 1})]
        {
            assert_eq!(check_permission("bash", &args), Permission::Allow);
        }
        let args = json!({"command": "sudo ls", "path": ".git/config"});
        assert_eq!(check_permission("read_file", &args), Permission::Allow);
        assert_eq!(check_permission("no_such_tool", &args), Permission::Allow);
    }

    #[test]
    fn file_tools_ask_before_they_change_what_runs_later() {
        let later = [
            ".git/hooks/pre-commit",
            "vendor/lib/.git/config",
            "src/../.GIT/hooks/x",
            ".github/workflows/ci.yml",
            "sub/.envrc",
            ".vscode/tasks.json",
            ".git\\hooks\\pre-commit",
        ];
        for name in ["write_file", "edit_file"] {
            for path in later {
                let verdict = check_permission(name, &json!({"path": path}));
                assert_eq!(verdict, Permission::Ask(RUNS_LATER.into()), "{path}");
            }
            for path in
                ["src/git/hooks.rs", ".gitignore", "Makefile", "../x", "a.env"]
            {
                let verdict = check_permission(name, &json!({"path": path}));
                assert_eq!(verdict, Permission::Allow, "{path}");
            }
        }
    }

    fn call(name: &str, args: Value) -> ToolCall {
        ToolCall { id: "1".into(), name: name.into(), args: Ok(args) }
    }

    #[test]
    fn the_question_shows_the_whole_call() {
        let command = format!("rm {}\nrm last", "x".repeat(5000));
        let asked =
            question(&call("bash", json!({"command": command})), "deletes files");
        assert_eq!(asked, format!("This deletes files:\n{command}\nAllow it?"));
        let args = json!({"path": ".envrc", "content": "a\nb"});
        let asked = question(&call("write_file", args), RUNS_LATER);
        let shown = r#"write_file {"path":".envrc","content":"a\nb"}"#;
        assert_eq!(asked, format!("This {RUNS_LATER}:\n{shown}\nAllow it?"));
    }

    #[test]
    fn the_question_cannot_be_painted_over() {
        let command = "rm -rf src #\r\u{1b}[2Kls\u{202e}";
        let asked =
            question(&call("bash", json!({"command": command})), "deletes files");
        assert!(asked.contains(r"rm -rf src #\u{d}\u{1b}[2Kls\u{202e}"), "{asked}");
    }

    #[test]
    fn arguments_that_could_not_be_read_are_shown_as_null() {
        let broken =
            ToolCall { args: Err("not JSON".into()), ..call("bash", json!({})) };
        assert_eq!(
            question(&broken, "is odd"),
            "This is odd:\nbash null\nAllow it?"
        );
    }
}
