//! A chapter for tests: what it does is in the prompt.

use anyhow::{Result, bail};
use code_agent::cli::{self, Console, Setup, Ui, Unattended};
use code_agent::message::{Message, ToolCall, close_open_calls};
use std::process::ExitCode;
use std::time::Duration;
use tokio::sync::mpsc;

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        cli::note("guard dropped");
    }
}

async fn agent_loop(ui: &Ui, history: &[Message]) -> Result<String> {
    let Some(Message::Prompt(prompt)) = history.last() else { bail!("no prompt") };
    let (word, rest) = prompt.split_once(' ').unwrap_or((prompt, ""));
    match word {
        "ask" => {
            Ok(format!("{} -> {}", rest, ui.confirm(&rest.replace('|', "\n")).await))
        }
        "cron" => {
            let nobody = Unattended { label: "[cron]".into() };
            Ok(format!("{rest} -> {}", nobody.confirm(rest).await))
        }
        "sleep" => {
            let _guard = Guard;
            cli::note("sleeping");
            std::future::pending::<()>().await;
            unreachable!()
        }
        "note" => {
            cli::note(&format!("a notice \u{1b}[31m{rest}\nand more"));
            Ok("noted".into())
        }
        "call" => {
            let args = Ok(serde_json::json!({"command": rest.replace('|', "\n")}));
            ui.show_call(&ToolCall { id: "1".into(), name: "bash".into(), args });
            ui.show_result(&"line\n".repeat(12));
            Ok("called".into())
        }
        "later" => {
            // A notice every 100 ms, while nobody waits.
            let count: usize = rest.parse()?;
            tokio::spawn(async move {
                for n in 1..=count {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    cli::note(&format!("[later] {n}"));
                }
            });
            Ok("started".into())
        }
        "spawn" => {
            tokio::spawn(async {
                let _guard = Guard;
                std::future::pending::<()>().await
            });
            tokio::task::yield_now().await;
            Ok("spawned".into())
        }
        "block" => {
            tokio::task::spawn_blocking(|| {
                std::thread::sleep(Duration::from_secs(60))
            });
            Ok("blocked".into())
        }
        "fail" => Err(anyhow::anyhow!("inner").context("outer")),
        "panic" => panic!("{rest}"),
        _ => Ok(format!("{} ({})\n\n", prompt, history.len())),
    }
}

/// The shape of the later chapters: events interrupt the waiting.
async fn chat(ui: Ui, setup: Setup) -> Result<()> {
    if setup.settings.get("ECHO_FAIL").is_some() {
        bail!("cannot start");
    }
    if setup.settings.get("ECHO_HANG").is_some() {
        cli::note("starting");
        std::future::pending::<()>().await;
    }
    let (sender, mut events) = mpsc::unbounded_channel();
    let mut history = vec![];
    loop {
        tokio::select! {
            prompt = ui.prompt() => {
                let Some(prompt) = prompt else { break };
                if let Some(rest) = prompt.strip_prefix("wake ") {
                    wake(sender.clone(), rest.to_string());
                    continue;
                }
                turn(&ui, &mut history, prompt).await;
            }
            Some(event) = events.recv() => turn(&ui, &mut history, event).await,
        }
    }
    Ok(())
}

/// Sends the prompt behind the number as an event, after so many ms.
fn wake(sender: mpsc::UnboundedSender<String>, event: String) {
    let (wait, prompt) = event.split_once(' ').unwrap_or(("0", &event));
    let wait = Duration::from_millis(wait.parse().unwrap_or(0));
    let prompt = prompt.to_string();
    tokio::spawn(async move {
        tokio::time::sleep(wait).await;
        let _ = sender.send(prompt);
    });
}

async fn turn(ui: &Ui, history: &mut Vec<Message>, prompt: String) {
    history.push(Message::prompt(prompt));
    let answer = ui.cancellable(agent_loop(ui, history)).await;
    close_open_calls(history, "Cancelled by the user.");
    ui.answer(answer);
}

fn main() -> ExitCode {
    let demo = r#"{"scripts": [{"prompt": "Say hello.", "replies": []}]}"#;
    cli::main("s01-echo", demo, chat)
}
