//! s04: the hooks around the loop, seen from outside. How gates and observers
//! play together is tested in the module.

use super::support::{Case, calls, say, since};
use insta::assert_snapshot;
use serde_json::json;

const OWN: &str = "s04-hooks";

#[test]
fn the_standard_hooks_speak_at_their_moments() {
    for bin in since("s04") {
        let list = [
            ("bash", json!({"command": "echo a"})),
            ("bash", json!({"command": "sudo -n true"})),
            ("read_file", json!({"path": "f"})),
        ];
        let run = Case::new(bin)
            .file("f", "text")
            .replies([calls(&list), say("one"), say("two")])
            .stdin("first\nsecond\n")
            .run();
        let hooks: Vec<_> =
            run.stderr.lines().filter(|line| line.contains("[hook] ")).collect();
        let wanted = [
            "[hook] UserPromptSubmit → ",
            "[hook] PreToolUse → bash",
            "[hook] PreToolUse → bash",
            "[hook] PreToolUse → blocked: Permission denied: ",
            "[hook] PreToolUse → read_file",
            "[hook] Stop → tools used: bash ×1, read_file ×1",
            "[hook] UserPromptSubmit → ",
            "[hook] Stop → no tools used",
        ];
        assert_eq!(hooks.len(), wanted.len(), "{bin}: {hooks:#?}");
        for (line, wanted) in hooks.iter().zip(wanted) {
            assert!(line.contains(wanted), "{bin}: {line} is not {wanted}");
        }
        if bin == OWN {
            assert_snapshot!("s04_transcript", run.transcript());
        }
    }
}

#[test]
fn the_context_hook_does_not_alter_the_prompt() {
    for bin in since("s04") {
        let run = Case::new(bin).replies([say("ok")]).prompt("as typed").run();
        let messages = run.requests()[0]["messages"].clone();
        let last = messages.as_array().unwrap().last().unwrap().clone();
        assert_eq!(last, json!({"role": "user", "content": "as typed"}), "{bin}");
    }
}

#[test]
fn the_demo_runs_without_a_key() {
    let input =
        "Try to delete notes.txt, then tell me whether you were stopped.\nn\n";
    let run = Case::offline(OWN).stdin(input).run();
    assert_eq!((run.code(), run.read("notes.txt")), (0, "buy milk\n".into()));
    assert_snapshot!("s04_demo", run.transcript());
}
