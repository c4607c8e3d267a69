//! s06: a subagent with a conversation of its own.

use super::support::{Case, call, calls, http, say, since, until};
use insta::assert_snapshot;
use rustix::process::{Pid, Signal, test_kill_process_group};
use serde_json::{Value, json};

const OWN: &str = "s06-subagent";

fn task(description: &str) -> super::support::Answer {
    call("task", json!({"description": description}))
}

/// The requests of the conversation that starts with this prompt.
fn conversation<'a>(requests: &'a [Value], prompt: &str) -> Vec<&'a Value> {
    let starts = |request: &&Value| request["messages"][1]["content"] == prompt;
    requests.iter().filter(starts).collect()
}

fn tool_names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

#[test]
fn only_the_last_text_comes_back() {
    for bin in since("s06") {
        let run = Case::new(bin)
            .file("a.txt", "hello\n")
            .replies_to("lead", [task("look into a.txt"), say("It says hello.")])
            .replies_to(
                "look into a.txt",
                [call("read_file", json!({"path": "a.txt"})), say("hello is in it")],
            )
            .prompt("lead")
            .run();
        assert_eq!(
            (run.code(), run.stdout.as_str()),
            (0, "It says hello.\n"),
            "{bin}"
        );
        assert_eq!(run.results(), ["hello is in it"], "{bin}");
        let requests = run.requests();
        let sub = conversation(&requests, "look into a.txt");
        assert_eq!(sub.len(), 2, "{bin}");
        let system = sub[0]["messages"][0]["content"].as_str().unwrap();
        assert!(system.starts_with("You are a coding subagent"), "{bin}: {system}");
        let base = ["bash", "read_file", "write_file", "edit_file", "glob"];
        assert_eq!(tool_names(sub[0]), base, "{bin}");
        assert!(tool_names(&requests[0]).contains(&"task"), "{bin}");
        for line in ["[subagent] task: look into a.txt", "[subagent] > read_file"] {
            assert!(run.stderr.contains(line), "{bin} {line}: {}", run.stderr);
        }
        if bin == OWN {
            assert_snapshot!("s06_transcript", run.transcript());
            assert_snapshot!("s06_conversation", run.conversation());
        }
    }
}

/// What the model was sent, in order: the lead's conversation on the left, the
/// subagent's on the right. The book shows it.
fn side_by_side(requests: &[Value]) -> String {
    let mut text = format!("{:42}{}\n", "lead", "subagent");
    let mut seen = [0, 0];
    for request in requests {
        let messages = request["messages"].as_array().unwrap();
        let system = messages[0]["content"].as_str().unwrap();
        let side = usize::from(system.starts_with("You are a coding subagent"));
        for message in &messages[seen[side]..] {
            text += &format!("{}{}\n", " ".repeat(side * 42), in_one_line(message));
        }
        seen[side] = messages.len();
    }
    text
}

/// Role and text of a message, or its call, in at most 41 characters.
fn in_one_line(message: &Value) -> String {
    let role = message["role"].as_str().unwrap();
    let text = match message["tool_calls"].as_array() {
        None => message["content"].as_str().unwrap().to_string(),
        Some(calls) => {
            let call = &calls[0]["function"];
            let field = |name: &str| call[name].as_str().unwrap();
            format!("{} {}", field("name"), field("arguments"))
        }
    };
    let line = format!("{role}: {}", text.trim().replace('\n', " "));
    match line.chars().count() {
        0..=41 => line,
        _ => line.chars().take(40).chain(['…']).collect(),
    }
}

#[test]
fn each_conversation_has_its_own_messages() {
    let run = Case::new(OWN)
        .file("README.md", "# Tea shop\n")
        .file("docs/stock.md", "# Stock\n")
        .replies_to("Ask a subagent", [task("Find the Markdown files."), say("ok")])
        .replies_to(
            "Find the Markdown",
            [
                call("glob", json!({"pattern": "**/*.md"})),
                call("read_file", json!({"path": "README.md"})),
                call("read_file", json!({"path": "docs/stock.md"})),
                say("Two files: a tea shop, its stock."),
            ],
        )
        .prompt("Ask a subagent for the Markdown files.")
        .run();
    assert_snapshot!("s06_side_by_side", side_by_side(&run.requests()));
}

