//! s08: a conversation that stays within limits, seen from outside. Single
//! steps and random sessions are tested in the module.

use super::support::{Answer, Case, Run, call, calls, http, say, since};
use insta::assert_snapshot;
use serde_json::{Value, json};

const OWN: &str = "s08-context-compact";
const SUMMARIZE: &str = "Summarize this coding-agent conversation";
const RESULTS: &str = ".task_outputs/tool-results";

/// A case with the limit that the reader has.
fn small(bin: &str) -> Case {
    Case::new(bin).env("CONTEXT_LIMIT", "12000")
}

/// Lines with a number in front, so that it can be seen which ones are there.
fn lines(count: usize, width: usize) -> String {
    let line = |n| format!("{n}: {}é\n", "x".repeat(width));
    (1..=count).map(line).collect()
}

fn read(path: &str) -> Answer {
    call("read_file", json!({"path": path}))
}

/// A call that no cheap step can shorten.
fn write(chars: usize) -> Answer {
    call("write_file", json!({"path": "out.txt", "content": "y".repeat(chars)}))
}

fn messages(request: &Value) -> Vec<Value> {
    let messages = request["messages"].as_array().expect("a list");
    messages.iter().filter(|one| one["role"] != "system").cloned().collect()
}

fn texts(request: &Value, role: &str) -> Vec<String> {
    let messages = messages(request).into_iter().filter(|one| one["role"] == role);
    messages.map(|one| one["content"].as_str().unwrap().to_string()).collect()
}

/// The characters of a request's messages.
fn size(request: &Value) -> usize {
    messages(request).iter().map(|one| one.to_string().chars().count()).sum()
}

fn is_summary(request: &Value) -> bool {
    texts(request, "user").iter().any(|text| text.starts_with(SUMMARIZE))
}

/// Requests for a summary, and all others. Those for a summary have no tools.
fn sorted(run: &Run) -> (Vec<Value>, Vec<Value>) {
    let (side, main): (Vec<_>, Vec<_>) =
        run.requests().into_iter().partition(is_summary);
    assert!(side.iter().all(|one| one.get("tools").is_none()));
    assert!(main.iter().all(|one| one["tools"].is_array()));
    (side, main)
}

/// The sizes before and after, from lines such as `[auto compact] 9 → 5 …`.
fn traced(run: &Run, label: &str) -> Vec<(usize, usize)> {
    let numbers = |line: &str| {
        let rest = line.strip_prefix(label)?.strip_suffix(" characters")?;
        let (before, after) = rest.trim().split_once(" → ")?;
        Some((before.parse().ok()?, after.parse().ok()?))
    };
    run.stderr.lines().filter_map(numbers).collect()
}

fn files(run: &Run, folder: &str) -> Vec<String> {
    let Ok(files) = std::fs::read_dir(run.path(folder)) else { return vec![] };
    let name = |file: std::fs::DirEntry| file.file_name().into_string().unwrap();
    files.map(|file| format!("{folder}/{}", name(file.unwrap()))).collect()
}

