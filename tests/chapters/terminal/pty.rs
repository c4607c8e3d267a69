//! A real terminal: keys in, and what the screen is told.

use super::program::{Watch, echo, send};
use pty_process::blocking as pty;
use rustix::process::Signal;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::Child;

struct Terminal {
    keys: File,
    screen: Watch,
    child: Child,
}

const PROMPT: &str = "s01 >> ";

fn start(args: &[&str]) -> Terminal {
    start_with(args, "A")
}

fn start_with(args: &[&str], switch: &str) -> Terminal {
    let (terminal, program_side) = pty::open().unwrap();
    terminal.resize(pty_process::Size::new(24, 80)).unwrap();
    let keys = File::from(OwnedFd::from(terminal));
    let pipes = echo(args);
    let command = pty::Command::new(pipes.get_program());
    let command = command.args(pipes.get_args()).env_clear();
    let command = command.env("LLM_PROVIDER", "offline").env("TERM", "xterm");
    let command = command.env(switch, "1");
    let command = command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    let child = command.spawn(program_side).unwrap();
    let screen = Watch::new(keys.try_clone().unwrap());
    Terminal { keys, screen, child }
}

impl Terminal {
    fn chat() -> Terminal {
        let mut terminal = start(&[]);
        terminal.screen.expect(PROMPT);
        terminal
    }

    fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn line(&mut self, line: &str) {
        self.keys(&format!("{line}\r"));
    }

    fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.keys).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    fn code(mut self) -> Option<i32> {
        self.screen.expect_end();
        let code = self.child.wait().unwrap().code();
        assert!(self.is_cooked());
        code
    }
}

#[test]
fn wide_characters_and_editing() {
    let mut terminal = Terminal::chat();
    // Backspace removes a whole character; the arrow moves over one.
    terminal.line("h\u{e9} 你好🎉x\u{7f}\u{7f}\u{1b}[D!");
    terminal.screen.expect("hé 你!好 (1)\r\n");
    terminal.line("q");
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn a_paste_is_one_prompt_and_a_burst_is_several() {
    let mut terminal = Terminal::chat();
    terminal.line("\u{1b}[200~one\r\ntwo\r\n\u{1b}[201~");
    terminal.screen.expect("one\r\ntwo (1)\r\n");
    terminal.keys("three\rfour\rfive\r");
    terminal.screen.expect("three (2)\r\n");
    terminal.screen.expect("four (3)\r\n");
    terminal.screen.expect("five (4)\r\n");
    terminal.screen.expect(PROMPT);
    terminal.keys("\u{4}");
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn an_interrupt_clears_the_line_or_cancels_the_turn() {
    let mut terminal = Terminal::chat();
    terminal.keys("half\u{3}");
    terminal.screen.expect("to leave");
    terminal.screen.expect(PROMPT);
    terminal.line("sleep");
    terminal.screen.expect("sleeping");
    assert!(terminal.is_cooked());
    terminal.keys("\u{3}");
    terminal.screen.expect("Cancelled.");
    terminal.screen.expect(PROMPT);
    terminal.line("ask ok?");
    terminal.screen.expect("ok? [y/N] ");
    terminal.keys("\u{3}");
    terminal.screen.expect("Cancelled.");
    terminal.screen.expect(PROMPT);
    terminal.line("next");
    terminal.screen.expect("next (3)\r\n");
    terminal.line("fail");
    terminal.screen.expect("[Error] outer: inner");
    terminal.screen.expect(PROMPT);
    terminal.keys("\u{4}");
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn a_question_is_shown_whole_and_answered() {
    let mut terminal = Terminal::chat();
    terminal.line("ask Sure?|rm -rf x");
    terminal.screen.expect("Sure?\r\n");
    terminal.screen.expect("rm -rf x [y/N] ");
    terminal.line("y");
    terminal.screen.expect(" -> true\r\n");
    terminal.line("ask ok?");
    terminal.screen.expect("ok? [y/N] ");
    terminal.keys("\u{4}");
    terminal.screen.expect(" -> false\r\n");
    // The end of an answer is not the end of the chat.
    terminal.line("next");
    terminal.screen.expect("next (3)\r\n");
    terminal.line("exit");
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn notices_leave_the_line_alone() {
    let mut terminal = Terminal::chat();
    terminal.line("later 3");
    terminal.screen.expect("started");
    terminal.keys("typed \u{1b}[200~你好\u{1b}[201~");
    terminal.screen.expect("[later] 3");
    // The line is drawn again below the notice.
    terminal.screen.expect("typed 你好");
    terminal.line(" whole");
    terminal.screen.expect("typed 你好 whole (2)\r\n");
    terminal.line("q");
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn a_question_of_an_event_does_not_swallow_a_prompt() {
    let mut terminal = Terminal::chat();
    terminal.line("wake 1 ask ok?");
    terminal.screen.expect("ok? [y/N]");
    terminal.line("a new prompt");
    terminal.screen.expect("ok? -> false\r\n");
    terminal.screen.expect("a new prompt (2)\r\n");
    terminal.line("wake 1 ask ok?");
    terminal.screen.expect("ok? [y/N]");
    terminal.line("yes");
    terminal.screen.expect("ok? -> true\r\n");
    terminal.line("q");
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn an_interrupt_while_typing_cancels_the_turn_of_an_event() {
    let mut terminal = Terminal::chat();
    terminal.line("wake 1 sleep");
    terminal.screen.expect("sleeping");
    terminal.keys("half\u{3}");
    terminal.screen.expect("Cancelled.");
    terminal.line("next");
    terminal.screen.expect("next (2)\r\n");
    terminal.line("q");
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn the_terminal_is_left_as_it_was() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let terminal = Terminal::chat();
        assert!(!terminal.is_cooked());
        send(&terminal.child, signal);
        assert_eq!(terminal.code(), Some(code));
    }
    let mut terminal = Terminal::chat();
    terminal.line("wake 1 panic oops");
    terminal.screen.expect("[Error] internal error: oops (");
    assert_eq!(terminal.code(), Some(101));
}

#[test]
fn a_run_for_one_prompt_can_ask_too() {
    let mut terminal = start(&["ask", "ok?"]);
    terminal.screen.expect("ok? [y/N] ");
    terminal.line("y");
    terminal.screen.expect("ok? -> true\r\n");
    assert_eq!(terminal.code(), Some(0));
    let mut terminal = start(&["ask", "ok?"]);
    terminal.screen.expect("ok? [y/N] ");
    terminal.keys("\u{3}");
    assert_eq!(terminal.code(), Some(130));
}

#[test]
fn an_interrupt_ends_what_has_not_begun() {
    let mut terminal = start_with(&[], "ECHO_HANG");
    terminal.screen.expect("starting");
    terminal.keys("\u{3}");
    assert_eq!(terminal.code(), Some(130));
}

#[test]
fn a_shell_that_took_the_terminal_gives_it_back() {
    let mut terminal = Terminal::chat();
    terminal.keys("half");
    terminal.screen.expect("half");
    // What a shell does when it brings a stopped program back.
    let mut modes = tcgetattr(&terminal.keys).unwrap();
    modes
        .local_modes
        .insert(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
    tcsetattr(&terminal.keys, OptionalActions::Now, &modes).unwrap();
    send(&terminal.child, Signal::CONT);
    terminal.screen.expect("half");
    assert!(!terminal.is_cooked());
    terminal.line(" whole");
    terminal.screen.expect("half whole (1)\r\n");
    terminal.line("q");
    assert_eq!(terminal.code(), Some(0));
}
