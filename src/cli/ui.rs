//! The chapter's side of the terminal: prompts in, answers out, and questions.

use super::input::Input;
use super::screen;
use super::source::Line;
use crate::text::printable;
use anyhow::Result;
use std::io::{ErrorKind, IsTerminal, stderr, stdin, stdout};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, broadcast};

/// The user. A clone is another handle to the same one.
#[derive(Clone)]
pub struct Ui(Arc<Shared>);

struct Shared {
    /// In front of the line to type: `s01 >> `.
    label: String,
    /// Are stdin and stdout both a terminal?
    terminal: bool,
    /// Is this a run for the one prompt of the command line?
    once: bool,
    /// That prompt, until it has been handed out.
    prompt: Mutex<Option<String>>,
    input: Input,
    /// Has a first prompt been asked for, and not yet a last one given?
    chatting: AtomicBool,
    /// Cancels the turn. It has a receiver only while a turn runs.
    interrupts: broadcast::Sender<()>,
    stopped: Notify,
    /// The exit code so far.
    code: AtomicU8,
}

impl Ui {
    pub(super) fn new(binary: &str, prompt: Option<String>) -> Ui {
        let label = format!("{} >> ", binary.split('-').next().unwrap_or(binary));
        let terminal = stdin().is_terminal() && stdout().is_terminal();
        let (interrupts, _) = broadcast::channel(1);
        let turn = interrupts.clone();
        let input = Input::new(terminal, move || interrupt(&turn));
        Ui(Arc::new(Shared {
            label,
            terminal,
            once: prompt.is_some(),
            prompt: Mutex::new(prompt),
            input,
            chatting: AtomicBool::new(false),
            interrupts,
            stopped: Notify::new(),
            code: AtomicU8::new(0),
        }))
    }

    /// Is somebody typing, and reading along?
    pub fn is_terminal(&self) -> bool {
        self.0.terminal
    }

    /// The next prompt; `None` when there are no more.
    ///
    /// The future may be dropped while it waits (in a `select!`, for one): no
    /// line is lost.
    pub async fn prompt(&self) -> Option<String> {
        if self.0.once {
            let prompt = self.0.prompt.lock();
            return prompt.unwrap_or_else(PoisonError::into_inner).take();
        }
        self.0.chatting.store(true, Ordering::Relaxed);
        let prompt = self.next_prompt().await;
        self.0.chatting.store(prompt.is_some(), Ordering::Relaxed);
        prompt
    }

    async fn next_prompt(&self) -> Option<String> {
        // With its output redirected, the terminal's own line editing must do.
        let plain = !self.0.terminal && stdin().is_terminal();
        let mut reading = self.0.input.claim().await;
        loop {
            if plain && reading.is_none() {
                screen::to_stderr(&self.0.label);
            }
            let line = match self.0.input.line(&mut reading, &self.0.label).await {
                Line::Text(line) => line,
                Line::Nothing => continue,
                Line::End if plain => {
                    screen::to_stderr("\n");
                    return None;
                }
                Line::End => return None,
                Line::Broken => {
                    self.failed(1);
                    return None;
                }
            };
            match line.trim() {
                "" => continue,
                "q" | "exit" => return None,
                _ => {}
            }
            let line = line.trim_end();
            self.echo(&format!("{}{line}", self.0.label));
            return Some(line.into());
        }
    }

    pub(super) fn input(&self) -> &Input {
        &self.0.input
    }

    /// Repeats a line that came through a pipe, so that what was printed can
    /// be read like a conversation.
    pub(super) fn echo(&self, line: &str) {
        if !stdin().is_terminal() {
            screen::to_stderr(&format!("{}\n", printable(line)));
        }
    }

    /// Runs a turn until it ends, or until Ctrl-C: then it is dropped, and the
    /// result is `None`.
    pub async fn cancellable<F: Future>(&self, turn: F) -> Option<F::Output> {
        let mut interrupts = self.0.interrupts.subscribe();
        tokio::select! {
            biased;
            _ = interrupts.recv() => {
                // The terminal has shown a `^C` that nobody wants to read.
                let start = if stderr().is_terminal() { "\r" } else { "" };
                screen::to_stderr(&format!("{start}Cancelled.\n"));
                None
            }
            output = turn => Some(output),
        }
    }

    /// Prints how a turn ended: the answer on stdout, an error on stderr.
    pub fn answer(&self, answer: Option<Result<String>>) {
        match answer {
            Some(Ok(text)) => self.print(&text),
            Some(Err(error)) => {
                screen::note(&format!("[Error] {error:#}"));
                self.failed(1);
            }
            None if self.0.once => self.failed(130),
            None => self.failed(1),
        }
    }

    fn print(&self, text: &str) {
        let text = match stdout().is_terminal() {
            true => printable(text),
            false => text.into(),
        };
        let Err(error) = screen::to_stdout(&format!("{}\n", text.trim_end())) else {
            return;
        };
        if error.kind() == ErrorKind::BrokenPipe {
            // Whoever read the answers has seen enough.
            self.0.stopped.notify_one();
        } else {
            screen::note(&format!("[Error] cannot print the answer: {error}"));
            self.failed(1);
        }
    }

    /// In a chat the user has seen the failure, and goes on.
    fn failed(&self, code: u8) {
        if self.0.once || !self.0.terminal {
            self.0.code.store(code, Ordering::Relaxed);
        }
    }

    pub(super) fn code(&self) -> u8 {
        self.0.code.load(Ordering::Relaxed)
    }

    /// Waits until there is no use in going on.
    pub(super) async fn stopped(&self) {
        self.0.stopped.notified().await;
    }

    /// Ctrl-C as a signal. `true`: it ends the program.
    pub(super) fn interrupt(&self) -> bool {
        if self.0.terminal && self.0.chatting.load(Ordering::Relaxed) {
            interrupt(&self.0.interrupts);
            return false;
        }
        self.0.interrupts.send(()).is_err()
    }
}

/// Ctrl-C in a chat: without a turn to cancel, it has only cleared the line.
fn interrupt(turn: &broadcast::Sender<()>) {
    if turn.send(()).is_err() {
        screen::note("(to leave: Ctrl-D, or q)");
    }
}