#[test]
fn a_big_result_goes_to_a_file_that_can_be_read_to_its_end() {
    for bin in since("s08") {
        let whole = lines(900, 40);
        let mut running = small(bin)
            .file("big.txt", &whole)
            .replies([read("big.txt"), say("first")])
            .spawn();
        running.write("read it\n");
        running.wait_for_answer("first");
        let folder = std::fs::read_dir(running.workspace().join(RESULTS)).unwrap();
        let name = folder.map(|file| file.unwrap().file_name()).next().unwrap();
        let path = format!("{RESULTS}/{}", name.to_str().unwrap());
        let rest = json!({"path": path, "offset": 850});
        let answers = vec![call("read_file", rest), read(&path), say("second")];
        running.fake().route("", answers, false);
        running.write("and the rest\n");
        let run = running.finish();
        assert_eq!(run.fake.faults(), [""; 0], "{bin}");
        // What was saved is the result, to the letter; and only it was saved.
        assert_eq!(run.read(&path), whole, "{bin}");
        assert_eq!(files(&run, RESULTS), std::slice::from_ref(&path), "{bin}");
        let results = texts(&run.requests()[1], "tool");
        let (head, preview) = results[0].split_once("It begins:\n").unwrap();
        assert!(head.starts_with("<persisted-output>\n"), "{bin}: {head}");
        assert!(head.contains(&whole.chars().count().to_string()), "{head}");
        assert!(head.contains(&path) && head.contains("offset="), "{head}");
        let preview = preview.strip_suffix("\n</persisted-output>").unwrap();
        assert_eq!(preview.chars().count(), 2_000, "{bin}");
        assert!(whole.starts_with(preview), "{bin}");
        let results = run.results();
        assert!(results[1].starts_with("850: x"), "{bin}: {}", results[1]);
        assert!(results[1].contains("\n900: x"), "{bin}: {}", results[1]);
        // Read from its beginning, it comes as a page and not as a preview.
        assert!(results[2].starts_with("1: x"), "{bin}: {}", results[2]);
        assert!(results[2].contains("; continue with offset="), "{bin}");
        assert_eq!(traced(&run, "[auto compact]").len(), 2, "{bin}");
    }
}

#[test]
fn small_results_and_errors_stay_where_they_are() {
    for bin in since("s08") {
        let list = [
            ("read_file", json!({"path": "a"})),
            ("read_file", json!({"path": "none"})),
        ];
        let run = small(bin)
            .file("a", lines(100, 40))
            .replies([calls(&list), say("ok")])
            .prompt("go")
            .run();
        let results = run.results();
        assert_eq!(results[0], lines(100, 40), "{bin}");
        assert!(results[1].starts_with("Error: "), "{bin}");
        assert_eq!(files(&run, RESULTS), [""; 0], "{bin}");
        assert!(!run.stderr.contains("compact]"), "{bin}: {}", run.stderr);
    }
}

#[test]
fn a_long_list_is_snipped_once_and_then_left_alone() {
    for bin in since("s08") {
        let mut replies: Vec<_> = (0..30).map(|_| read("a")).collect();
        replies.push(say("ok"));
        let run = Case::new(bin)
            .file("a", "small")
            .replies(replies)
            .prompt("the task é")
            .run();
        let requests = run.requests();
        let notes = |request: &Value| {
            let texts = texts(request, "user").into_iter();
            texts.filter(|text| text.starts_with("[snipped ")).collect::<Vec<_>>()
        };
        let first = requests.iter().position(|one| !notes(one).is_empty());
        let first = first.expect("a snip");
        // One message opens the list, each round adds two, and now and then
        // comes a reminder of the plan.
        assert!(messages(&requests[first - 1]).len() <= 50, "{bin}");
        let length = messages(&requests[first]).len();
        assert!((24..=30).contains(&length), "{bin}: {length}");
        let note = notes(&requests[first]);
        let gone: usize = note[0].split(' ').nth(1).unwrap().parse().unwrap();
        assert_eq!(
            note,
            [format!("[snipped {gone} messages from the middle]")],
            "{bin}"
        );
        for pair in requests[first..].windows(2) {
            let (old, new) = (messages(&pair[0]), messages(&pair[1]));
            assert_eq!(notes(&pair[1]), note, "{bin}");
            assert_eq!(old[..], new[..old.len()], "{bin}");
        }
        for request in &requests {
            assert_eq!(texts(request, "user")[0], "the task é", "{bin}");
        }
        assert_eq!(traced(&run, "[auto compact]").len(), 1, "{bin}");
    }
}

