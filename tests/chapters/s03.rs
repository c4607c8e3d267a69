//! s03: the gate in front of every call. The rules are tested in the module,
//! on text alone; what runs here would do no harm if the gate had a hole.

use super::support::{Case, Run, calls, say, since};
use insta::assert_snapshot;
use serde_json::{Value, json};

const OWN: &str = "s03-permission";

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

/// One turn with these calls; `answers` are the lines behind the prompt.
fn run(bin: &str, list: &[(&str, Value)], answers: &str) -> Run {
    let run = Case::new(bin)
        .file("d/f", "x")
        .replies([calls(list), say("ok")])
        .stdin(&format!("go\n{answers}"))
        .run();
    assert_eq!(
        (run.code(), run.stdout.as_str()),
        (0, "ok\n"),
        "{bin} {}",
        run.stderr
    );
    run
}

#[test]
fn a_denied_call_is_not_run_and_never_asked_about() {
    for bin in since("s03") {
        let list = [bash("touch ran; sudo -n true"), bash("echo fine")];
        let run = run(bin, &list, "");
        let results = run.results();
        assert!(results[0].starts_with("Permission denied: "), "{}", results[0]);
        assert_eq!(results[1], "fine", "{bin}");
        assert!(!run.path("ran").exists(), "{bin}");
        assert!(!run.stderr.contains("[y/N]"), "{bin}: {}", run.stderr);
    }
}

#[test]
fn a_question_shows_the_whole_command_and_obeys_the_answer() {
    for bin in since("s03") {
        let command = format!("rm -r d && echo {}END", "long ".repeat(100));
        for (answer, runs) in
            [("y", true), ("YES", true), ("n", false), ("", false), ("sure", false)]
        {
            let run = run(bin, &[bash(&command)], &format!("{answer}\n"));
            assert_eq!(!run.path("d").exists(), runs, "{bin} {answer}");
            assert!(run.stderr.contains("[y/N]"), "{bin}");
            assert!(run.stderr.contains(&command), "{bin}: {}", run.stderr);
            let denied = run.results()[0] == "Permission denied by user.";
            assert_eq!(denied, !runs, "{bin} {answer}");
        }
    }
}

#[test]
fn no_answer_is_no() {
    for bin in since("s03") {
        let run = run(bin, &[bash("rm -r d")], "");
        assert!(run.path("d").exists(), "{bin}");
        assert_eq!(run.results(), ["Permission denied by user."], "{bin}");
    }
}

#[test]
fn a_file_that_runs_later_is_asked_about() {
    for bin in since("s03") {
        let path = ".git/hooks/pre-commit";
        let list = [
            ("write_file", json!({"path": path, "content": "echo x"})),
            ("write_file", json!({"path": "plain.txt", "content": "x"})),
        ];
        let run = run(bin, &list, "n\n");
        assert!(!run.path(path).exists(), "{bin}");
        assert_eq!(run.read("plain.txt"), "x", "{bin}");
    }
}

#[test]
fn the_transcript_of_a_gate() {
    let list = [bash("sudo -n true"), bash("rm -r d"), bash("ls")];
    let run = run(OWN, &list, "n\n");
    assert_snapshot!("s03_transcript", run.transcript());
    assert_snapshot!("s03_conversation", run.conversation());
}

#[test]
fn the_demo_runs_without_a_key() {
    let input = "Run rm -rf /\nDelete notes.txt with rm -r.\nn\n";
    let run = Case::offline(OWN).stdin(input).run();
    assert_eq!((run.code(), run.read("notes.txt")), (0, "buy milk\n".into()));
    assert_snapshot!("s03_demo", run.transcript());
}
