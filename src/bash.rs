//! The `bash` tool: one command line, one fresh shell, one piece of text for
//! the model. A command that fails is an answer, not an error of the agent.

use std::{env, path::Path, sync::LazyLock, time::Duration};

use anyhow::{Context, ensure};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::process::Command;

use crate::{
    files::{Workspace, ensure_folder},
    process::{self, Exit},
    text::HeadTail,
    tool::Tool,
};

/// What the model reads about the tool.
pub const BASH_DESCRIPTION: &str = "\
Run a command line in bash. Each call starts a new shell in the workspace folder: \
`cd` and variables do not carry over to the next call. Standard input is empty; \
the command is killed after 120 seconds. The result is stdout and stderr together, \
and the exit code if it is not 0.";

/// How long a command may run.
pub const TIME_LIMIT: Duration = Duration::from_secs(120);

/// How many characters of a command's output the model gets to see.
pub const MAX_CHARS: usize = 50_000;

/// The agent's own keys. No child process gets them: one `env` would put them
/// into the history, and from there onto somebody's server.
pub const SECRETS: [&str; 3] =
    ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "BRAVE_API_KEY"];

/// Nobody sits at the keyboard of a child: pagers print, editors and questions
/// fail at once.
const UNATTENDED: [(&str, &str); 8] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Arguments of the `bash` tool.
#[derive(Deserialize, JsonSchema)]
pub struct BashArgs {
    /// The command line, run by bash in the workspace.
    pub command: String,
}

/// The `bash` tool, for this workspace.
pub fn tool(workspace: &Workspace) -> Tool {
    Tool::new("bash", BASH_DESCRIPTION, workspace.clone(), bash)
}

/// Runs one call of the tool.
///
/// # Errors
/// When no shell could be started; never because the command failed.
pub async fn bash(workspace: Workspace, args: BashArgs) -> anyhow::Result<String> {
    run_bash(workspace.root(), &args.command, TIME_LIMIT).await
}

/// Runs `line` in `folder` for at most `limit` and describes what came out.
///
/// # Errors
/// When no shell could be started; never because the command failed.
pub async fn run_bash(
    folder: &Path,
    line: &str,
    limit: Duration,
) -> anyhow::Result<String> {
    let command = command(folder, line)?;
    let mut output = HeadTail::new(MAX_CHARS);
    let exit = process::run(command, limit, |bytes| output.push(bytes))
        .await
        .context("cannot run the shell")?;
    Ok(report(output, exit, limit))
}

/// The shell that will run `line` in `folder`, with a cleaned environment.
///
/// # Errors
/// When `line` cannot be passed on or `folder` does not exist: the system's own
/// message would not say which of them is meant.
pub fn command(folder: &Path, line: &str) -> anyhow::Result<Command> {
    ensure!(!line.contains('\0'), "the command contains a NUL character");
    ensure_folder(folder)?;
    let mut command = Command::new(*SHELL);
    command.args(["-c", "--", line]).current_dir(folder).envs(UNATTENDED);
    for name in SECRETS {
        command.env_remove(name);
    }
    Ok(command)
}

static SHELL: LazyLock<&str> = LazyLock::new(|| shell(env::var_os("PATH")));

/// Small systems have no bash; most command lines work in any shell.
fn shell(path: Option<std::ffi::OsString>) -> &'static str {
    let path = path.unwrap_or_default();
    match env::split_paths(&path).any(|folder| folder.join("bash").is_file()) {
        true => "bash",
        false => "sh",
    }
}

