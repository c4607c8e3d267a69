//! Starts the echo program, and waits for what it says.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// Where `examples/echo.rs` is: beside the binaries.
fn path() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_s00-llm-http"));
    let path = binary.with_file_name("examples").join("echo");
    assert!(path.exists(), "not built: run `cargo build --example echo`");
    path
}

/// A command with an environment and a workspace of its own.
pub fn echo(args: &[&str]) -> Command {
    let mut command = Command::new(path());
    command.current_dir(env!("CARGO_TARGET_TMPDIR")).args(["--workspace", "."]);
    command.args(args).env_clear().env("LLM_PROVIDER", "offline");
    command
}

/// Runs to the end; returns stdout, stderr without the banner, exit code.
pub fn run(mut command: Command, stdin: &[u8]) -> (String, String, i32) {
    let mut child = piped(&mut command).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // The program may end before it has read everything.
    let _ = input.write_all(stdin);
    drop(input);
    parts(child.wait_with_output().unwrap())
}

pub fn piped(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped())
}

fn parts(output: Output) -> (String, String, i32) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let stderr = text(output.stderr);
    let stderr =
        stderr.split_once("Say hello.\n").map_or(&*stderr, |(_, rest)| rest);
    (text(output.stdout), stderr.into(), output.status.code().unwrap_or(-1))
}

pub fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits for text in a stream, however it is cut.
pub struct Watch {
    pieces: Receiver<Vec<u8>>,
    seen: Vec<u8>,
}

impl Watch {
    pub fn new(mut stream: impl Read + Send + 'static) -> Watch {
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = vec![0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut piece) {
                if sender.send(piece[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Watch { pieces, seen: vec![] }
    }

    /// Waits for `text`, and returns what came before it.
    #[track_caller]
    pub fn expect(&mut self, text: &str) -> String {
        loop {
            let seen = String::from_utf8_lossy(&self.seen).into_owned();
            if let Some((before, rest)) = seen.split_once(text) {
                self.seen = rest.into();
                return before.into();
            }
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => self.seen.extend(piece),
                Err(_) => panic!("no {text:?} in {seen:?}"),
            }
        }
    }

    /// Waits until the stream ends: then the program has ended, too.
    #[track_caller]
    pub fn expect_end(&mut self) {
        loop {
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => self.seen.extend(piece),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no end after {:?}", String::from_utf8_lossy(&self.seen))
                }
            }
        }
    }
}
