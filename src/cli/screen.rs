//! What is printed, so that it never garbles the line that is being typed.
//!
//! While a line is being typed, the line editor alone may write to the
//! terminal: it takes the text, prints it above, and draws the line again.
//! At all other times text goes straight to where it belongs.

use crate::llm::SHORTEST_KEY;
use crate::text::printable;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr,
    tcsetattr,
};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::Sender;
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

/// `Some` while the editor owns the terminal.
static TYPING: Mutex<Option<Typing>> = Mutex::new(None);

struct Typing {
    /// To the editor.
    queue: Sender<String>,
    /// How the terminal was set before.
    modes: Option<Termios>,
}

fn typing() -> MutexGuard<'static, Option<Typing>> {
    // A thread that panicked with the lock left nothing half done.
    TYPING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on the editor prints, until [`stop_typing`].
pub fn start_typing(queue: Sender<String>) {
    let modes = tcgetattr(io::stdin()).ok();
    *typing() = Some(Typing { queue, modes });
}

pub fn stop_typing() {
    *typing() = None;
}

/// Leaves the terminal as it was found, when it is dropped.
///
/// The program can end while the editor waits for a key: by a signal, or by a
/// panic in another thread.
pub struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        let Some(typing) = typing().take() else { return };
        if let Some(modes) = typing.modes {
            let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &modes);
        }
        let _ = io::stdout().write_all(b"\x1b[?2004l\n");
    }
}

/// Takes the terminal back after a stop (Ctrl-Z, `fg`): the shell has reset
/// it, and the editor, which waits for a key, does not know.
pub fn resume() {
    let typing = typing();
    let Some(Typing { queue, modes: Some(modes) }) = &*typing else { return };
    let mut raw = modes.clone();
    raw.input_modes.remove(InputModes::ICRNL | InputModes::IXON);
    raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    raw.local_modes.remove(LocalModes::ISIG | LocalModes::IEXTEN);
    raw.special_codes[SpecialCodeIndex::VMIN] = 1;
    raw.special_codes[SpecialCodeIndex::VTIME] = 0;
    let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &raw);
    let _ = queue.send("\x1b[?2004h\n".into());
}

/// How text stands out on a terminal.
#[derive(Clone, Copy)]
pub enum Look {
    Plain,
    Bold,
    Dim,
}

/// Prints a notice on stderr: one or more whole lines.
///
/// It can be called from anywhere, at any time. What cannot be printed is
/// dropped: a closed stderr must not stop the work.
pub fn note(text: &str) {
    show(&[(Look::Dim, text.into())]);
}

/// Prints notices that belong together, each with its own look.
pub fn show(notices: &[(Look, String)]) {
    static COLOUR: LazyLock<bool> = LazyLock::new(|| {
        let no_colour = std::env::var_os("NO_COLOR");
        io::stderr().is_terminal() && no_colour.is_none_or(|value| value.is_empty())
    });
    let shown = notices.iter().map(|(look, text)| {
        let text = printable(text);
        match look {
            Look::Bold if *COLOUR => format!("\x1b[1m{text}\x1b[0m\n"),
            Look::Dim if *COLOUR => format!("\x1b[2m{text}\x1b[0m\n"),
            _ => format!("{text}\n"),
        }
    });
    to_stderr(&shown.collect::<String>());
}

/// Prints a notice at once, even over the line that is being typed: the
/// program may end the next moment.
pub fn last_words(text: &str) {
    let typing = typing();
    let start = if typing.is_some() { "\r\x1b[K" } else { "" };
    let text = format!("{start}{}\n", printable(text));
    let _ = io::stderr().write_all(text.as_bytes());
    if let Some(typing) = &*typing {
        let _ = typing.queue.send(String::new());
    }
}

/// What must never be shown: a command may print the agent's own keys.
static KEYS: OnceLock<Vec<String>> = OnceLock::new();

/// From now on, these texts are shown as `[key]`.
pub fn hide(keys: Vec<String>) {
    // A local server takes any key: an `x` would be found in every word.
    let keys = keys.into_iter().filter(|key| key.len() >= SHORTEST_KEY).collect();
    // They are read once.
    let _ = KEYS.set(keys);
}

fn without_keys(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for key in KEYS.get().into_iter().flatten() {
        if text.contains(key.as_str()) {
            text = text.replace(key, "[key]").into();
        }
    }
    text
}

/// Prints on stderr what is safe to print.
pub fn to_stderr(text: &str) {
    let text = without_keys(text);
    let typing = typing();
    match &*typing {
        Some(typing) if io::stderr().is_terminal() => {
            let _ = typing.queue.send(text.into_owned());
        }
        _ => {
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Prints on stdout what is safe to print.
///
/// # Errors
/// What the operating system says, such as that nobody reads any more.
pub fn to_stdout(text: &str) -> io::Result<()> {
    let text = without_keys(text);
    let typing = typing();
    if let Some(typing) = &*typing {
        // The editor is gone only when the program is.
        let _ = typing.queue.send(text.into_owned());
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
