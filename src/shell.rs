//! Takes a command line apart into pipelines, commands and words.
//!
//! Whoever judges a command must see what the shell sees: `r''m` is `rm`,
//! `"rm -rf /"` behind `echo` is only text, and `$(…)` runs even between
//! double quotes. A search in the raw text gets all three wrong.
//!
//! Nothing is expanded here and nothing is looked up on the disk. The reader
//! is total: every text gives a [`Script`], and what no shell could read (an
//! unclosed quote) is told in [`Script::flaw`].

use std::borrow::Cow;

mod reader;

/// A program text: what stands between `;`, `&`, `&&`, `||` and line ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    pub pipelines: Vec<Pipeline>,
    /// Why the text could not be read to its end. The pipelines before that
    /// place are there all the same, since a shell runs them, too.
    pub flaw: Option<&'static str>,
}

/// Commands joined by `|`: each one feeds the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pipeline {
    pub commands: Vec<Command>,
    /// It ended in `&`.
    pub background: bool,
}

/// A simple command, a group or a function. Keywords such as `if` and `done`
/// are left out, so that the command behind them looks like any other;
/// `for`, `case`, `[[` and `((` stay, as the name of a command of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// `NAME=value` in front of the command.
    pub assignments: Vec<(String, Word)>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// The inside of `( … )`, of `{ …; }` or of the function.
    pub body: Option<Script>,
    /// The body stands in `( … )`: what it sets is lost at its end.
    pub subshell: bool,
    /// The name of the function that `body` defines.
    pub function: Option<String>,
}

/// `2>> file`, without the number in front.
#[derive(Clone, Debug, PartialEq)]
pub struct Redirect {
    pub op: &'static str,
    /// The file; behind `<<` and `<<<` the text itself.
    pub target: Word,
}

/// One word, after unquoting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Word {
    /// Two texts never stand side by side, and none is empty.
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Just characters, whether they were quoted or not.
    Text(String),
    /// An unquoted `*`, `?`, `[` or `{`: the word may become other words.
    Glob(char),
    /// `$NAME`, or `${NAME…}` with what follows the name; `~` is `HOME`.
    /// Without quotes the value may become several words.
    Variable { name: String, rest: Word, quoted: bool },
    /// `$( … )` or backticks: what the script prints.
    Output(Script),
    /// `<( … )` or `>( … )`: a file that the script writes or reads.
    File(Script),
}

/// Reads a command line. The time grows with the length of the text only.
pub fn parse(text: &str) -> Script {
    reader::read(text)
}

impl Script {
    /// Every command that may run, also those inside groups, functions and
    /// substitutions.
    pub fn commands(&self) -> Vec<&Command> {
        let commands = self.pipelines.iter().flat_map(|one| &one.commands);
        commands.flat_map(Command::all).collect()
    }
}

impl Command {
    /// This command and all that are written inside it.
    pub fn all(&self) -> Vec<&Command> {
        let inside = self.every_word().flat_map(Word::scripts).chain(&self.body);
        [self].into_iter().chain(inside.flat_map(Script::commands)).collect()
    }

    /// Its words and those of its assignments and redirects.
    pub fn every_word(&self) -> impl Iterator<Item = &Word> {
        let values = self.assignments.iter().map(|(_, value)| value);
        let files = self.redirects.iter().map(|one| &one.target);
        values.chain(&self.words).chain(files)
    }
}

impl Redirect {
    /// The file that is written to. `2>&1` only copies what is open.
    pub fn written(&self) -> Option<&Word> {
        let number = |c: char| c.is_ascii_digit() || c == '-';
        let copies = self.op == ">&" && self.target.text().chars().all(number);
        (self.op.contains('>') && !copies).then_some(&self.target)
    }

    /// The text that a here-document or here-string hands over.
    pub fn document(&self) -> Option<&Word> {
        self.op.starts_with("<<").then_some(&self.target)
    }
}

impl Part {
    /// The value of a variable, in double quotes.
    pub fn variable(name: &str) -> Self {
        Part::Variable { name: name.into(), rest: Word::default(), quoted: true }
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        [Part::Text(text.into())].into_iter().collect()
    }
}

impl FromIterator<Part> for Word {
    fn from_iter<T: IntoIterator<Item = Part>>(parts: T) -> Self {
        let mut word = Word::default();
        parts.into_iter().for_each(|part| word.add(part));
        word
    }
}

impl Word {
    /// The word as text that [`parse`] reads alike: variables as `${NAME}`,
    /// and `${?}` for what nobody can know before it runs.
    pub fn text(&self) -> Cow<'_, str> {
        if let [Part::Text(text)] = &self.parts[..] {
            return text.into();
        }
        let text = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Glob(c) => c.to_string(),
            Part::Variable { name, .. } => format!("${{{name}}}"),
            Part::Output(_) | Part::File(_) => "${?}".into(),
        };
        self.parts.iter().map(text).collect()
    }

    /// The word's text, if the shell can make nothing else of it.
    pub fn literal(&self) -> Option<Cow<'_, str>> {
        let fixed = self.parts.iter().all(|part| matches!(part, Part::Text(_)));
        fixed.then(|| self.text())
    }

    /// What stands behind `prefix`, if the word begins with that text.
    pub fn strip(&self, prefix: &str) -> Option<Word> {
        let (Part::Text(text), tail) = self.parts.split_first()? else {
            return None;
        };
        let rest = Part::Text(text.strip_prefix(prefix)?.into());
        Some([&rest].into_iter().chain(tail).cloned().collect())
    }

    /// The scripts that run when the shell expands this word.
    pub fn scripts(&self) -> Vec<&Script> {
        let mut scripts = Vec::new();
        for part in &self.parts {
            match part {
                Part::Output(script) | Part::File(script) => scripts.push(script),
                Part::Variable { rest, .. } => scripts.extend(rest.scripts()),
                Part::Text(_) | Part::Glob(_) => {}
            }
        }
        scripts
    }

    /// The words in one, with blanks in between.
    pub fn joined(words: &[Word]) -> Word {
        let blank = [Part::Text(" ".into())];
        words
            .iter()
            .flat_map(|one| one.parts.iter().chain(&blank))
            .cloned()
            .collect()
    }

    /// The word with `with` wherever its text says `mark`.
    pub fn replaced(&self, mark: &str, with: &Word) -> Word {
        let mut word = Word::default();
        for part in &self.parts {
            let Part::Text(text) = part else {
                word.add(part.clone());
                continue;
            };
            for (at, piece) in text.split(mark).enumerate() {
                let between = if at > 0 { &with.parts[..] } else { &[] };
                between.iter().for_each(|part| word.add(part.clone()));
                word.add(Part::Text(piece.into()));
            }
        }
        word
    }

    /// Appends one part, and keeps texts together.
    pub fn add(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            (_, Part::Text(new)) if new.is_empty() => {}
            (Some(Part::Text(text)), Part::Text(new)) => text.push_str(&new),
            (_, part) => self.parts.push(part),
        }
    }

    fn push(&mut self, c: char) {
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.push(c),
            _ => self.parts.push(Part::Text(c.into())),
        }
    }
}
