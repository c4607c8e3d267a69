//! What the environment and a `.env` file say: read once, and asked by name.
//!
//! The file is read into a map and never written back to the environment: a
//! child process would inherit the keys, and changing the environment is
//! unsafe once threads run.

use crate::bash;
use crate::cli::note;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// How the names of the variables begin that this program reads.
const OURS: [&str; 9] = [
    "LLM_",
    "OPENAI_",
    "ANTHROPIC_",
    "FALLBACK_",
    "BRAVE_",
    "MAX_ROUNDS",
    "CONTEXT_LIMIT",
    "RETRY_BASE_MS",
    "AGENT_NAME",
];

/// A mistake of whoever started the program: it ends with exit code 2.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// All variables, those of the environment before those of the file.
#[derive(Clone, Default)]
pub struct Settings(HashMap<String, String>);

impl Settings {
    /// Reads the environment, and `.env` in the current folder or the nearest
    /// folder above that has one.
    ///
    /// # Errors
    /// A `.env` that cannot be read or understood.
    pub fn load() -> Result<Settings, UsageError> {
        let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
        let vars =
            std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        let folder = std::env::current_dir().unwrap_or_default();
        Settings::from_parts(&folder, vars)
    }

    /// The same with a folder and an environment of the caller's choice.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn from_parts(
        folder: &Path,
        vars: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Settings, UsageError> {
        let mut all = match find(folder) {
            Some(path) => read(&path)?,
            None => HashMap::new(),
        };
        all.extend(vars);
        Ok(Settings(all))
    }

    /// The value of a variable. One that is set but blank counts as unset,
    /// so that `OPENAI_API_KEY= cmd` hides what the file says.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// How many requests one turn may make before it is stopped.
    ///
    /// # Errors
    /// `MAX_ROUNDS` is not a whole number from 1.
    pub fn max_rounds(&self) -> Result<usize, UsageError> {
        self.number("MAX_ROUNDS", 100, 1)
    }

    /// How many characters of JSON a conversation may have.
    ///
    /// # Errors
    /// `CONTEXT_LIMIT` is not a whole number from 1.
    pub fn context_limit(&self) -> Result<usize, UsageError> {
        self.number("CONTEXT_LIMIT", 12_000, 1)
    }

    /// How long to wait before the first retry.
    ///
    /// # Errors
    /// `RETRY_BASE_MS` is not a whole number of milliseconds.
    pub fn retry_base(&self) -> Result<Duration, UsageError> {
        self.number("RETRY_BASE_MS", 500, 0).map(Duration::from_millis)
    }

    /// The keys: they must never be shown.
    pub fn keys(&self) -> Vec<String> {
        let keys = bash::SECRETS.iter().filter_map(|name| self.get(name));
        keys.map(str::to_string).collect()
    }

    /// Checks everything that a chapter may ask for, so that a mistake is told
    /// at the start.
    ///
    /// # Errors
    /// A variable with an unusable value.
    pub fn check(&self) -> Result<(), UsageError> {
        self.max_rounds()?;
        self.context_limit()?;
        self.retry_base().map(|_| ())
    }

    fn number<N>(&self, name: &str, default: N, least: N) -> Result<N, UsageError>
    where
        N: FromStr + PartialOrd + fmt::Display,
    {
        let Some(text) = self.get(name) else { return Ok(default) };
        text.parse().ok().filter(|number| *number >= least).ok_or_else(|| {
            UsageError(format!(
                "{name} is `{text}`, but must be a whole number from {least} \
                 (unset, it is {default})"
            ))
        })
    }
}

/// Names only: the values may be keys.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

fn find(folder: &Path) -> Option<PathBuf> {
    // A folder of that name is some tool's own affair.
    folder.ancestors().map(|one| one.join(".env")).find(|path| path.is_file())
}

