//! Ctrl-C and the other signals, without a terminal.

use super::program::{Watch, echo, piped, send};
use rustix::process::Signal;
use std::io::Write;
use std::process::{Child, ChildStdin};

struct Running {
    child: Child,
    stdin: ChildStdin,
    out: Watch,
    err: Watch,
}

fn start(args: &[&str]) -> Running {
    let mut child = piped(&mut echo(args)).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    let out = Watch::new(child.stdout.take().unwrap());
    let err = Watch::new(child.stderr.take().unwrap());
    Running { child, stdin, out, err }
}

impl Running {
    fn line(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    fn code(mut self) -> Option<i32> {
        drop(self.stdin);
        self.err.expect_end();
        self.child.wait().unwrap().code()
    }
}

#[test]
fn an_interrupt_cancels_the_turn_and_the_next_line_goes_on() {
    let mut run = start(&[]);
    run.line("sleep");
    run.err.expect("sleeping\n");
    send(&run.child, Signal::INT);
    run.err.expect("guard dropped\nCancelled.\n");
    run.line("next");
    run.out.expect("next (2)\n");
    assert_eq!(run.code(), Some(1));
}

#[test]
fn an_interrupt_between_turns_ends_the_program() {
    let mut run = start(&[]);
    run.line("one");
    run.out.expect("one (1)\n");
    send(&run.child, Signal::INT);
    // stdin is still open: it is not its end that ended the program.
    run.err.expect_end();
    assert_eq!(run.child.wait().unwrap().code(), Some(130));
}

#[test]
fn an_interrupt_ends_a_run_for_one_prompt() {
    let mut run = start(&["sleep"]);
    run.err.expect("sleeping\n");
    send(&run.child, Signal::INT);
    run.err.expect("guard dropped\n");
    assert_eq!(run.code(), Some(130));
}

#[test]
fn an_interrupt_at_a_question_cancels_the_turn() {
    let mut run = start(&[]);
    run.line("ask ok?");
    run.err.expect("ok? [y/N] ");
    send(&run.child, Signal::INT);
    run.err.expect("Cancelled.\n");
    run.line("next");
    run.out.expect("next (2)\n");
    assert_eq!(run.code(), Some(1));
}

#[test]
fn a_termination_and_a_hang_up_drop_everything() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let mut run = start(&["sleep"]);
        run.err.expect("sleeping\n");
        send(&run.child, signal);
        run.err.expect("guard dropped\n");
        assert_eq!(run.code(), Some(code));
    }
}

#[test]
fn an_event_takes_no_line_away() {
    let mut run = start(&[]);
    // The read for the next prompt is under way when the question comes.
    run.line("wake 1 ask ok?");
    run.err.expect("ok? [y/N] ");
    run.line("y");
    run.out.expect("ok? -> true\n");
    run.line("wake 1 hello");
    run.out.expect("hello (2)\n");
    run.line("next");
    run.out.expect("next (3)\n");
    assert_eq!(run.code(), Some(0));
}
