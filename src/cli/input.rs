//! Where lines come from: the line editor on a terminal, else plain stdin.

use super::screen;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor, ExternalPrinter};
use std::io::{BufRead, ErrorKind};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{MutexGuard, oneshot};

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
}

/// A read that is under way.
pub type Reading = Option<oneshot::Receiver<Line>>;

/// Reads one line at a time, and only when somebody wants one.
pub struct Input {
    source: Arc<Mutex<Source>>,
    reading: tokio::sync::Mutex<Reading>,
}

impl Input {
    /// `interrupt` is called when Ctrl-C arrives as a key.
    pub fn new(terminal: bool, interrupt: impl Fn() + Send + 'static) -> Input {
        let interrupt = Box::new(interrupt);
        let source = Source { terminal, editor: None, interrupt, started: false };
        Input { source: Arc::new(Mutex::new(source)), reading: Default::default() }
    }

    /// Waits for the right to read. Two questions at once would mix up their
    /// answers.
    pub async fn claim(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().await
    }

    /// The next line: of the read that is under way, or of a new one.
    ///
    /// When the caller stops waiting, the read goes on, and its line is there
    /// for the next caller.
    pub async fn line(&self, reading: &mut Reading, label: &str) -> Line {
        let line = reading.get_or_insert_with(|| self.start(label.into()));
        // No line from a thread that panicked, or could not be started.
        let line = line.await.unwrap_or(Line::End);
        *reading = None;
        line
    }

    /// A thread per read: it cannot be cancelled, so it must not be one that
    /// the async runtime waits for.
    fn start(&self, label: String) -> oneshot::Receiver<Line> {
        let (sender, receiver) = oneshot::channel();
        let source = self.source.clone();
        let read = move || {
            let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = sender.send(source.read(&label));
        };
        let _ = std::thread::Builder::new().name("input".into()).spawn(read);
        receiver
    }
}

/// A read that has ended with this line: puts a line back.
pub fn finished(line: String) -> Reading {
    let (sender, receiver) = oneshot::channel();
    let _ = sender.send(Line::Text(line));
    Some(receiver)
}

type LineEditor = Editor<(), MemHistory>;

struct Source {
    terminal: bool,
    /// Made when the first line is wanted.
    editor: Option<(LineEditor, Option<Sender<String>>)>,
    interrupt: Box<dyn Fn() + Send>,
    /// Has a first line been read from the pipe?
    started: bool,
}

impl Source {
    fn read(&mut self, label: &str) -> Line {
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
            Ok(_) => Line::Text(decode(
                &bytes,
                !std::mem::replace(&mut self.started, true),
            )),
            Err(error) => failed(&error),
        }
    }
}

fn failed(error: &dyn std::error::Error) -> Line {
    screen::note(&format!("[Error] cannot read standard input: {error}"));
    Line::End
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
    if matches!(text, std::borrow::Cow::Owned(_)) {
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

    #[tokio::test]
    async fn a_line_that_was_put_back_is_the_next_one() {
        let input = Input::new(false, || {});
        let mut reading = input.claim().await;
        *reading = finished("again".into());
        assert_eq!(input.line(&mut reading, "").await, Line::Text("again".into()));
        assert!(reading.is_none());
    }
}
