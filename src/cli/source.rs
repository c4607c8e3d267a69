//! Where lines come from: the line editor on a terminal, else plain stdin.

use super::screen;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor, ExternalPrinter};
use std::borrow::Cow;
use std::io::{BufRead, ErrorKind};
use std::sync::mpsc::{self, Sender};

/// Ends the label of a question.
pub const YES_OR_NO: &str = " [y/N] ";

/// What reading a line gave.
#[derive(Debug, PartialEq)]
pub enum Line {
    Text(String),
    /// There is no line, but there may be more: Ctrl-C, for one.
    Nothing,
    /// There will be no more.
    End,
    /// The same, because reading has failed.
    Broken,
}

type LineEditor = Editor<(), MemHistory>;

/// Blocks its thread while it reads.
pub struct Source {
    terminal: bool,
    /// Made when the first line is wanted.
    editor: Option<(LineEditor, Option<Sender<String>>)>,
    interrupt: Box<dyn Fn() + Send>,
    /// Has a first line been read from the pipe?
    started: bool,
}

impl Source {
    pub fn new(terminal: bool, interrupt: impl Fn() + Send + 'static) -> Source {
        let interrupt = Box::new(interrupt);
        Source { terminal, editor: None, interrupt, started: false }
    }

    pub fn read(&mut self, label: &str) -> Line {
        match self.terminal {
            true => self.edit(label),
            false => self.plain(),
        }
    }

    fn edit(&mut self, label: &str) -> Line {
        let (editor, queue) = match &mut self.editor {
            Some(editor) => editor,
            None => match editor() {
                Ok(new) => self.editor.insert(new),
                Err(error) => return failed(&error),
            },
        };
        if let Some(queue) = queue {
            screen::start_typing(queue.clone());
        }
        let line = editor.readline(label);
        screen::stop_typing();
        match line {
            Ok(line) => {
                if !label.ends_with(YES_OR_NO) {
                    let _ = editor.add_history_entry(&line);
                }
                Line::Text(line)
            }
            Err(ReadlineError::Eof) => Line::End,
            Err(ReadlineError::Interrupted) => {
                (self.interrupt)();
                Line::Nothing
            }
            Err(ReadlineError::Io(error))
                if error.kind() == ErrorKind::InvalidData =>
            {
                screen::note("[input] dropped a line that is not UTF-8");
                Line::Nothing
            }
            Err(error) => failed(&error),
        }
    }

    fn plain(&mut self) -> Line {
        let mut bytes = vec![];
        match std::io::stdin().lock().read_until(b'\n', &mut bytes) {
            Ok(0) => Line::End,
            Ok(_) => {
                let first = !std::mem::replace(&mut self.started, true);
                Line::Text(decode(&bytes, first))
            }
            Err(error) => failed(&error),
        }
    }
}

fn failed(error: &dyn std::error::Error) -> Line {
    screen::note(&format!("[Error] cannot read standard input: {error}"));
    Line::Broken
}

/// The editor, and the way to print while it is at work.
fn editor() -> rustyline::Result<(LineEditor, Option<Sender<String>>)> {
    // Without a limit, a lone Esc would hold back notices for ever.
    let config = Config::builder()
        .keyseq_timeout(Some(500))
        .history_ignore_space(true)
        .build();
    let history = MemHistory::with_config(&config);
    let mut editor = Editor::with_history(config, history)?;
    let queue = editor.create_external_printer().ok().map(forward);
    Ok((editor, queue))
}

/// Passes text to the editor on a thread of its own, because the editor makes
/// the caller wait: a notice must not stop the program.
fn forward(mut printer: impl ExternalPrinter + Send + 'static) -> Sender<String> {
    let (queue, texts) = mpsc::channel();
    std::thread::spawn(move || {
        for text in texts {
            let _ = printer.print(text);
        }
    });
    queue
}

/// One line as it came through a pipe.
fn decode(bytes: &[u8], first: bool) -> String {
    const BOM: &[u8] = "\u{feff}".as_bytes();
    let bytes = match first {
        true => bytes.strip_prefix(BOM).unwrap_or(bytes),
        false => bytes,
    };
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, Cow::Owned(_)) {
        screen::note("[input] replaced bytes that are not UTF-8");
    }
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_loses_its_end_and_its_mark() {
        assert_eq!(decode("\u{feff}a\r\n".as_bytes(), true), "a");
        assert_eq!(decode("\u{feff}a".as_bytes(), false), "\u{feff}a");
        assert_eq!(decode(b" a \rb\r\r\n", true), " a \rb\r");
        assert_eq!(decode(b"\xffb\n", true), "\u{fffd}b");
    }
}
