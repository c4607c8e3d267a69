//! s05: the plan and its reminder.

use super::support::{Answer, Case, call, say, since};
use insta::assert_snapshot;
use serde_json::{Value, json};

const OWN: &str = "s05-todo";
const REMINDER: &str = "<reminder>Update your todos.</reminder>";

fn plan(statuses: &[&str]) -> Answer {
    let todos: Vec<Value> = statuses
        .iter()
        .enumerate()
        .map(|(n, status)| json!({"content": format!("step {n}"), "status": status}))
        .collect();
    call("todo_write", json!({"todos": todos}))
}

fn work() -> Answer {
    call("bash", json!({"command": "true"}))
}

/// In which requests (from 1) a new reminder is the last message.
fn reminded(requests: &[Value]) -> Vec<usize> {
    let last = |request: &Value| request["messages"].as_array()?.last().cloned();
    let due =
        |request| last(request).is_some_and(|last| last["content"] == REMINDER);
    (1..).zip(requests).filter(|(_, one)| due(one)).map(|(n, _)| n).collect()
}

#[test]
fn the_list_is_shown_and_confirmed() {
    for bin in since("s05") {
        let run = Case::new(bin)
            .replies([plan(&["completed", "in_progress", "pending"]), say("ok")])
            .prompt("go")
            .run();
        let list = "## Current Tasks\n  [✓] step 0\n  [▸] step 1\n  [ ] step 2\n";
        assert!(run.stderr.contains(list), "{bin}: {}", run.stderr);
        assert_eq!(run.results(), ["Updated 3 tasks"], "{bin}");
        if bin == OWN {
            assert_snapshot!("s05_transcript", run.transcript());
            let tools = &run.requests()[0]["tools"];
            let tool = tools.as_array().unwrap().iter();
            let mut tool =
                tool.filter(|one| one["function"]["name"] == "todo_write");
            assert_snapshot!("s05_tool", format!("{:#}", tool.next().unwrap()));
        }
    }
}

#[test]
fn a_wrong_list_is_refused_with_the_reason() {
    for bin in since("s05") {
        let run = Case::new(bin)
            .replies([plan(&["done"]), call("todo_write", json!({})), say("ok")])
            .prompt("go")
            .run();
        let results = run.results();
        for named in ["todos[0].status", "pending", "in_progress", "completed"] {
            assert!(results[0].contains(named), "{bin}: {}", results[0]);
        }
        assert!(results[1].contains("todos"), "{bin}: {}", results[1]);
        assert!(!run.stderr.contains("## Current Tasks"), "{bin}");
    }
}

#[test]
fn the_reminder_comes_after_three_rounds_and_again() {
    for bin in since("s05") {
        let mut replies = vec![plan(&["pending"])];
        replies.extend((0..7).map(|_| work()));
        replies.push(say("ok"));
        let run = Case::new(bin).replies(replies).prompt("go").run();
        assert_eq!(reminded(&run.requests()), [5, 8], "{bin}");
        if bin == OWN {
            assert_snapshot!("s05_conversation", run.conversation());
        }
    }
}

#[test]
fn it_comes_without_a_list_too_but_not_when_all_is_done() {
    for bin in since("s05") {
        let replies = [work(), work(), work(), say("ok")];
        let run = Case::new(bin).replies(replies).prompt("go").run();
        assert_eq!(reminded(&run.requests()), [4], "{bin}");
        let replies =
            [plan(&["completed"]), work(), work(), work(), work(), say("ok")];
        let run = Case::new(bin).replies(replies).prompt("go").run();
        assert_eq!(reminded(&run.requests()), [0; 0], "{bin}");
    }
}

#[test]
fn rounds_are_counted_within_the_turn() {
    for bin in since("s05") {
        let replies = [work(), work(), say("one"), work(), work(), say("two")];
        let run = Case::new(bin).replies(replies).stdin("a\nb\n").run();
        assert_eq!(reminded(&run.requests()), [0; 0], "{bin}");
    }
}

#[test]
fn the_demo_runs_without_a_key() {
    let prompt = "Plan with todo_write: create, read, update notes.txt. Create it with \
        three open ⬜ tasks, read it, then turn the file and the todos to all done ✅.";
    let run = Case::offline(OWN).prompt(prompt).run();
    let notes = "✅ buy milk\n✅ water the plants\n✅ call home\n";
    assert_eq!((run.code(), run.read("notes.txt").as_str()), (0, notes));
    assert_snapshot!("s05_demo", run.transcript());
}
