//! One read at a time, which outlives whoever waits for it.

use super::source::{Line, Source};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{MutexGuard, oneshot};

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
        let source = Arc::new(Mutex::new(Source::new(terminal, interrupt)));
        Input { source, reading: Default::default() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_was_put_back_is_the_next_one() {
        let input = Input::new(false, || {});
        let mut reading = input.claim().await;
        *reading = finished("again".into());
        assert_eq!(input.line(&mut reading, "").await, Line::Text("again".into()));
        assert!(reading.is_none());
    }
}