#[test]
fn there_is_no_nesting() {
    for bin in since("s06") {
        let run = Case::new(bin)
            .replies_to("lead", [task("sub"), say("ok")])
            .replies_to("sub", [task("sub of sub"), say("alone")])
            .prompt("lead")
            .run();
        let requests = run.requests();
        let last = conversation(&requests, "sub").pop().unwrap();
        let result = last["messages"][3]["content"].as_str().unwrap();
        assert!(result.starts_with("Unknown tool: task"), "{bin}: {result}");
    }
}

#[test]
fn the_gate_holds_inside_and_says_who_asks() {
    for bin in since("s06") {
        let sub = calls(&[
            ("bash", json!({"command": "sudo -n true"})),
            ("bash", json!({"command": "rm -r d"})),
        ]);
        let run = Case::new(bin)
            .file("d/f", "x")
            .replies_to("lead", [task("sub"), say("ok")])
            .replies_to("sub", [sub, say("was stopped")])
            .stdin("lead\nn\n")
            .run();
        let requests = run.requests();
        let last = conversation(&requests, "sub").pop().unwrap();
        let result = |n: usize| last["messages"][n]["content"].as_str().unwrap();
        assert!(
            result(3).starts_with("Permission denied: "),
            "{bin}: {}",
            result(3)
        );
        assert_eq!(result(4), "Permission denied by user.", "{bin}");
        assert!(run.path("d/f").exists(), "{bin}");
        let question = run.stderr.lines().find(|line| line.contains("[y/N]"));
        let question = question.unwrap_or_default();
        assert!(question.starts_with("[subagent] "), "{bin}: {}", run.stderr);
        assert!(run.stderr.contains("[hook] PreToolUse → bash"), "{bin}");
        let prompts = run.stderr.matches("[hook] UserPromptSubmit").count();
        assert_eq!(prompts, 1, "{bin}: the subagent is not the user");
    }
}

#[test]
fn an_error_of_the_model_is_the_result() {
    for bin in since("s06") {
        let error = json!({"error": {"message": "no such model: x"}});
        let run = Case::new(bin)
            .replies_to("lead", [task("sub"), say("ok")])
            .replies_to("sub", [http(404, error)])
            .prompt("lead")
            .run();
        assert_eq!((run.code(), run.stdout.as_str()), (0, "ok\n"), "{bin}");
        let result = run.results().pop().unwrap();
        assert!(result.contains("no such model: x"), "{bin}: {result}");
    }
}

#[test]
fn a_task_without_a_word_is_refused() {
    for bin in since("s06") {
        let run =
            Case::new(bin).replies([task(" "), say("ok")]).prompt("lead").run();
        let result = run.results().pop().unwrap();
        assert!(result.contains("description"), "{bin}: {result}");
        assert_eq!(run.requests().len(), 2, "{bin}");
    }
}

#[test]
fn thirty_rounds_and_no_more() {
    for bin in since("s06") {
        let case = Case::new(bin).replies_to("lead", [task("sub"), say("ok")]);
        let step = call("bash", json!({"command": "true"}));
        case.fake.route("sub", vec![step], true);
        let run = case.prompt("lead").run();
        let result = run.results().pop().unwrap();
        assert!(
            result.starts_with("(incomplete: stopped after 30"),
            "{bin}: {result}"
        );
        assert_eq!(conversation(&run.requests(), "sub").len(), 30, "{bin}");
    }
}

#[test]
fn ctrl_c_stops_the_subagent_too() {
    for bin in since("s06") {
        let sleep = call("bash", json!({"command": "echo $$ > pid; sleep 1000"}));
        let mut running = Case::new(bin)
            .replies_to("lead", [task("sub")])
            .replies_to("next", [say("Here.")])
            .replies_to("sub", [sleep])
            .spawn();
        running.write("lead\n");
        let pid = running.workspace().join("pid");
        until("the command starts", || {
            std::fs::read(&pid).is_ok_and(|text| !text.is_empty())
        });
        running.signal(Signal::INT);
        running.wait_for("Cancelled");
        running.write("next\n");
        let run = running.finish();
        assert_eq!(run.stdout, "Here.\n", "{bin}");
        assert_eq!(run.results(), ["Cancelled by the user."], "{bin}");
        let group = Pid::from_raw(run.read("pid").trim().parse().unwrap()).unwrap();
        until("the group is dead", || test_kill_process_group(group).is_err());
    }
}

#[test]
fn the_demo_runs_without_a_key() {
    let prompt = "Send a subagent to find out which Markdown files there are and what \
        they are about; give me only its summary.";
    let run = Case::offline(OWN).prompt(prompt).run();
    assert_eq!(run.code(), 0);
    assert_snapshot!("s06_demo", run.transcript());
}
