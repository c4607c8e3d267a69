//! What a command line has set so far: its current folder and its variables.
//! `cd / && rm -rf *` is harmless word by word.

use std::collections::HashMap;

use crate::place::{Place, Spot};
use crate::rules::operands;
use crate::shell::{Part, Word};

/// How many bytes of a value are worth remembering.
const MAX_VALUE: usize = 1000;

/// The state of a shell, as far as the text tells it.
pub struct Session {
    pub folder: Spot,
    /// How many branches, loops and pipes are open: what is set in them may
    /// not be set at all.
    pub unsure: usize,
    values: HashMap<String, Word>,
    /// Names with the values that they had before, for [`Session::back_to`].
    log: Vec<(String, Option<Word>)>,
}

impl Session {
    /// A shell that starts in the workspace.
    pub fn new() -> Self {
        // `rm${IFS}-rf` needs no blank, `$SHELL -c` no name.
        let set = [("IFS", " "), ("SHELL", "sh"), ("BASH", "bash")];
        let values = set.map(|(name, value)| (name.to_string(), Word::from(value)));
        let (folder, values) = (Spot::workspace(), HashMap::from(values));
        let mut session = Session { folder, unsure: 0, values, log: Vec::new() };
        ["HOME", "PWD"].iter().for_each(|name| session.forget(name));
        session
    }

    /// A place to come back to, at the end of a subshell.
    pub fn mark(&self) -> (Spot, usize) {
        (self.folder.clone(), self.log.len())
    }

    pub fn back_to(&mut self, (folder, length): (Spot, usize)) {
        self.folder = folder;
        for (name, value) in self.log.drain(length..).rev() {
            match value {
                Some(value) => self.values.insert(name, value),
                None => self.values.remove(&name),
            };
        }
    }

    /// Where a path leads from the current folder.
    pub fn place(&self, word: &Word) -> Place {
        self.folder.join(word).place()
    }

    pub fn change_folder(&mut self, args: &[Word]) {
        self.folder = match operands(args).next() {
            None => Spot::home(),
            Some(word) if word.text() == "-" => Spot::unknown(),
            Some(word) => self.folder.join(word),
        };
    }

    pub fn set(&mut self, name: &str, value: &Word) {
        let value = self.value(value);
        let other = self.values.get(name).is_some_and(|old| *old != value);
        let vague = |part: &Part| *part == Part::variable("?");
        let blank = name != "IFS" || value.text().trim().is_empty();
        // A value made of itself, again and again, would fill the memory.
        let short = value.scripts().is_empty() && value.text().len() <= MAX_VALUE;
        if self.unsure > 0 && other || value.parts.iter().any(vague) || !short {
            self.forget(name);
        } else if blank {
            self.put(name, if name == "IFS" { Word::from(" ") } else { value });
        } else {
            self.forget(name);
        }
    }

    /// From here on, only the shell knows the value.
    pub fn forget(&mut self, name: &str) {
        self.put(name, Word::from_iter([Part::variable(name)]));
    }

    fn put(&mut self, name: &str, value: Word) {
        let old = self.values.insert(name.into(), value);
        self.log.push((name.into(), old));
    }

    /// `export NAME=value`.
    pub fn declare(&mut self, args: &[Word]) {
        for word in args {
            let text = word.text();
            let name = text.split('=').next().unwrap_or_default();
            match (word.strip(&format!("{name}=")), name.find(['[', '+'])) {
                (Some(_), Some(end)) => self.forget(&name[..end]),
                (Some(value), None) => self.set(name, &value),
                (None, _) => {}
            }
        }
    }

    /// `for NAME in a b`: the value that leads to the worst place stands for
    /// all, and a pattern for those that do no harm.
    pub fn bind(&mut self, args: &[Word]) {
        let [name, _, values @ ..] = args else { return };
        let Some(worst) = values.iter().max_by_key(|one| self.place(one)) else {
            return;
        };
        let any = Word { parts: vec![Part::Glob('*')] };
        let harmless = values.len() > 1 && self.place(worst) == Place::Inside;
        // The loop itself sets it, whether or not others have done so before.
        let value = self.value(if harmless { &any } else { worst });
        let vague = !value.scripts().is_empty() || value.text().len() > MAX_VALUE;
        match vague {
            true => self.forget(&name.text()),
            false => self.put(&name.text(), value),
        }
    }

