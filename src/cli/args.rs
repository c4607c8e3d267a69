//! The command line, which is the same for every chapter.

use crate::llm::{ANTHROPIC_DEFAULT_MODEL, OPENAI_DEFAULT_MODEL};
use clap::error::ErrorKind;
use clap::{Arg, Command, value_parser};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug)]
pub struct Args {
    pub workspace: Option<PathBuf>,
    words: Vec<String>,
}

/// Two arguments are not worth the time that a derive macro takes to compile.
fn command(binary: &'static str) -> Command {
    let workspace = Arg::new("workspace")
        .long("workspace")
        .value_name("DIR")
        .value_parser(value_parser!(PathBuf))
        .help(
            "The folder that the agent works in [default: the current one; \
             offline: target/playground/]",
        );
    let words = Arg::new("words").value_name("PROMPT").num_args(0..).help(
        "Answer this and exit (without it: a chat, or one prompt a line of stdin)",
    );
    Command::new(binary)
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .after_help(environment())
        .args([workspace, words])
}

impl Args {
    /// Parses what the program was started with.
    ///
    /// # Errors
    /// Also `--help` and `--version`: the error knows what to print, and the
    /// exit code.
    pub fn parse_for(
        binary: &'static str,
        words: impl IntoIterator<Item = OsString>,
    ) -> Result<Args, clap::Error> {
        let mut command = command(binary);
        let mut matches = command.try_get_matches_from_mut(words)?;
        let args = Args {
            workspace: matches.remove_one("workspace"),
            words: matches.remove_many("words").into_iter().flatten().collect(),
        };
        if args.prompt().is_some_and(|prompt| prompt.trim().is_empty()) {
            return Err(
                command.error(ErrorKind::InvalidValue, "the PROMPT is blank")
            );
        }
        Ok(args)
    }

    /// The words of the prompt, joined: quoting them is not necessary.
    pub fn prompt(&self) -> Option<String> {
        (!self.words.is_empty()).then(|| self.words.join(" "))
    }
}

fn environment() -> String {
    format!(
        "Environment (also from a `.env` file here or above; see .env.example):
  LLM_PROVIDER        openai, anthropic or offline [default: what has a key]
  OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL
                      any OpenAI-compatible server [model: {OPENAI_DEFAULT_MODEL}]
  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL
                      [model: {ANTHROPIC_DEFAULT_MODEL}]
  MAX_ROUNDS          rounds of tool calls in one turn [default: 100]
  CONTEXT_LIMIT       characters of a conversation, from s08 on [default: 12000]
  NO_COLOR            no colours

Without a key a script plays the model, so that you can try it at once."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Args, clap::Error> {
        let words = ["s01-agent-loop"].iter().chain(words);
        Args::parse_for("s01-agent-loop", words.map(OsString::from))
    }

    #[test]
    fn words_become_one_prompt() {
        let args = parse(&["--workspace", "a b", "list", "the files"]).unwrap();
        assert_eq!(args.prompt().as_deref(), Some("list the files"));
        assert_eq!(args.workspace, Some("a b".into()));
        assert_eq!(parse(&[]).unwrap().prompt(), None);
        assert_eq!(parse(&["--", "-la"]).unwrap().prompt().as_deref(), Some("-la"));
    }

    #[test]
    fn mistakes_are_exit_code_2_and_help_is_not() {
        for bad in [&["--odd"][..], &[""], &[" ", "\t"], &["--workspace"]] {
            assert_eq!(parse(bad).unwrap_err().exit_code(), 2, "{bad:?}");
        }
        let help = parse(&["--help"]).unwrap_err();
        assert_eq!(help.exit_code(), 0);
        let help = help.to_string();
        for word in
            ["s01-agent-loop", "[PROMPT]", "OPENAI_API_KEY", OPENAI_DEFAULT_MODEL]
        {
            assert!(help.contains(word), "{word} not in {help}");
        }
        assert!(
            parse(&["-V"]).unwrap_err().to_string().starts_with("s01-agent-loop ")
        );
    }
}
