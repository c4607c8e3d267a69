//! Plays a demo without a terminal, and writes down what one would show.

use std::io::{Read, Write, pipe};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// A demo that takes longer hangs; scripted ones take a second.
const LIMIT: Duration = Duration::from_secs(120);

/// Settings that would make a demo differ from machine to machine.
const SETTINGS: [&str; 12] = [
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "FALLBACK_MODEL",
    "BRAVE_API_KEY",
    "MAX_ROUNDS",
    "CONTEXT_LIMIT",
    "RETRY_BASE_MS",
    "AGENT_NAME",
];

/// Numbers that differ from run to run: what stands before them, and the word
/// to print instead.
const VOLATILE: [(&str, &str); 2] = [("127.0.0.1:", "PORT"), ("[::1]:", "PORT")];

/// One terminal session. The program runs in an empty folder, so that nothing
/// of the checkout leaks in, and makes its playground there as it would in the
/// checkout. On piped input it echoes each prompt itself.
pub fn session(exe: &Path, name: &str, lines: &[String]) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let output = play(exe, folder.path(), &(lines.join("\n") + "\n"))
        .with_context(|| format!("demo of {name}"))?;
    let output = redact(&output, folder.path());
    Ok(format!("$ cargo run --bin {name}\n{}\n", output.trim_end()))
}

/// Runs a program and returns stdout and stderr in the order they came.
fn play(exe: &Path, folder: &Path, input: &str) -> Result<String> {
    let (mut reader, writer) = pipe()?;
    let mut command = Command::new(exe);
    command
        .current_dir(folder)
        .env("LLM_PROVIDER", "offline")
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stderr(writer.try_clone()?)
        .stdout(writer);
    for name in SETTINGS {
        command.env_remove(name);
    }
    let mut child = command.spawn().with_context(|| exe.display().to_string())?;
    // The command holds copies of the pipe; the reader would never see its end.
    drop(command);
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends early tells more by its output than by this error.
        let _ = stdin.write_all(input.as_bytes());
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = reader.read_to_end(&mut bytes);
        sender.send(read.map(|_| bytes))
    });
    let Ok(bytes) = receiver.recv_timeout(LIMIT) else {
        child.kill()?;
        child.wait()?;
        bail!("did not end within {} s: run it by hand", LIMIT.as_secs());
    };
    let output = String::from_utf8_lossy(&bytes?).into_owned();
    let status = child.wait()?;
    if !status.success() {
        bail!("ended with {status}: mend it; it printed\n{output}");
    }
    Ok(output)
}

/// Replaces what differs from run to run.
fn redact(text: &str, folder: &Path) -> String {
    let mut text = text.replace('\r', "");
    let real = folder.canonicalize().unwrap_or_else(|_| folder.into());
    for path in [real.as_path(), folder] {
        let path = path.display().to_string();
        text = text.replace(&format!("{path}/"), "").replace(&path, ".");
    }
    for (before, word) in VOLATILE {
        text = mask_number(&text, before, word);
    }
    let lines = text.lines().map(str::trim_end);
    lines.collect::<Vec<_>>().join("\n")
}

fn mask_number(text: &str, before: &str, word: &str) -> String {
    let mut parts = text.split(before);
    let mut masked = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = rest.len() < part.len();
        masked += before;
        masked += if number { word } else { "" };
        masked += rest;
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volatile_parts_are_replaced() {
        let text = "at /tmp/x1/target/playground in /tmp/x1\r\n\
            http://127.0.0.1:4711/v1 127.0.0.1:x  \n";
        assert_eq!(
            redact(text, Path::new("/tmp/x1")),
            "at target/playground in .\nhttp://127.0.0.1:PORT/v1 127.0.0.1:x"
        );
    }
}
