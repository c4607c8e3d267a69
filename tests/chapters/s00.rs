//! s00: the conversation goes out, the answer comes back.

use super::support::{Case, http, say, since};
use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::json;

const OWN: &str = "s00-llm-http";

#[test]
fn the_conversation_grows_and_is_sent_as_a_whole() {
    let run = Case::new(OWN)
        .replies([say("Hello."), say("You said hi.")])
        .stdin("hi\n\nwhat did I say?\n")
        .run();
    assert_eq!((run.code(), run.stdout.as_str()), (0, "Hello.\nYou said hi.\n"));
    assert_snapshot!("s00_conversation", run.conversation());
    assert_snapshot!("s00_transcript", run.transcript());
    assert!(run.requests()[0].get("tools").is_none());
}

#[test]
fn one_shot_prints_only_the_answer() {
    for bin in since("s00") {
        let run = Case::new(bin).replies([say("Four.")]).prompt("2+2?").run();
        assert_eq!((run.code(), run.stdout.as_str()), (0, "Four.\n"), "{bin}");
    }
}

#[test]
fn quit_words_and_the_end_of_input_leave() {
    for bin in since("s00") {
        for input in ["q\nnever\n", " exit \nnever\n", "", "\n\n"] {
            let run = Case::new(bin).stdin(input).run();
            assert_eq!(
                (run.code(), run.stdout.as_str()),
                (0, ""),
                "{bin} {input:?}"
            );
        }
    }
}

#[test]
fn usage_goes_to_stderr() {
    for bin in since("s00") {
        let answer = json!({"choices": [{"message": {"content": "Hi."}}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3}});
        let run = Case::new(bin).replies([http(200, answer)]).prompt("hi").run();
        assert!(run.stderr.contains("12") && run.stderr.contains('3'), "{bin}");
        assert_eq!(run.stdout, "Hi.\n", "{bin}");
    }
}

#[test]
fn an_error_names_status_and_message_and_the_chat_goes_on() {
    for bin in since("s00") {
        let error = json!({"error": {"message": "no such model: x"}});
        let run = Case::new(bin)
            .replies([http(404, error), say("Back.")])
            .stdin("one\ntwo\n")
            .run();
        assert_eq!((run.code(), run.stdout.as_str()), (1, "Back.\n"), "{bin}");
        assert!(run.stderr.contains("[Error]"), "{}", run.stderr);
        assert!(run.stderr.contains("404"), "{}", run.stderr);
        assert!(run.stderr.contains("no such model: x"), "{}", run.stderr);
    }
}

#[test]
fn a_body_that_is_not_json_is_quoted() {
    for bin in since("s00") {
        let run =
            Case::new(bin).replies([http(400, "<p>Go away")]).prompt("hi").run();
        assert_eq!(run.code(), 1, "{bin}");
        assert!(run.stderr.contains("<p>Go away"), "{}", run.stderr);
    }
}

#[test]
fn an_empty_answer_is_a_failure() {
    for content in [json!(null), json!(""), json!("  \n")] {
        let message = json!({"role": "assistant", "content": content});
        let answer = json!({"choices": [{"message": message}]});
        let run = Case::new(OWN).replies([http(200, answer)]).prompt("hi").run();
        assert_eq!((run.code(), run.stdout.as_str()), (1, ""));
        assert!(run.stderr.contains("empty answer"), "{}", run.stderr);
    }
}

#[test]
fn a_call_where_no_tool_was_offered_is_no_answer() {
    let function = json!({"name": "bash", "arguments": "{}"});
    let calls = json!([{"id": "c", "type": "function", "function": function}]);
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    let answer = http(200, json!({"choices": [{"message": message}]}));
    let run = Case::new(OWN).replies([answer, say("Hi.")]).stdin("a\nb\n").run();
    assert_eq!((run.code(), run.stdout.as_str()), (1, "Hi.\n"));
    assert!(run.stderr.contains("empty answer"), "{}", run.stderr);
    assert!(!run.requests()[1].to_string().contains("tool"));
}

