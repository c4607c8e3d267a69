//! s01: calls are run and answered until a reply has none.

use super::support::{Case, call, calls, http, say, since, until};
use insta::assert_snapshot;
use rustix::process::{Signal, test_kill_process_group};
use serde_json::{Value, json};

const OWN: &str = "s01-agent-loop";

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

fn run_one(bin: &str, command: &str) -> String {
    let (name, args) = bash(command);
    let run =
        Case::new(bin).replies([call(name, args), say("Done.")]).prompt("go").run();
    assert_eq!((run.code(), run.stdout.as_str()), (0, "Done.\n"), "{bin} {command}");
    run.results().pop().unwrap()
}

#[test]
fn a_call_is_run_and_its_result_goes_back() {
    let run = Case::new(OWN)
        .file("a.txt", "hello\n")
        .replies([
            call("bash", json!({"command": "cat a.txt"})),
            say("It says hello."),
        ])
        .prompt("What is in a.txt?")
        .run();
    assert_eq!((run.code(), run.stdout.as_str()), (0, "It says hello.\n"));
    assert_snapshot!("s01_transcript", run.transcript());
    assert_snapshot!("s01_conversation", run.conversation());
    assert_snapshot!("s01_tools", format!("{:#}", run.requests()[0]["tools"]));
}

#[test]
fn several_calls_run_in_order_and_each_has_its_result() {
    for bin in since("s01") {
        let two = calls(&[bash("echo 1 > n; echo one"), bash("cat n")]);
        let run = Case::new(bin).replies([two, say("ok")]).prompt("go").run();
        assert_eq!(run.results(), ["one", "1"], "{bin}");
    }
}

#[test]
fn results_say_what_happened() {
    let cases = [
        ("printf 'out\\n\\n'", "out"),
        ("true", "(no output)"),
        ("echo out; echo err >&2; exit 3", "out\nerr\n[exit code 3]"),
        ("kill -9 $$", "(no output)\n[killed by signal 9]"),
        ("cat; echo end", "end"),
        ("cat <<X\nhere\nX", "here"),
        ("echo \"$OPENAI_API_KEY$ANTHROPIC_API_KEY$BRAVE_API_KEY|\"", "|"),
    ];
    for bin in since("s01") {
        for (command, wanted) in cases {
            let result = run_one(bin, command);
            assert_eq!(result, wanted, "{bin} {command}");
        }
    }
}

#[test]
fn odd_output_does_no_harm() {
    for bin in since("s01") {
        let long = run_one(bin, "seq 1 100000; echo THE END");
        assert!(long.starts_with("1\n2\n") && long.ends_with("THE END"), "{bin}");
        assert!(long.chars().count() < 51_000, "{}", long.chars().count());
        let bytes = run_one(bin, "printf 'a\\xff\\x00b'");
        assert!(bytes.starts_with("a\u{fffd}b"), "{bytes:?}");
    }
}

#[test]
fn what_the_shell_leaves_running_does_not_hold_the_loop() {
    for bin in since("s01") {
        let (name, args) =
            bash("(while ! test -e stop; do :; done; echo x; touch end) & echo on");
        let mut running = Case::new(bin)
            .replies([call(name, args), say("on"), say("off")])
            .spawn();
        running.write("start\n");
        running.wait_for_answer("on");
        let folder = running.workspace().to_path_buf();
        std::fs::write(folder.join("stop"), "").unwrap();
        until("the job goes on", || folder.join("end").exists());
        running.write("stop\n");
        let run = running.finish();
        assert_eq!(run.code(), 0, "{bin}: {}", run.stderr);
    }
}

#[test]
fn calls_that_cannot_run_are_answered_too() {
    let message = |arguments: Value, name: &str| {
        let function = json!({"name": name, "arguments": arguments});
        let calls = json!([{"id": "x", "type": "function", "function": function}]);
        let message =
            json!({"role": "assistant", "content": null, "tool_calls": calls});
        http(200, json!({"choices": [{"message": message}]}))
    };
    let cases = [
        (message(json!("{}"), "bash"), "command"),
        (message(json!(""), "bash"), "command"),
        (message(json!({"command": 5}), "bash"), "command"),
        (message(json!("{\"command\": \"ls"), "bash"), "JSON"),
        (message(json!("[1]"), "bash"), "object"),
        (message(json!("{}"), "fly"), "Unknown tool: fly"),
    ];
    for bin in since("s01") {
        for (answer, named) in &cases {
            let replies = [answer.clone(), say("ok")];
            let run = Case::new(bin).replies(replies).prompt("go").run();
            assert_eq!(run.code(), 0, "{bin}");
            let result = run.results().pop().unwrap();
            assert!(result.contains(named), "{bin} {named}: {result}");
        }
    }
}