fn read(path: &Path) -> Result<HashMap<String, String>, UsageError> {
    let problem = |what: String| UsageError(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path)
        .map_err(|error| problem(format!("cannot be read: {error}")))?;
    let text = text.trim_start_matches('\u{feff}');
    let mut all = HashMap::new();
    for line in dotenvy::from_read_iter(text.as_bytes()) {
        match line {
            Ok((name, value)) => all.extend([(name, value)]),
            // A line that is not ours may follow the rules of another program.
            Err(error) if !is_ours(text, &error) => {
                note(&format!(
                    "{}: {}; ignored",
                    path.display(),
                    explain(text, &error)
                ));
            }
            Err(error) => return Err(problem(explain(text, &error))),
        }
    }
    Ok(all)
}

/// Does the broken line set one of the variables that this program reads?
fn is_ours(text: &str, error: &dotenvy::Error) -> bool {
    let Some(number) = line_number(text, error) else { return true };
    let line = text.lines().nth(number - 1).unwrap_or("").trim_start();
    let name = line.strip_prefix("export ").unwrap_or(line).trim_start();
    OURS.iter().any(|ours| name.starts_with(ours))
}

/// Names the line by its number: its text may hold a key.
fn explain(text: &str, error: &dotenvy::Error) -> String {
    let Some(number) = line_number(text, error) else { return error.to_string() };
    format!("line {number} is not of the form NAME=value (quote values with spaces)")
}

/// The number of the broken line, from 1.
fn line_number(text: &str, error: &dotenvy::Error) -> Option<usize> {
    let dotenvy::Error::LineParse(line, _) = error else { return None };
    let at = text.find(line.trim_end()).unwrap_or(0);
    Some(text[..at].matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(file: &str, vars: &[(&str, &str)]) -> Result<Settings, UsageError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".env"), file).unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(inner.join(".env")).unwrap();
        let vars =
            vars.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        Settings::from_parts(&inner, vars)
    }

    #[test]
    fn a_variable_that_is_set_wins_over_the_file_above() {
        let file = "A=file\nB='from file'\r\n# note\nexport C=\"x#y\"\nD=file\n";
        let settings = settings(file, &[("A", "env"), ("D", " ")]).unwrap();
        assert_eq!(settings.get("A"), Some("env"));
        assert_eq!(settings.get("B"), Some("from file"));
        assert_eq!(settings.get("C"), Some("x#y"));
        assert_eq!(settings.get("D"), None);
        assert_eq!(settings.get("E"), None);
    }

    #[test]
    fn a_broken_file_names_the_line_and_not_its_text() {
        let error =
            settings("A=1\n\nOPENAI_API_KEY=secret words\n", &[]).unwrap_err().0;
        assert!(error.contains(".env: line 3 "), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn lines_of_other_programs_and_a_mark_in_front_do_no_harm() {
        let file = "\u{feff}A=1\nwhatever\nPATHS=a b c\nB=2\n";
        let settings = settings(file, &[]).unwrap();
        assert_eq!((settings.get("A"), settings.get("B")), (Some("1"), Some("2")));
    }

    #[test]
    fn numbers_have_defaults_and_clear_errors() {
        let fine = settings("MAX_ROUNDS=7", &[]).unwrap();
        assert_eq!(fine.max_rounds(), Ok(7));
        assert_eq!(fine.context_limit(), Ok(12_000));
        assert_eq!(fine.retry_base(), Ok(Duration::from_millis(500)));
        for bad in ["0", "-1", "many", "1.5", "99999999999999999999999"] {
            let settings = settings("", &[("MAX_ROUNDS", bad)]).unwrap();
            let error = settings.max_rounds().unwrap_err().0;
            assert!(error.contains("MAX_ROUNDS") && error.contains(bad), "{error}");
        }
    }

    #[test]
    fn debug_output_has_no_values() {
        let text = format!("{:?}", settings("KEY=secret", &[]).unwrap());
        assert_eq!(text, "{\"KEY\"}");
    }
}