    /// What a part stands for, and whether the shell will split it at blanks.
    fn known<'a>(&'a self, part: &'a Part) -> (&'a [Part], bool) {
        let itself = (std::slice::from_ref(part), false);
        let Part::Variable { name, rest, quoted } = part else { return itself };
        let Some(value) = self.values.get(name) else { return itself };
        // `${x%a}` is another value, `${x:-a}` the same if there is one.
        let whole = rest.parts.is_empty() || name == "IFS";
        let checked =
            [":-", "-", ":?", "?"].iter().any(|op| rest.strip(op).is_some());
        // A part of some file's name here is still a name here.
        let cut = rest.strip("%").or(rest.strip("#")).is_some();
        let cut = cut && value.parts.contains(&Part::Glob('*'));
        let whole = whole || cut && !value.text().contains('/');
        let blanks = *quoted || self.values.get("IFS") == Some(&Word::from(" "));
        match blanks && (whole || checked && !value.parts.is_empty()) {
            true => (&value.parts, !quoted),
            false => itself,
        }
    }

    /// The word with the variables that are known, in one piece.
    pub fn value(&self, word: &Word) -> Word {
        word.parts.iter().flat_map(|part| self.known(part).0).cloned().collect()
    }

    /// The words that the shell makes of this one. A variable that is empty
    /// vanishes.
    pub fn expand(&self, word: &Word) -> Vec<Word> {
        word.braces().iter().flat_map(|one| self.split(one)).collect()
    }

    fn split(&self, word: &Word) -> Vec<Word> {
        let (mut words, mut now) = (Vec::new(), Word::default());
        for part in &word.parts {
            let (value, splits) = self.known(part);
            for part in value {
                let Part::Text(text) = part else {
                    now.add(part.clone());
                    continue;
                };
                let blank = |c| splits && " \t\n".contains(c);
                for (at, piece) in text.split(blank).enumerate() {
                    if at > 0 && !now.parts.is_empty() {
                        words.push(std::mem::take(&mut now));
                    }
                    now.add(Part::Text(piece.into()));
                }
            }
        }
        if !now.parts.is_empty() || word.parts.is_empty() {
            words.push(now);
        }
        words
    }
}

impl Default for Session {
    fn default() -> Self {
        Session::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::parse;

    fn words(text: &str) -> Vec<Word> {
        parse(text).pipelines[0].commands[0].words.clone()
    }

    fn expanded(session: &Session, text: &str) -> Vec<String> {
        let all = words(text).into_iter().flat_map(|word| session.expand(&word));
        all.map(|word| word.text().into_owned()).collect()
    }

    #[test]
    fn values_split_unless_they_are_quoted() {
        let mut session = Session::new();
        session.set("A", &Word::from(" rm  -rf /"));
        session.set("B", &Word::default());
        assert_eq!(expanded(&session, "x$A $B y"), ["x", "rm", "-rf", "/", "y"]);
        assert_eq!(expanded(&session, "\"x$A\" '' $C"), ["x rm  -rf /", "", "${C}"]);
        assert_eq!(expanded(&session, "rm${IFS}-rf$IFS/"), ["rm", "-rf", "/"]);
    }

    #[test]
    fn values_may_hold_values_but_do_not_grow_without_end() {
        let mut session = Session::new();
        session.set("A", &words("/e")[0]);
        session.set("A", &words("${A}tc")[0]);
        assert_eq!(expanded(&session, "$A"), ["/etc"]);
        for _ in 0..100 {
            session.set("A", &words("$A$A")[0]);
            assert!(session.value(&words("$A")[0]).text().len() <= MAX_VALUE);
        }
        session.set("A", &words("$(ls)")[0]);
        assert_eq!(expanded(&session, "$A"), ["${A}"]);
    }

    #[test]
    fn what_may_not_be_set_is_unknown() {
        let mut session = Session::new();
        session.set("A", &Word::from("a"));
        session.unsure += 1;
        session.set("A", &Word::from("a"));
        assert_eq!(expanded(&session, "$A ${A%b} ${A:-b}"), ["a", "${A}", "a"]);
        session.set("A", &Word::from("b"));
        assert_eq!(expanded(&session, "$A"), ["${A}"]);
    }

    #[test]
    fn a_subshell_is_undone() {
        let mut session = Session::new();
        session.set("A", &Word::from("a"));
        let mark = session.mark();
        session.set("A", &Word::from("b"));
        session.set("B", &Word::from("b"));
        session.back_to(mark);
        assert_eq!(expanded(&session, "$A $B"), ["a", "${B}"]);
    }

    #[test]
    fn a_loop_stands_for_its_worst_value() {
        let mut session = Session::new();
        session.bind(&words("x d in a / b")[1..]);
        assert_eq!(session.place(&session.value(&words("$d")[0])), Place::System);
        session.bind(&words("x d in a b")[1..]);
        assert_eq!(expanded(&session, "$d/x"), ["*/x"]);
    }

    #[test]
    fn cd_moves_the_folder() {
        let mut session = Session::new();
        for (args, place) in [("a", Place::Inside), ("..", Place::Inside)] {
            session.change_folder(&words(args));
            assert_eq!(session.place(&Word::from("x")), place);
        }
        session.change_folder(&words("-"));
        assert_eq!(session.place(&Word::from("x")), Place::Unknown);
        session.change_folder(&[]);
        assert_eq!(session.place(&Word::from("*")), Place::System);
    }
}