#[test]
fn what_was_asked_before_a_cancel_stays() {
    let mut running =
        Case::new(OWN).replies([say("late").after(60), say("Here.")]).spawn();
    running.write("first\n");
    running.wait_for_request();
    running.signal(Signal::INT);
    running.wait_for("Cancelled");
    running.write("second\n");
    let run = running.finish();
    assert_eq!((run.code(), run.stdout.as_str()), (1, "Here.\n"));
    let messages = run.requests()[1]["messages"].clone();
    let asked = |n: usize| messages[n]["content"].as_str().unwrap().to_string();
    assert_eq!((asked(1), asked(2)), ("first".into(), "second".into()));
}

#[test]
fn an_answer_that_was_cut_says_so() {
    for bin in since("s00") {
        let choice =
            json!({"message": {"content": "half"}, "finish_reason": "length"});
        let answer = http(200, json!({"choices": [choice]}));
        let run = Case::new(bin).replies([answer]).prompt("hi").run();
        assert_eq!((run.code(), run.stdout.as_str()), (0, "half\n"), "{bin}");
        assert!(run.stderr.contains("[cut]"), "{bin}: {}", run.stderr);
    }
}

#[test]
fn a_long_wait_is_named() {
    for bin in since("s00") {
        let busy = http(429, json!({"error": {"message": "slow"}}));
        let busy = busy.header("retry-after", "7200");
        let run = Case::new(bin).replies([busy]).prompt("hi").run();
        assert_eq!(run.code(), 1, "{bin}");
        assert!(run.stderr.contains("7200 s"), "{bin}: {}", run.stderr);
    }
}

#[test]
fn both_wire_formats_carry_a_chat() {
    for bin in since("s00") {
        let answer = |text: &str| {
            let content = json!([{"type": "text", "text": text}]);
            http(
                200,
                json!({"role": "assistant", "content": content,
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 5, "output_tokens": 2}}),
            )
        };
        let run = Case::anthropic(bin)
            .replies([answer("One."), answer("Two.")])
            .stdin("first\nsecond\n")
            .run();
        assert_eq!((run.code(), run.stdout.as_str()), (0, "One.\nTwo.\n"), "{bin}");
        let last = &run.requests()[1];
        assert_eq!(last["messages"].as_array().unwrap().len(), 3, "{bin}");
        assert!(last["system"].is_string() && last["max_tokens"].is_u64(), "{bin}");
    }
}

#[test]
fn unusable_configuration_is_one_clear_line() {
    let cases = [
        ("LLM_PROVIDER", "acme", "acme"),
        ("LLM_PROVIDER", "openai", "OPENAI_API_KEY"),
        ("OPENAI_BASE_URL", "not a url", "OPENAI_BASE_URL"),
        ("MAX_ROUNDS", "many", "MAX_ROUNDS"),
    ];
    for bin in since("s00") {
        for (name, value, named) in cases {
            let run = Case::offline(bin).env(name, value).prompt("hi").run();
            assert_eq!((run.code(), run.stdout.as_str()), (2, ""), "{bin} {name}");
            assert!(run.stderr.contains(named), "{bin}: {}", run.stderr);
            assert_eq!(run.stderr.trim().lines().count(), 1, "{}", run.stderr);
        }
    }
}

#[test]
fn the_demo_runs_without_a_key() {
    let run = Case::offline(OWN)
        .stdin(
            "Explain in two sentences what a code agent is, with one example that \
             works on a file.\nWhich of the two sentences was the longer one?\nSing\n",
        )
        .run();
    assert_eq!(run.code(), 0);
    assert_snapshot!("s00_demo", run.transcript());
}

#[test]
fn a_key_never_shows() {
    for bin in since("s00") {
        let error = json!({"error": {"message": "Incorrect key: sk-SECRET123456"}});
        let run = Case::new(bin)
            .env("OPENAI_API_KEY", "sk-SECRET123456")
            .replies([http(401, error)])
            .prompt("hi")
            .run();
        assert_eq!(run.code(), 1);
        assert!(!run.stderr.contains("SECRET123456"), "{}", run.stderr);
    }
}
