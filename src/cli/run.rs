//! From start to exit code: the frame in which every chapter runs.

use super::args::Args;
use super::screen::{self, note};
use super::start::Setup;
use super::ui::Ui;
use crate::settings::UsageError;
use crate::tool::panic_text;
use anyhow::{Context, Result};
use rustix::process::Signal as Number;
use std::io;
use std::panic::PanicHookInfo;
use std::process::ExitCode;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Runs a chapter: `chat` takes prompts from the [`Ui`] until there are none.
///
/// The exit code is 0; 1 if a turn failed and nobody was there to see it; 2
/// for a wrong command line or configuration; 130, 143 or 129 when Ctrl-C, a
/// termination or a lost terminal ended the program.
pub fn main(
    binary: &'static str,
    demo: &str,
    chat: impl AsyncFnOnce(Ui, Setup) -> Result<()>,
) -> ExitCode {
    let args = match Args::parse_for(binary, std::env::args_os()) {
        Ok(args) => args,
        Err(error) => {
            // Nobody may be there to read it.
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    std::panic::set_hook(Box::new(one_line));
    let restore = screen::Restore;
    let outcome = in_runtime(run(binary, &args, demo, chat));
    // The last words must not go to an editor that has no time to print them.
    drop(restore);
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            note(&format!("[Error] {error:#}"));
            ExitCode::from(if error.is::<UsageError>() { 2 } else { 1 })
        }
    }
}

fn in_runtime(run: impl Future<Output = Result<u8>>) -> Result<u8> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().context("cannot start")?;
    let outcome = runtime.block_on(run);
    // Not even a name look-up that hangs may keep the program from ending.
    runtime.shutdown_background();
    outcome
}

/// Returns the exit code.
async fn run(
    binary: &str,
    args: &Args,
    demo: &str,
    chat: impl AsyncFnOnce(Ui, Setup) -> Result<()>,
) -> Result<u8> {
    let ui = Ui::new(binary, args.prompt());
    let mut signals = Signals::new().context("cannot listen for signals")?;
    let session = async {
        let setup = Setup::new(binary, args, demo).await?;
        chat(ui.clone(), setup).await
    };
    // Whatever ends the session drops it, and so kills its child processes.
    tokio::select! {
        biased;
        code = signals.end(&ui) => Ok(code),
        () = ui.stopped() => Ok(ui.code()),
        outcome = session => outcome.map(|()| ui.code()),
    }
}

/// What ends the program from outside.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    resume: Signal,
}

impl Signals {
    fn new() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            resume: signal(SignalKind::from_raw(Number::CONT.as_raw()))?,
        })
    }

    /// Waits for the end, and returns its exit code: 128 plus the number of
    /// the signal, as shells do.
    async fn end(&mut self, ui: &Ui) -> u8 {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => {
                    if ui.interrupt() {
                        return 130;
                    }
                }
                _ = self.terminate.recv() => return 143,
                _ = self.hang_up.recv() => return 129,
                _ = self.resume.recv() => screen::resume(),
            }
        }
    }
}

/// A panic is a mistake of ours: a stack trace would not help the user.
fn one_line(panic: &PanicHookInfo) {
    let place = panic.location().map(|at| format!(" ({at})")).unwrap_or_default();
    let text = panic_text(panic.payload());
    screen::last_words(&format!("[Error] internal error: {text}{place}"));
}