#[test]
fn old_results_become_one_line_and_the_last_three_stay() {
    for bin in since("s08") {
        let mut replies: Vec<_> = (1..=6).map(|n| read(&n.to_string())).collect();
        replies.push(say("ok"));
        let case = (1..=6).fold(small(bin), |case, n| {
            case.file(&n.to_string(), lines(50, 40).replace('x', &n.to_string()))
        });
        let run = case.replies(replies).prompt("go").run();
        assert!(!run.requests().iter().any(is_summary), "{bin}");
        let results = run.results();
        for (n, result) in (1..).zip(&results) {
            let whole = lines(50, 40).replace('x', &n.to_string());
            match n {
                1..=2 => assert!(
                    result.contains("characters were here") && result.len() < 80,
                    "{bin}: {result}"
                ),
                _ => assert_eq!(*result, whole, "{bin}"),
            }
        }
        let requests = run.requests();
        let whole = |request| {
            let results = texts(request, "tool");
            results.iter().filter(|one| one.len() > 200).count()
        };
        let counts: Vec<_> = requests.iter().map(whole).collect();
        assert_eq!(counts, [0, 1, 2, 3, 4, 3, 4], "all in one go, {bin}");
    }
}

/// Too long whatever the cheap steps do, with a plan.
fn overfull(bin: &str, summaries: &[Answer]) -> Run {
    let todos = json!({"todos": [
        {"content": "find the leak", "status": "completed"},
        {"content": "mend it", "status": "in_progress"}]});
    let replies = [
        call("todo_write", todos),
        write(5_000),
        write(5_000),
        write(5_000),
        say("one"),
        say("two"),
    ];
    small(bin)
        .replies_to(SUMMARIZE, summaries)
        .replies(replies)
        .stdin("Mend the leak, 漢🦀.\nAnd now?\n")
        .run()
}

#[test]
fn what_is_still_too_long_becomes_a_summary() {
    for bin in since("s08") {
        let run = overfull(bin, &[say("SUMMARY")]);
        assert_eq!((run.code(), run.stdout.as_str()), (0, "one\ntwo\n"), "{bin}");
        let (side, main) = sorted(&run);
        assert_eq!(side.len(), 1, "{bin}");
        assert_eq!(texts(&side[0], "user").len(), 1, "{bin}");
        let compacted = messages(&main[4]);
        let opening = compacted[0]["content"].as_str().unwrap();
        assert!(opening.starts_with("[Compacted]"), "{bin}: {opening}");
        for part in ["Mend the leak, 漢🦀.\n", "SUMMARY", "[✓] find", "[▸] mend it"]
        {
            assert!(opening.contains(part), "{bin}: {part} is not in {opening}");
        }
        // The newest call and its result, which was not seen, are left whole.
        assert_eq!(compacted[1..], messages(&run.requests()[5])[1..], "{bin}");
        assert_eq!(compacted[1]["tool_calls"].as_array().unwrap().len(), 1);
        assert!(texts(&main[4], "tool")[0].contains("5000"), "{bin}");
        let path = opening.split_once("Full transcript: ").unwrap().1;
        assert!(path.starts_with(".transcripts/"), "{bin}: {path}");
        let lines = run.read(path);
        let lines: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[..], messages(&main[3])[..lines.len()], "{bin}");
        let &[(before, after)] = &traced(&run, "[auto compact]")[..] else {
            panic!("{bin}: {}", run.stderr)
        };
        assert!(before > 12_000 && after == size(&main[4]), "{bin}");
        if bin == OWN {
            assert_snapshot!("s08_summary_request", texts(&side[0], "user")[0]);
            assert_snapshot!("s08_compacted", run.redact(opening));
            assert_snapshot!("s08_transcript", run.transcript());
        }
    }
}