/// States what happened and claims nothing more: whether exit code 0 means
/// success, only the model can judge (`false | cat` ends with 0).
fn report(output: HeadTail, exit: Exit, limit: Duration) -> String {
    let (mut text, replaced) = output.finish();
    if text.is_empty() {
        text.push_str("(no output)");
    }
    if replaced {
        text.push_str("\n[bytes that are not UTF-8 were replaced by \u{fffd}]");
    }
    match exit {
        Exit::Code(0) => text,
        Exit::Code(code) => format!("{text}\n[exit code {code}]"),
        Exit::Signal(signal) => format!("{text}\n[killed by signal {signal}]"),
        Exit::TimedOut => {
            let seconds = limit.as_secs_f64();
            format!("{text}\n[timed out after {seconds} s and killed]")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::tests::until;

    async fn in_folder(folder: &Path, line: &str) -> String {
        run_bash(folder, line, TIME_LIMIT).await.unwrap()
    }

    async fn text(line: &str) -> String {
        in_folder(Path::new("/"), line).await
    }

    #[tokio::test]
    async fn the_result_says_what_happened() {
        let cases = [
            ("echo hi", "hi"),
            ("printf ' a \\n\\n \\n'", " a"),
            ("true", "(no output)"),
            ("false", "(no output)\n[exit code 1]"),
            ("echo o; echo e >&2; exit 3", "o\ne\n[exit code 3]"),
            ("echo x; kill -TERM $$", "x\n[killed by signal 15]"),
            ("false | cat", "(no output)"),
            ("yes | head -1", "y"),
            ("cat <<EOF\n$((1 + 1))\nEOF", "2"),
            ("set -euo pipefail; false", "(no output)\n[exit code 1]"),
            ("[[ -n x ]] && echo bash", "bash"),
            ("", "(no output)"),
        ];
        for (line, expected) in cases {
            assert_eq!(text(line).await, expected, "{line}");
        }
    }

    #[tokio::test]
    async fn a_syntax_error_ends_at_once() {
        let result = text("ls -l |").await;
        assert!(!result.starts_with("(no output)"), "{result}");
        assert!(result.ends_with("\n[exit code 2]"), "{result}");
    }

    #[tokio::test]
    async fn bytes_that_are_not_text_are_replaced_and_said() {
        let note = "[bytes that are not UTF-8 were replaced by \u{fffd}]";
        let line = "printf 'a\\377b'; exit 5";
        let expected = format!("a\u{fffd}b\n{note}\n[exit code 5]");
        assert_eq!(text(line).await, expected);
        assert_eq!(text("printf 'a\\0b'").await, "ab");
    }

    #[tokio::test]
    async fn long_output_keeps_head_and_tail() {
        let line = "echo start; yes é | head -c 300000; echo end";
        let result = text(line).await;
        assert!(result.starts_with("start\né\n"));
        assert!(result.ends_with("é\nend"));
        // 6 + 200,000 + 3 characters, of which 50,000 are kept.
        let marker = "\n[... 150009 characters cut ...]\n";
        assert!(result.contains(marker), "{}", &result[..50]);
        assert_eq!(result.chars().count(), MAX_CHARS + marker.len());
        let exact = text("printf '%050000d\\n' 0").await;
        assert_eq!(exact, "0".repeat(MAX_CHARS));
    }

    #[tokio::test]
    async fn endless_output_is_cut_and_ends_at_the_limit() {
        let limit = Duration::from_millis(400);
        let result = run_bash(Path::new("/"), "yes", limit).await.unwrap();
        assert!(result.ends_with("\n[timed out after 0.4 s and killed]"));
        assert!(result.len() < MAX_CHARS + 100);
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_is_named_and_the_output_kept() {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        let line = "echo so far; touch ready; sleep 600";
        let result = in_folder(folder.path(), line);
        let (result, ()) = tokio::join!(result, until(move || ready.exists()));
        assert_eq!(result, "so far\n[timed out after 120 s and killed]");
    }

    #[tokio::test]
    async fn every_call_starts_anew_in_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        for line in ["pwd; cd /; x=1", "pwd; exit 0", "pwd; exec true"] {
            let args = BashArgs { command: line.to_string() };
            // Spawning shows that the future can move between threads.
            let task = tokio::spawn(bash(workspace.clone(), args));
            let result = task.await.unwrap().unwrap();
            assert_eq!(result, root.to_str().unwrap());
        }
    }

    #[tokio::test]
    async fn what_cannot_start_is_an_error() {
        let error = run_bash(Path::new("/"), "echo \0", TIME_LIMIT).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains("NUL"), "{error}");
        let gone = tempfile::tempdir().unwrap().path().to_owned();
        let error = run_bash(&gone, "true", TIME_LIMIT).await.unwrap_err();
        assert!(error.to_string().contains("workspace folder"), "{error}");
    }

    #[tokio::test]
    async fn children_get_no_keys_and_nothing_that_waits_for_a_person() {
        let command = command(Path::new("/"), "true").unwrap();
        let changes: Vec<_> = command.as_std().get_envs().collect();
        for name in SECRETS {
            assert!(changes.contains(&(name.as_ref(), None)), "{name}");
        }
        assert_eq!(text("echo $GIT_PAGER $EDITOR").await, "cat false");
        let home = env::var("HOME").unwrap_or_default();
        assert_eq!(text("echo \"-$HOME\"").await, format!("-{home}"));
    }

    #[test]
    fn without_bash_there_is_sh() {
        assert_eq!(shell(None), "sh");
        assert_eq!(shell(Some("/no/such/folder".into())), "sh");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bash"), "").unwrap();
        assert_eq!(shell(Some(folder.path().into())), "bash");
    }
}
