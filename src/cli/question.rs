//! Questions to the user, whose answer is yes or no.

use super::console::Console;
use super::input::finished;
use super::screen;
use super::source::{Line, YES_OR_NO};
use super::ui::Ui;
use crate::llm::BoxFuture;
use crate::text::printable;
use rustix::termios::{QueueSelector, tcflush};
use std::io::{IsTerminal, stderr, stdin};

impl Console for Ui {
    fn confirm<'a>(&'a self, question: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(self.ask(question))
    }

    fn note(&self, text: &str) {
        screen::note(text);
    }
}

impl Ui {
    async fn ask(&self, question: &str) -> bool {
        let mut reading = self.input().claim().await;
        let question = printable(question) + YES_OR_NO;
        // While the user is typing a prompt, the line that comes next answers.
        let prompting = reading.is_some();
        if self.is_terminal() && !prompting {
            // What was typed before the question was seen is no answer to it.
            let _ = tcflush(stdin(), QueueSelector::IFlush);
        }
        let label = self.show_question(&question, prompting);
        match self.input().line(&mut reading, label).await {
            Line::Text(line) => {
                self.echo(&line);
                let answer = line.trim().to_lowercase();
                if prompting && self.is_terminal() && !is_answer(&answer) {
                    *reading = finished(line);
                }
                matches!(answer.as_str(), "y" | "yes")
            }
            Line::Nothing => false,
            Line::End | Line::Broken => {
                screen::to_stderr("no: nobody answered\n");
                false
            }
        }
    }

    /// Prints a question, except for its last line if the line editor can have
    /// it as the label of the answer.
    fn show_question<'a>(&self, question: &'a str, prompting: bool) -> &'a str {
        let (text, label) = match question.rfind('\n') {
            _ if prompting || !self.is_terminal() => (question, ""),
            Some(end) => question.split_at(end + 1),
            None => ("", question),
        };
        // A question must be seen, even if notices go to a file.
        match self.is_terminal() && !stderr().is_terminal() {
            true => _ = screen::to_stdout(text),
            false => screen::to_stderr(text),
        }
        label
    }
}

fn is_answer(text: &str) -> bool {
    matches!(text, "" | "y" | "yes" | "n" | "no")
}