#[test]
fn without_a_summary_nothing_is_lost_and_it_is_not_asked_for_ever() {
    for bin in since("s08") {
        let mut replies: Vec<_> = (0..8).map(|_| write(5_000)).collect();
        replies.push(say("ok"));
        let failure = http(404, json!({"error": {"message": "no such model"}}));
        let run = small(bin)
            .replies_to(SUMMARIZE, [say(" "), say(&"long ".repeat(9_000)), failure])
            .replies(replies)
            .prompt("the task")
            .run();
        assert_eq!(run.code(), 0, "{bin}");
        let (_, main) = sorted(&run);
        for pair in main.windows(2) {
            let (old, new) = (messages(&pair[0]), messages(&pair[1]));
            assert_eq!(old[..], new[..old.len()], "{bin}");
        }
        for why in ["empty", "longer than what it stands for", "no such model"] {
            assert!(run.stderr.contains(why), "{bin}: {why}: {}", run.stderr);
        }
    }
}

#[test]
fn a_summary_is_asked_for_with_the_head_and_the_tail() {
    for bin in since("s08") {
        let replies = [write(90_000), write(20_000), say("ok")];
        let run = Case::new(bin)
            .env("CONTEXT_LIMIT", "100000")
            .replies_to(SUMMARIZE, [say("SUMMARY")])
            .replies(replies)
            .prompt("the task 漢")
            .run();
        let (side, _) = sorted(&run);
        let asked = &texts(&side[0], "user")[0];
        assert!(asked.contains("the task 漢"), "{bin}");
        assert!(asked.contains("characters cut"), "{bin}");
        let end = &asked[asked.len() - 200..];
        assert!(end.contains("Wrote 90000 bytes"), "{bin}: {end}");
        let chars = asked.chars().count();
        assert!((80_000..82_000).contains(&chars), "{bin}: {chars}");
    }
}

#[test]
fn the_model_asks_with_a_focus_and_calls_beside_it_are_answered() {
    for bin in since("s08") {
        let focus = json!({"focus": "the port number"});
        let list = [
            ("read_file", json!({"path": "a"})),
            ("compact", focus),
            ("read_file", json!({"path": "none"})),
        ];
        let run = Case::new(bin)
            .file("a", "port 8080")
            .replies_to(SUMMARIZE, [say("SUMMARY")])
            .replies([read("a"), calls(&list), say("ok")])
            .prompt("the task")
            .run();
        let (side, main) = sorted(&run);
        assert_eq!(side.len(), 1, "{bin}");
        assert!(texts(&side[0], "user")[0].contains("the port number"), "{bin}");
        let last = main.last().unwrap();
        assert!(texts(last, "user")[0].starts_with("[Compacted]"), "{bin}");
        let results = texts(last, "tool");
        assert_eq!((results.len(), results[0].as_str()), (3, "port 8080"), "{bin}");
        assert!(results[2].starts_with("Error: "), "{bin}");
        assert_eq!(traced(&run, "[manual compact]").len(), 1, "{bin}");
        if bin == OWN {
            let tools = main[0]["tools"].as_array().unwrap().iter();
            let mut tool = tools.filter(|one| one["function"]["name"] == "compact");
            assert_snapshot!("s08_tool", format!("{:#}", tool.next().unwrap()));
            let lines = messages(last).into_iter().map(|one| one.to_string());
            let lines: Vec<_> = lines.collect();
            assert_snapshot!("s08_conversation", run.redact(&lines.join("\n")));
        }
    }
}

/// Four results, an overflow, and what comes then.
fn overflow(case: Case, error: &Value, then: &[Answer], summary: &Answer) -> Run {
    let status = error["status"].as_u64().unwrap().try_into().unwrap();
    let body = match &error["body"] {
        Value::String(text) => text.clone(),
        body => body.to_string(),
    };
    let mut replies: Vec<_> = (0..4).map(|_| read("a")).collect();
    replies.push(http(status, &body));
    let again = then.iter().map(|one| match one.status {
        // Stands for the same error once more.
        0 => http(status, &body),
        _ => one.clone(),
    });
    replies.extend(again);
    let summary = match summary.status {
        0 => http(status, &body),
        _ => summary.clone(),
    };
    // Not each overflow needs a summary.
    case.fake.route(SUMMARIZE, vec![summary], true);
    case.file("a", lines(60, 40)).replies(replies).stdin("one\ntwo\n").run()
}

