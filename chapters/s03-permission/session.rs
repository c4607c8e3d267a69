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
    values: HashMap<String, Word>,
}

impl Session {
    /// A shell that starts in the workspace.
    pub fn new() -> Self {
        // `rm${IFS}-rf` needs no blank, `$SHELL -c` no name.
        let set = [("IFS", " "), ("SHELL", "sh"), ("BASH", "bash")];
        let values = set.map(|(name, value)| (name.to_string(), Word::from(value)));
        Session { folder: Spot::workspace(), values: values.into() }
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
        // A value made of itself, again and again, would fill the memory.
        if value.scripts().is_empty() && value.text().len() <= MAX_VALUE {
            self.values.insert(name.into(), value);
        } else {
            self.values.remove(name);
        }
    }

    /// `export NAME=value`.
    pub fn declare(&mut self, args: &[Word]) {
        for word in args {
            let text = word.text();
            let name = text.split('=').next().unwrap_or_default();
            if let Some(value) = word.strip(&format!("{name}=")) {
                self.set(name, &value);
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
        self.set(&name.text(), if harmless { &any } else { worst });
    }

    /// What a part stands for, and whether the shell will split it at blanks.
    fn known<'a>(&'a self, part: &'a Part) -> (&'a [Part], bool) {
        let itself = (std::slice::from_ref(part), false);
        let Part::Variable { name, quoted, .. } = part else { return itself };
        self.values.get(name).map_or(itself, |value| (&value.parts, !quoted))
    }

    /// The word with the variables that are known, in one piece.
    pub fn value(&self, word: &Word) -> Word {
        word.parts.iter().flat_map(|part| self.known(part).0).cloned().collect()
    }

    /// The words that the shell makes of this one. A variable that is empty
    /// vanishes.
    pub fn expand(&self, word: &Word) -> Vec<Word> {
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
    fn a_loop_stands_for_its_worst_value() {
        let mut session = Session::new();
        session.bind(&words("for d in a / b")[1..]);
        assert_eq!(session.place(&session.value(&words("$d")[0])), Place::System);
        session.bind(&words("for d in a b")[1..]);
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
