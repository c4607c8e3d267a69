//! Prompts from a pipe and from the command line.

use super::program::{echo, piped, run};
use std::fs::File;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn lines(text: &str) -> (String, String, i32) {
    run(echo(&[]), text.as_bytes())
}

#[test]
fn every_line_is_a_prompt() {
    let (out, err, code) = lines("\u{feff}one\r\n\n  \ntwo three\nlast");
    assert_eq!(out, "one (1)\ntwo three (2)\nlast (3)\n");
    assert_eq!(err, "s01 >> one\ns01 >> two three\ns01 >> last\n");
    assert_eq!(code, 0);
}

#[test]
fn a_word_ends_it_and_so_does_the_end() {
    for leave in ["a\nq\nb\n", "a\n exit \nb\n", "a\n"] {
        assert_eq!(lines(leave).0, "a (1)\n");
    }
    assert_eq!(lines("quit\n").0, "quit (1)\n");
    assert_eq!(lines(""), (String::new(), String::new(), 0));
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let (out, err, _) = run(echo(&[]), b"a\xffb\n");
    assert_eq!(out, "a\u{fffd}b (1)\n");
    assert!(err.contains("not UTF-8"), "{err}");
}

#[test]
fn the_next_line_answers_a_question() {
    let (out, err, _) = lines("ask ok?\nYES\nask ok?\nmaybe\nask ok?\n\nnext\n");
    assert_eq!(out, "ok? -> true\nok? -> false\nok? -> false\nnext (4)\n");
    assert!(err.starts_with("s01 >> ask ok?\nok? [y/N] YES\ns01 >> "), "{err}");
    let (out, err, code) = lines("ask Sure?|rm -rf x");
    assert_eq!((out.as_str(), code), ("Sure?|rm -rf x -> false\n", 0));
    assert!(err.ends_with("Sure?\nrm -rf x [y/N] no: nobody answered\n"), "{err}");
}

#[test]
fn a_question_cannot_repaint_the_screen() {
    let (_, err, _) = lines("ask \u{1b}[2Jok?\r\u{202e}x\nnote hm\n");
    for control in ['\u{1b}', '\r', '\u{202e}'] {
        assert!(!err.contains(control), "{err:?}");
    }
}

#[test]
fn a_failed_turn_is_told_and_the_next_one_runs() {
    let (out, err, code) = lines("fail\nnext\n");
    assert_eq!((out.as_str(), code), ("next (2)\n", 1));
    assert!(err.contains("[Error] outer: inner\n"), "{err}");
}

#[test]
fn the_command_line_is_one_prompt() {
    assert_eq!(run(echo(&["hi", "there"]), b"x\n").0, "hi there (1)\n");
    let (out, _, code) = run(echo(&["ask", "ok?"]), b"y\n");
    assert_eq!((out.as_str(), code), ("ok? -> true\n", 0));
    assert_eq!(run(echo(&["ask", "ok?"]), b"").0, "ok? -> false\n");
    assert_eq!(run(echo(&["fail"]), b"").2, 1);
}

#[test]
fn mistakes_at_the_start_have_exit_codes() {
    let code = |args: &[&str], name: &str, value: &str| {
        let mut command = echo(args);
        let (_, err, code) = run(
            {
                command.env(name, value);
                command
            },
            b"",
        );
        assert_eq!(
            err.lines().filter(|line| line.contains("rror")).count(),
            1,
            "{err}"
        );
        code
    };
    assert_eq!(code(&["x"], "LLM_PROVIDER", "odd"), 2);
    assert_eq!(code(&["x"], "MAX_ROUNDS", "many"), 2);
    assert_eq!(code(&["--odd"], "A", ""), 2);
    assert_eq!(code(&[" "], "A", ""), 2);
    assert_eq!(code(&[], "ECHO_FAIL", "1"), 1);
    assert_eq!(code(&["panic", "oops"], "RUST_BACKTRACE", "1"), 101);
    let mut missing = echo(&["x"]);
    missing.args(["--workspace", "/missing"]);
    assert_eq!(run(missing, b"").2, 2);
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
    let mut child = piped(&mut echo(&[])).spawn().unwrap();
    drop(child.stdout.take());
    // stdin stays open: it is the answer that ends the program.
    child.stdin.as_mut().unwrap().write_all(b"spawn\n").unwrap();
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(!err.contains("rror") && err.ends_with("guard dropped\n"), "{err}");
}

#[test]
fn a_closed_stderr_does_not_matter() {
    let mut child = piped(&mut echo(&["note", "x"])).spawn().unwrap();
    drop(child.stderr.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.stdout, output.status.code()), (b"noted\n".into(), Some(0)));
}

#[test]
#[cfg(target_os = "linux")]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let mut command = echo(&["hi"]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = command.stdout(Stdio::from(full)).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("[Error] cannot print the answer"), "{err}");
}

#[test]
fn the_end_waits_for_no_thread_and_drops_every_task() {
    let start = Instant::now();
    let (_, err, code) = lines("block\nspawn\n");
    assert!(start.elapsed() < Duration::from_secs(50));
    assert_eq!((err.lines().last(), code), (Some("guard dropped"), 0));
}

#[test]
fn the_trace_of_a_call() {
    let (_, err, _) = lines("call ls|pwd\n");
    let trace = format!("$ ls\npwd\n{}  … (4 more lines)\n", "  line\n".repeat(8));
    assert_eq!(err, format!("s01 >> call ls|pwd\n{trace}"));
}