fn same() -> Answer {
    http(0, "")
}

/// The answers of servers to a request that does not fit.
fn overflows() -> Vec<Value> {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../cases/wire.json")).unwrap();
    let fits = |id: &str| !id.ends_with("max-tokens") && id.starts_with("ov-");
    let cases = cases.into_iter().filter(|case| {
        fits(case["id"].as_str().unwrap()) || case["id"] == "groq-413-tpm"
    });
    cases.collect()
}

#[test]
fn every_servers_overflow_is_compacted_and_tried_once_more() {
    let cases = overflows();
    assert_eq!(cases.len(), 15);
    for bin in since("s08") {
        for error in &cases {
            let id = &error["id"];
            let then = [say("DONE"), say("fine")];
            let run = overflow(Case::new(bin), error, &then, &say("SUMMARY"));
            let outcome = (run.code(), run.stdout.as_str());
            assert_eq!(outcome, (0, "DONE\nfine\n"), "{bin} {id}: {}", run.stderr);
            let (side, main) = sorted(&run);
            assert!(side.len() <= 1 && main.len() == 7, "{bin} {id}");
            assert!(2 * size(&main[5]) <= size(&main[4]), "{bin} {id}");
            assert_eq!(main[5]["messages"][0], main[4]["messages"][0], "{bin} {id}");
            let &[(before, after)] = &traced(&run, "[reactive compact]")[..] else {
                panic!("{bin} {id}: {}", run.stderr)
            };
            assert_eq!((before, after), (size(&main[4]), size(&main[5])), "{id}");
        }
    }
}

#[test]
fn a_second_overflow_is_an_error_and_the_chat_goes_on() {
    for bin in since("s08") {
        for error in &overflows() {
            let id = &error["id"];
            let then = [same(), say("fine")];
            let run = overflow(Case::new(bin), error, &then, &same());
            let outcome = (run.code(), run.stdout.as_str());
            assert_eq!(outcome, (1, "fine\n"), "{bin} {id}: {}", run.stderr);
            assert!(run.stderr.contains("[Error] context too long: "), "{bin}");
            let (side, main) = sorted(&run);
            assert!(side.len() <= 1 && main.len() == 7, "{bin} {id}");
            assert!(2 * size(&main[5]) <= size(&main[4]), "{bin} {id}");
            // Nothing of the user's is lost.
            assert_eq!(texts(&main[6], "user").first().unwrap(), "one", "{id}");
            assert_eq!(texts(&main[6], "user").last().unwrap(), "two", "{id}");
        }
    }
}

#[test]
fn one_message_that_is_too_long_goes_to_a_file() {
    let error =
        json!({"error": {"code": "context_length_exceeded", "message": "-"}});
    for bin in since("s08") {
        let prompt = format!("Mend this: {}", lines(900, 40).replace('\n', " "));
        let replies = [http(400, &error), say("ok")];
        let run = Case::new(bin).replies(replies).prompt(&prompt).run();
        assert_eq!((run.code(), run.stdout.as_str()), (0, "ok\n"), "{bin}");
        let sent = &texts(&run.requests()[1], "user")[0];
        assert!(sent.contains("Mend this: ") && sent.len() < 3_000, "{bin}: {sent}");
        assert_eq!(run.read(&files(&run, RESULTS)[0]), prompt, "{bin}");

        let replies = [read("a"), http(400, &error), say("ok")];
        let case = Case::new(bin).file("a", lines(900, 40));
        let run = case.replies(replies).prompt("go").run();
        assert_eq!((run.code(), run.stdout.as_str()), (0, "ok\n"), "{bin}");
        assert!(run.results()[0].starts_with("<persisted-output>"), "{bin}");
        assert!(!run.requests().iter().any(is_summary), "{bin}");
    }
}

