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
    let _restore = screen::Restore;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return failure(&error.into()),
    };
    let code = runtime.block_on(run(binary, &args, demo, chat));
    // Not even a name look-up that hangs may keep the program from ending.
    runtime.shutdown_background();
    code
}

async fn run(
    binary: &str,
    args: &Args,
    demo: &str,
    chat: impl AsyncFnOnce(Ui, Setup) -> Result<()>,
) -> ExitCode {
    let ui = Ui::new(binary, args.prompt());
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => return failure(&error),
    };
    let session = async {
        let setup = Setup::new(binary, args, demo).await?;
        if ui.is_terminal() && args.prompt().is_none() {
            let root = setup.workspace.root().display();
            note(&format!("{binary} · {} · {root}", setup.client.model()));
        }
        chat(ui.clone(), setup).await
    };
    // Whatever ends the session drops it, and so kills its child processes.
    let outcome = tokio::select! {
        biased;
        code = signals.end(&ui) => return ExitCode::from(code),
        () = ui.stopped() => Ok(()),
        outcome = session => outcome,
    };
    match outcome {
        Ok(()) => ExitCode::from(ui.code()),
        Err(error) => failure(&error),
    }
}

fn failure(error: &anyhow::Error) -> ExitCode {
    note(&format!("[Error] {error:#}"));
    ExitCode::from(if error.is::<UsageError>() { 2 } else { 1 })
}

/// What ends the program from outside.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    resume: Signal,
}

impl Signals {
    fn new() -> Result<Signals> {
        let signals = || -> io::Result<Signals> {
            Ok(Signals {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
                resume: signal(SignalKind::from_raw(Number::CONT.as_raw()))?,
            })
        };
        signals().context("cannot listen for signals")
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
    note(&format!("[Error] internal error: {text}{place}"));
}