#[test]
fn arguments_of_every_known_shape_run() {
    let command = json!({"command": "echo yes"});
    let text = command.to_string();
    for arguments in [command, json!(text), json!(json!(text).to_string())] {
        let function = json!({"name": "bash", "arguments": arguments});
        let calls = json!([{"function": function}]);
        let message = json!({"content": null, "tool_calls": calls});
        let answer = http(200, json!({"choices": [{"message": message}]}));
        let run = Case::new(OWN).replies([answer, say("ok")]).prompt("go").run();
        assert_eq!(run.results(), ["yes"]);
    }
}

#[test]
fn a_model_that_calls_for_ever_meets_the_round_limit() {
    for bin in since("s01") {
        let (name, args) = bash("true");
        let run = Case::new(bin)
            .env("MAX_ROUNDS", "3")
            .replies_forever([call(name, args)])
            .prompt("go")
            .run();
        assert_eq!((run.code(), run.stdout.as_str()), (1, ""), "{bin}");
        assert_eq!(run.requests().len(), 3, "{bin}");
        assert!(run.stderr.contains("MAX_ROUNDS"), "{bin}: {}", run.stderr);
    }
}

#[test]
fn the_trace_shows_the_command_and_text_beside_calls_goes_to_stderr() {
    for bin in since("s01") {
        let mut answer = call("bash", json!({"command": "echo traced"}));
        let silent = "\"content\":null";
        assert!(answer.body.contains(silent));
        answer.body = answer.body.replace(silent, "\"content\":\"Let me look.\"");
        let run = Case::new(bin).replies([answer, say("ok")]).prompt("go").run();
        assert_eq!(run.stdout, "ok\n", "{bin}");
        for text in ["$ echo traced", "Let me look."] {
            assert!(run.stderr.contains(text), "{bin} {text}: {}", run.stderr);
        }
    }
}

#[test]
fn ctrl_c_cancels_the_turn_and_only_the_turn() {
    for bin in since("s01") {
        let two = calls(&[bash("echo $$ > pid; sleep 1000"), bash("touch never")]);
        let mut running = Case::new(bin).replies([two, say("Still here.")]).spawn();
        running.write("wait\n");
        let pid = running.workspace().join("pid");
        until("the shell starts", || {
            std::fs::read(&pid).is_ok_and(|t| !t.is_empty())
        });
        running.signal(Signal::INT);
        running.wait_for("Cancelled");
        running.write("and now?\n");
        let run = running.finish();
        assert_eq!((run.code(), run.stdout.as_str()), (1, "Still here.\n"), "{bin}");
        assert_eq!(run.results(), ["Cancelled by the user."; 2], "{bin}");
        assert!(!run.path("never").exists(), "{bin}");
        let pid = run.read("pid").trim().parse().unwrap();
        let group = rustix::process::Pid::from_raw(pid).unwrap();
        until("the group is dead", || test_kill_process_group(group).is_err());
    }
}

#[test]
fn ctrl_c_ends_a_one_shot_run_with_130() {
    for bin in since("s01") {
        let (name, args) = bash("sleep 1000");
        let running =
            Case::new(bin).replies([call(name, args)]).prompt("go").spawn();
        running.wait_for("$ sleep 1000");
        running.signal(Signal::INT);
        assert_eq!(running.finish().code(), 130, "{bin}");
    }
}

#[test]
fn an_assistant_message_goes_back_as_it_came() {
    for bin in since("s01") {
        let function =
            json!({"name": "bash", "arguments": "{ \"command\":\"true\" }"});
        let calls = json!([{"id": "c", "type": "function", "function": function,
            "extra_content": {"signature": "S=="}}]);
        let message = json!({"role": "assistant", "content": null,
            "reasoning_content": "hm", "tool_calls": calls});
        let answer = http(200, json!({"choices": [{"message": message}]}));
        let run = Case::new(bin).replies([answer, say("ok")]).prompt("go").run();
        let messages = &run.requests()[1]["messages"];
        assert_eq!(messages[2], message, "{bin}");
    }
}

#[test]
fn keys_show_neither_in_the_trace_nor_in_the_answer() {
    for bin in since("s01") {
        let key = "my-very-own-key-123";
        let run = Case::new(bin)
            .env("OPENAI_API_KEY", key)
            .file("key.txt", format!("key={key}"))
            .replies([
                call("bash", json!({"command": "cat key.txt"})),
                say(&format!("It is {key}.")),
            ])
            .prompt("go")
            .run();
        assert_eq!(run.stdout, "It is [key].\n", "{bin}");
        assert!(!run.stderr.contains(key), "{bin}: {}", run.stderr);
        assert!(run.stderr.contains("  key=[key]"), "{bin}: {}", run.stderr);
    }
}

#[test]
fn a_command_may_begin_with_a_dash() {
    for bin in since("s01") {
        let result = run_one(bin, "--version");
        assert!(result.contains("not found"), "{bin}: {result}");
    }
}

#[test]
fn the_demo_runs_without_a_key() {
    let prompt = "List all Rust files below the current folder and tell me how many there are.";
    let run = Case::offline(OWN).prompt(prompt).run();
    assert_eq!(run.code(), 0);
    assert_snapshot!("s01_demo", run.transcript());
}