#[test]
fn long_arguments_do_not_end_the_session() {
    let write =
        call("write_file", json!({"path": "w", "content": "W".repeat(60_000)}));
    let error =
        json!({"error": {"code": "context_length_exceeded", "message": "-"}});
    for bin in since("s08") {
        let too_long = http(400, &error);
        let run = Case::new(bin)
            .env("CONTEXT_LIMIT", "12000")
            .replies_to("Summarize", [say("It wrote a file.")])
            .replies_to("one", [write.clone(), too_long, say("Small again.")])
            .prompt("one")
            .run();
        assert_eq!(run.stdout, "Small again.\n", "{bin}: {}", run.stderr);
        assert_eq!(run.read("w").len(), 60_000, "{bin}");
        let whole = "W".repeat(60_000);
        let left = files(&run, ".transcripts");
        let left = left.iter().any(|path| run.read(path).contains(&whole));
        assert!(left, "{bin}: the whole call is in the transcript");
        let last = run.requests().pop().unwrap().to_string();
        assert!(last.len() < 20_000, "{bin}: {}", last.len());
    }
}

#[test]
fn nothing_to_compact_is_an_error_at_once() {
    let error =
        json!({"error": {"code": "context_length_exceeded", "message": "-"}});
    for bin in since("s08") {
        let run = Case::new(bin).replies([http(400, &error)]).prompt("go").run();
        assert_eq!((run.code(), run.stdout.as_str()), (1, ""), "{bin}");
        assert!(run.stderr.contains("[Error] context too long"), "{bin}");
        // It may have another cause: only the status is known.
        let run = Case::new(bin).replies([http(400, "")]).prompt("go").run();
        assert_eq!((run.code(), run.stdout.as_str()), (1, ""), "{bin}");
        assert!(run.stderr.contains("[Error] HTTP 400: (empty body)"), "{bin}");
    }
}

#[test]
fn too_much_room_for_the_answer_is_no_overflow() {
    let error = json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": "input length and `max_tokens` exceed context limit: \
            190000 + 32000 > 200000, decrease input length or `max_tokens`"}});
    let done = json!({"type": "message", "role": "assistant", "stop_reason":
        "end_turn", "content": [{"type": "text", "text": "DONE"}]});
    for bin in since("s08") {
        let replies = [http(400, error.clone()), http(200, done.clone())];
        let run = Case::anthropic(bin).replies(replies).prompt("go").run();
        assert_eq!((run.code(), run.stdout.as_str()), (0, "DONE\n"), "{bin}");
        let requests = run.requests();
        assert_eq!(requests[0]["messages"], requests[1]["messages"], "{bin}");
        assert_eq!(requests[1]["max_tokens"], 10_000, "{bin}");
    }
}

#[test]
fn the_demo_runs_without_a_key() {
    let demo: Value = serde_json::from_str(include_str!(
        "../../chapters/s08-context-compact/demo.json"
    ))
    .unwrap();
    let prompt = |n: usize| demo["scripts"][n]["prompt"].as_str().unwrap();
    let input = format!("{}\n{}\n{}\n", prompt(0), prompt(1), prompt(2));
    let run = Case::offline(OWN).env("CONTEXT_LIMIT", "12000").stdin(&input).run();
    assert_eq!(run.code(), 0);
    assert!(run.stdout.contains("LONG_CONTEXT_DONE"));
    for (label, count) in [("[auto compact]", 2), ("[manual compact]", 1)] {
        assert_eq!(traced(&run, label).len(), count, "{label}");
    }
    // The long answer is in demo.json.
    let shown = run.transcript();
    let lines = shown.lines().filter(|line| !line.starts_with("MEMORY_BLOCK"));
    assert_snapshot!("s08_demo", lines.collect::<Vec<_>>().join("\n"));
}
