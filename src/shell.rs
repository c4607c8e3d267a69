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

/// How many words braces may make of one; behind that they stay as they are.
const MAX_WORDS: usize = 64;

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
    /// It stands behind `&&` or `||`, so it may not run.
    pub chained: bool,
}

/// A simple command, or a compound with all that stands inside. Keywords such
/// as `if` and `done` are left out, so that the command behind them looks like
/// any other; the heads of `for` and `case`, `[[` and `((` stay, as the name of
/// a command of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// `NAME=value` in front of the command.
    pub assignments: Vec<(String, Word)>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// The inside of `( … )`, of `{ …; }`, of `if … fi` and the like, or of the
    /// function.
    pub body: Option<Script>,
    /// The body is that of an `if`, a loop or a `case`: nobody knows how often
    /// each part runs.
    pub branches: bool,
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

    /// The words that `{a,b}` stands for.
    pub fn braces(&self) -> Vec<Word> {
        let (mut open, mut done) = (vec![self.clone()], Vec::new());
        while let Some(word) = open.pop() {
            // Each pair of braces may double the number of words.
            let few = open.len() + done.len() < MAX_WORDS;
            match word.choices().filter(|_| few) {
                Some(words) => open.extend(words.into_iter().rev()),
                None => done.push(word),
            }
        }
        done
    }

    /// The word without its first braces, once for each choice in them.
    fn choices(&self) -> Option<Vec<Word>> {
        let brace = |part: &Part| *part == Part::Glob('{');
        let start = self.parts.iter().position(brace)?;
        let front = &self.parts[..start];
        let (mut choices, mut depth) = (vec![Word::default()], 0);
        for (at, part) in self.parts.iter().enumerate().skip(start + 1) {
            depth += i32::from(brace(part));
            let Part::Text(text) = part else {
                choices.last_mut()?.add(part.clone());
                continue;
            };
            for (i, c) in text.char_indices() {
                depth -= i32::from(c == '}');
                match c {
                    '}' if depth < 0 => {
                        let tail = [Part::Text(text[i + 1..].into())];
                        let tail = tail.iter().chain(&self.parts[at + 1..]);
                        let whole = |one: Word| {
                            let one = match one.strip("~") {
                                Some(rest) if front.is_empty() => rest.at_home(),
                                _ => one,
                            };
                            let all = front.iter().chain(&one.parts);
                            all.chain(tail.clone()).cloned().collect()
                        };
                        let some = (2..MAX_WORDS).contains(&choices.len());
                        return some
                            .then(|| choices.into_iter().map(whole).collect());
                    }
                    ',' if depth == 0 => choices.push(Word::default()),
                    _ => choices.last_mut()?.push(c),
                }
            }
        }
        None
    }

    /// What stands behind a `~`, with the folder in front.
    fn at_home(self) -> Word {
        [Part::variable("HOME")].into_iter().chain(self.parts).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command, as the texts of its words.
    fn commands(text: &str) -> Vec<Vec<String>> {
        let words =
            |one: &Command| one.words.iter().map(|w| w.text().into()).collect();
        parse(text).commands().into_iter().map(words).collect()
    }

    fn words(text: &str) -> Vec<String> {
        commands(text).into_iter().next().unwrap_or_default()
    }

    #[test]
    fn quotes_make_words_and_vanish() {
        assert_eq!(
            words(r#"r''m 'a b' "c d" e\ f ''"#),
            ["rm", "a b", "c d", "e f", ""]
        );
        assert_eq!(words(r#""a\"b" "\x" '\x' \x"#), ["a\"b", r"\x", r"\x", "x"]);
        assert_eq!(words(r"$'\x72\155\t\'\u00fc' $'\q'"), ["rm\t'ü", "q"]);
        assert_eq!(words("rm \\\n  -rf\t a\\\nb"), ["rm", "-rf", "ab"]);
    }

    #[test]
    fn expansions_stay_apart_from_text() {
        let script = parse(r#"echo '$A' "$A" $A ~/x *.rs a{b,c}"#);
        let words = &script.pipelines[0].commands[0].words;
        assert_eq!(words[1].literal().as_deref(), Some("$A"));
        let quotes = [(2, true), (3, false)];
        for (at, quoted) in quotes {
            let (name, rest) = ("A".into(), Word::default());
            assert_eq!(words[at].parts, [Part::Variable { name, rest, quoted }]);
        }
        assert_eq!(
            words[4].parts,
            [Part::variable("HOME"), Part::Text("/x".into())]
        );
        assert_eq!(words[5].parts[0], Part::Glob('*'));
        assert_eq!(words[6].parts[1], Part::Glob('{'));
        assert_eq!(words[3].literal(), None);
    }

    #[test]
    fn chains_become_pipelines() {
        let script = parse("a; b && c | d |\n e & f || g\nh");
        let sizes: Vec<_> =
            script.pipelines.iter().map(|one| one.commands.len()).collect();
        assert_eq!(sizes, [1, 1, 3, 1, 1, 1]);
        let behind: Vec<_> =
            script.pipelines.iter().map(|one| one.background).collect();
        assert_eq!(behind, [false, false, true, false, false, false]);
        assert_eq!(script.flaw, None);
    }

    #[test]
    fn what_runs_inside_is_found() {
        for text in [
            "echo $(b)",
            "echo \"`b`\"",
            "echo \"$(b)\"",
            "echo ${x:-$(b)}",
            "echo <(b)",
            "x=$(b)",
            "x=(1 $(b))",
            "x[$(b)]=1",
            "echo $((1 + $(b)))",
            "(b)",
            "{ b; }",
            "f() { b; }",
            "function f { b; }",
            "if b; then c; fi",
            "while a; do b; done",
            "! b",
            "case x in x) b;; esac",
            "case x in (y|z) ;; (x) b; esac",
            "[[ a > c ]] && b",
            "for i in a; do b; done",
            "cat <<E\n$(b)\nE",
            "a <<E\n'\nE\nb",
            "# '\nb",
            "cat <<'A' <<B\n(\nA\n(\nB\nb",
            "for ((i=0; i<3; i++)); do b; done",
        ] {
            assert!(commands(text).contains(&vec!["b".to_string()]), "{text}");
            assert_eq!(parse(text).flaw, None, "{text}");
        }
    }

    #[test]
    fn what_does_not_run_is_not_found() {
        for text in [
            "echo 'a; b'",
            "echo \"a | b\"",
            "a # ; b",
            "a \\; b",
            "cat <<'E'\n$(b)\nE",
            "[[ x && b ]]",
            "case x in b) ;; esac",
            "x=(a b)",
            "(( a | b ))",
            "echo $((a|b))",
            "cat <<-E\n\tb\n\tE",
            "grep x <<< b",
        ] {
            assert!(!commands(text).contains(&vec!["b".to_string()]), "{text}");
            assert_eq!(parse(text).flaw, None, "{text}");
        }
    }

    #[test]
    fn redirects_tell_what_they_write() {
        let text = "a 2>x >>y >|z &>v <r 2>&1 >&w <<< t <>u >&- {fd}>q";
        let script = parse(text);
        let redirects = &script.pipelines[0].commands[0].redirects;
        let written = redirects.iter().filter_map(Redirect::written).map(Word::text);
        assert_eq!(written.collect::<Vec<_>>(), ["x", "y", "z", "v", "w", "u", "q"]);
        let documents =
            redirects.iter().filter_map(Redirect::document).map(Word::text);
        assert_eq!(documents.collect::<Vec<_>>(), ["t"]);
        assert_eq!(words(text), ["a"]);
    }

    #[test]
    fn here_documents_end_where_the_shell_ends_them() {
        let script = parse("cat <<'A B' - <<\\C\n$x\n A B\nA B\ny\nC\nnext");
        let redirects = &script.pipelines[0].commands[0].redirects;
        let texts: Vec<_> = redirects.iter().map(|one| one.target.text()).collect();
        assert_eq!(texts, ["$x\n A B\n", "y\n"]);
        assert_eq!(script.pipelines.len(), 2);
    }

    #[test]
    fn assignments_stand_in_front() {
        let script = parse("A=1 B+='x y' C[2]=$D cmd E=2");
        let command = &script.pipelines[0].commands[0];
        let names: Vec<_> =
            command.assignments.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["A", "B", "C"]);
        assert_eq!(command.words.len(), 2);
    }

    #[test]
    fn functions_and_groups_keep_their_body() {
        let script = parse(":(){ :|:& };: ; f ( ) (x) ; { y; } > z");
        let all: Vec<_> =
            script.pipelines.iter().map(|one| &one.commands[0]).collect();
        assert_eq!(all[0].function.as_deref(), Some(":"));
        assert!(
            all[0].body.as_ref().is_some_and(|body| body.pipelines[0].background)
        );
        assert_eq!(all[2].function.as_deref(), Some("f"));
        assert!(all[2].subshell && !all[3].subshell);
        assert_eq!(all[3].redirects.len(), 1);
    }

    #[test]
    fn broken_text_is_told_and_read_as_far_as_it_goes() {
        for text in
            ["rm x; echo 'a", "rm x; echo \"a", "rm x; (a", "rm x; $(a", "rm x; `a"]
        {
            assert!(parse(text).flaw.is_some(), "{text}");
            assert_eq!(words(text), ["rm", "x"], "{text}");
        }
        assert!(parse(&"$(".repeat(5000)).flaw.is_some());
        assert_eq!(parse("").pipelines, []);
    }

    #[test]
    fn text_can_be_read_again() {
        let word =
            &parse("x \"rm $A ${B:-c} $(d)\"").pipelines[0].commands[0].words[1];
        assert_eq!(word.text(), "rm ${A} ${B} ${?}");
        let again = parse(&format!("\"{}\"", word.text()));
        assert_eq!(again.pipelines[0].commands[0].words[0].text(), word.text());
    }

    #[test]
    fn braces_make_words() {
        let texts = |text: &str| {
            let words = &parse(text).pipelines[0].commands[0].words;
            let all: Vec<_> = words.iter().flat_map(Word::braces).collect();
            all.iter().map(|one| one.text().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(texts("a{b,c}d"), ["abd", "acd"]);
        assert_eq!(texts("{/,x{1,2}}"), ["/", "x1", "x2"]);
        assert_eq!(texts("f{,.bak}"), ["f", "f.bak"]);
        for text in ["{a}", "{1..3}", "{a,b", "'{a,b}'", "{}"] {
            assert_eq!(texts(text), [text.trim_matches('\'')]);
        }
        assert!(texts(&"{a,b}".repeat(100)).len() <= MAX_WORDS + 1);
    }

    #[test]
    fn compounds_keep_what_stands_inside() {
        for text in [
            "if a; then b; else c; fi > x",
            "for i in 1; do b; done > x",
            "for i do b; done > x",
            "for ((;;)) { b; } > x",
            "case a in a) b;; (c) d; esac > x",
            "while a; do { b; } done > x",
            "time -p until b; do c; done > x",
            "coproc N { b; } > x",
        ] {
            let script = parse(text);
            let [Pipeline { commands, .. }] = &script.pipelines[..] else {
                panic!("{text}: {script:?}")
            };
            assert!(commands[0].body.is_some(), "{text}");
            assert_eq!(commands[0].redirects.len(), 1, "{text}");
            assert!(super::tests::commands(text).contains(&vec!["b".into()]));
        }
    }

    #[test]
    fn words_are_taken_apart_and_put_together() {
        let word = Word::from("of=/dev/sda");
        assert_eq!(word.strip("of="), Some(Word::from("/dev/sda")));
        assert_eq!(word.strip("if="), None);
        let replaced = Word::from("a{}b{}").replaced("{}", &Word::from("/"));
        assert_eq!(replaced, Word::from("a/b/"));
        let joined = Word::joined(&[Word::from("a"), Word::from("b")]);
        assert_eq!(joined, Word::from("a b "));
    }
}
