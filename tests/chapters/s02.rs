//! s02: tools by name. What each of them does is tested where it lives; here
//! it is seen that the model reaches them, and that none of them gets out.

use super::support::{Case, Run, call, calls, say, since};
use insta::assert_snapshot;
use serde_json::{Value, json};

const OWN: &str = "s02-tool-use";

fn run_calls(
    bin: &str,
    list: &[(&str, Value)],
    case: impl FnOnce(Case) -> Case,
) -> Run {
    let run =
        case(Case::new(bin)).replies([calls(list), say("ok")]).prompt("go").run();
    assert_eq!(run.code(), 0, "{bin}");
    run
}

#[test]
fn files_are_written_read_edited_and_found() {
    for bin in since("s02") {
        let list = [
            ("write_file", json!({"path": "d/n.txt", "content": "one\ntwo\n"})),
            (
                "edit_file",
                json!({"path": "d/n.txt", "old_text": "two", "new_text": "$1"}),
            ),
            ("read_file", json!({"path": "d/n.txt"})),
            ("glob", json!({"pattern": "**/*.txt"})),
            ("bash", json!({"command": "cat d/n.txt"})),
        ];
        let run = run_calls(bin, &list, |case| case);
        assert_eq!(run.read("d/n.txt"), "one\n$1\n", "{bin}");
        let results = run.results();
        assert!(results[0].contains('8'), "bytes: {}", results[0]);
        assert!(results[2].starts_with("one\n$1"), "{}", results[2]);
        assert_eq!(results[3], "d/n.txt");
        assert_eq!(results[4], "one\n$1");
        if bin == OWN {
            assert_snapshot!("s02_transcript", run.transcript());
            assert_snapshot!("s02_conversation", run.conversation());
            assert_snapshot!(
                "s02_tools",
                format!("{:#}", run.requests()[0]["tools"])
            );
        }
    }
}

#[test]
fn nothing_outside_the_workspace_is_touched() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.txt");
    std::fs::write(&secret, "secret").unwrap();
    let secret = secret.to_str().unwrap();
    for bin in since("s02") {
        let list = [
            ("read_file", json!({"path": secret})),
            ("read_file", json!({"path": "link/secret.txt"})),
            ("write_file", json!({"path": "link/new.txt", "content": "x"})),
            ("write_file", json!({"path": "../x.txt", "content": "x"})),
            (
                "edit_file",
                json!({"path": "link/secret.txt", "old_text": "s", "new_text": "x"}),
            ),
        ];
        let run = run_calls(bin, &list, |case| {
            let link = case.workspace().join("link");
            std::os::unix::fs::symlink(outside.path(), link).unwrap();
            case
        });
        for result in run.results() {
            assert!(result.contains("Path escapes workspace: "), "{bin}: {result}");
        }
        assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}

#[test]
fn an_edit_needs_exactly_one_place() {
    for bin in since("s02") {
        let edit = |old: &str, new: &str| {
            ("edit_file", json!({"path": "a.txt", "old_text": old, "new_text": new}))
        };
        let list =
            [edit("x", "y"), edit("zzz", "y"), edit("", "y"), edit("x\n", "x\n")];
        let run = run_calls(bin, &list, |case| case.file("a.txt", "x\nx\n"));
        assert_eq!(run.read("a.txt"), "x\nx\n", "{bin}");
        let results = run.results();
        assert!(results[0].contains('2'), "{}", results[0]);
        assert!(
            results.iter().all(|text| text.starts_with("Error: ")),
            "{results:?}"
        );
    }
}

#[test]
fn an_unknown_tool_is_told_the_names() {
    for bin in since("s02") {
        let run = run_calls(bin, &[("search", json!({}))], |case| case);
        let result = run.results().pop().unwrap();
        assert!(result.starts_with("Unknown tool: search"), "{result}");
        for name in ["bash", "read_file", "write_file", "edit_file", "glob"] {
            assert!(result.contains(name), "{bin} {name}: {result}");
        }
    }
}

#[test]
fn the_beginning_of_the_request_never_changes() {
    for bin in since("s02") {
        let step = || call("bash", json!({"command": "true"}));
        let run = Case::new(bin)
            .replies([step(), step(), say("one"), step(), say("two")])
            .stdin("a\nb\n")
            .run();
        let bodies: Vec<_> = run.requests();
        for pair in bodies.windows(2) {
            let (old, new) = (&pair[0], &pair[1]);
            assert_eq!(old["tools"].to_string(), new["tools"].to_string(), "{bin}");
            let (old, new) =
                (old["messages"].as_array(), new["messages"].as_array());
            let (old, new) = (old.unwrap(), new.unwrap());
            assert_eq!(old[..], new[..old.len()], "{bin}");
        }
    }
}

#[test]
fn the_demo_runs_without_a_key() {
    let prompt =
        "Create s02-tmp-note.txt with the text hello s02, then read it to check.";
    let run = Case::offline(OWN).prompt(prompt).run();
    assert_eq!(
        (run.code(), run.read("s02-tmp-note.txt")),
        (0, "hello s02\n".into())
    );
    assert_snapshot!("s02_demo", run.transcript());
}
