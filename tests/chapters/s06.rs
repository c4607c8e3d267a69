//! s06: a subagent with a conversation of its own.

use super::support::{Case, call, calls, http, say, since, until};
use insta::assert_snapshot;
use rustix::process::Signal;
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
        assert!(run.stderr.contains("[subagent] rm -r d"), "{bin}: {}", run.stderr);
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
fn thirty_rounds_and_no_more() {
    for bin in since("s06") {
        let case = Case::new(bin).replies_to("lead", [task("sub"), say("ok")]);
        let step = call("bash", json!({"command": "true"}));
        case.fake.route("sub", vec![step], true);
        let run = case.prompt("lead").run();
        let result = run.results().pop().unwrap();
        assert!(result.contains("incomplete"), "{bin}: {result}");
        assert_eq!(conversation(&run.requests(), "sub").len(), 30, "{bin}");
    }
}

#[test]
fn ctrl_c_stops_the_subagent_too() {
    for bin in since("s06") {
        let sleep = call("bash", json!({"command": "echo x > on; sleep 1000"}));
        let mut running = Case::new(bin)
            .replies_to("lead", [task("sub")])
            .replies_to("next", [say("Here.")])
            .replies_to("sub", [sleep])
            .spawn();
        running.write("lead\n");
        let on = running.workspace().join("on");
        until("the command starts", || on.exists());
        running.signal(Signal::INT);
        running.wait_for("Cancelled");
        running.write("next\n");
        let run = running.finish();
        assert_eq!(run.stdout, "Here.\n", "{bin}");
        assert_eq!(run.results(), ["Cancelled by the user."], "{bin}");
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
