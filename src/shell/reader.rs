//! The reader itself: one function for each thing that a shell text is made
//! of, each called where that thing begins.

use super::{Command, Part, Pipeline, Redirect, Script, Word};

/// How deep substitutions and groups may nest. No honest command comes near,
/// and the reader calls itself at each level, on a stack that has an end.
const MAX_DEPTH: usize = 32;

/// Longer spellings first: `&&` must not be read as two `&`.
const OPERATORS: [&str; 11] =
    ["&&", "||", ";;&", ";;", ";&", ";", "|&", "|", "&", "\n", ")"];
const REDIRECTS: [&str; 12] =
    ["<<<", "<<-", "<<", "<&", "<>", "<", "&>>", "&>", ">>", ">&", ">|", ">"];

/// Words that only say how the commands around them hang together.
const KEYWORDS: [&str; 9] =
    ["then", "elif", "else", "fi", "do", "done", "esac", "!", "}"];
/// Builtins behind which `name=(…)` is a list and no subshell.
const DECLARERS: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

pub fn read(text: &str) -> Script {
    let mut reader = Reader::new(text, 0);
    let script = reader.script("");
    Script { flaw: reader.flaw, ..script }
}

struct Reader<'a> {
    text: &'a str,
    /// The byte that is read next.
    at: usize,
    depth: usize,
    /// Where reading goes on behind this line, because the bodies of its
    /// here-documents have been read already.
    resume: usize,
    /// Directly in a `case`, where a `)` ends a pattern.
    in_case: bool,
    flaw: Option<&'static str>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, depth: usize) -> Self {
        Reader { text, at: 0, depth, resume: 0, in_case: false, flaw: None }
    }

    fn left(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.left().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += next.map_or(0, char::len_utf8);
        next
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.left().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let left = self.left();
        let end = left.find(|c| !wanted(c)).unwrap_or(left.len());
        self.at += end;
        &left[..end]
    }

    /// Gives up: what follows may not mean what it seems to.
    fn fail(&mut self, flaw: &'static str) {
        self.flaw.get_or_insert(flaw);
        self.at = self.text.len();
    }

    /// Reads one level deeper, unless that is too deep.
    fn deeper<T: Default>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth == MAX_DEPTH {
            self.fail("is nested too deeply to be read");
            return T::default();
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Reads a text that ends by itself, such as the inside of backticks.
    fn inner<T: Default>(&mut self, text: &str, read: fn(&mut Reader) -> T) -> T {
        self.deeper(|reader| {
            let mut inner = Reader::new(text, reader.depth);
            let value = read(&mut inner);
            reader.flaw = reader.flaw.or(inner.flaw);
            value
        })
    }

    /// Skips blanks, continued lines and comments.
    fn blanks(&mut self) {
        loop {
            self.take_while(|c| c == ' ' || c == '\t');
            if self.peek() == Some('#') {
                self.take_while(|c| c != '\n');
            }
            if !self.eat("\\\n") {
                return;
            }
        }
    }

    fn operator(&mut self) -> Option<&'static str> {
        let left = self.left();
        let found = OPERATORS.into_iter().find(|one| left.starts_with(one))?;
        if left.starts_with("&>") {
            return None;
        }
        self.at += found.len();
        if found == "\n" {
            self.at = self.at.max(self.resume);
        }
        Some(found)
    }

    /// Skips blanks and line ends.
    fn lines(&mut self) {
        self.blanks();
        while self.peek() == Some('\n') {
            self.operator();
            self.blanks();
        }
    }

    /// Reads commands up to `end`: `)`, a keyword such as `}` or `fi` or, if
    /// empty, the end of the text.
    fn script(&mut self, end: &str) -> Script {
        self.deeper(|reader| {
            let in_case = std::mem::replace(&mut reader.in_case, end == "esac");
            let script = reader.pipelines(end);
            reader.in_case = in_case;
            script
        })
    }

    fn pipelines(&mut self, end: &str) -> Script {
        let mut script = Script::default();
        let mut now = Pipeline::default();
        // Behind a `|` the pipeline goes on, even on the next line.
        let mut piped = false;
        let mut finish = |now: &mut Pipeline| {
            script.pipelines.push(std::mem::take(now));
        };
        loop {
            self.blanks();
            match self.operator() {
                Some(")") if self.in_case => {
                    now.commands.iter_mut().for_each(into_pattern);
                    finish(&mut now);
                }
                Some(operator) if operator == end => break,
                Some("|" | "|&") => piped = true,
                Some("\n") if piped || now.commands.is_empty() => {}
                Some(operator) => {
                    now.background = operator == "&";
                    piped = false;
                    finish(&mut now);
                    now.chained = ["&&", "||"].contains(&operator);
                }
                None if !end.is_empty() && self.keyword() == end => {
                    self.at += end.len();
                    break;
                }
                None if self.left().is_empty() => {
                    if !end.is_empty() {
                        self.fail("is not complete");
                    }
                    break;
                }
                None => {
                    if !std::mem::take(&mut piped) && !now.commands.is_empty() {
                        finish(&mut now);
                    }
                    now.commands.push(self.command());
                }
            }
        }
        finish(&mut now);
        script.pipelines.retain(|one| !one.commands.is_empty());
        script
    }

    fn command(&mut self) -> Command {
        let mut command = Command::default();
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect() {
                command.redirects.push(redirect);
                continue;
            }
            let first = command.words.is_empty();
            let alone = first && command.assignments.is_empty();
            let sum = command.words.first() == Some(&Word::from("(("));
            match self.peek() {
                None | Some(';' | '&' | '|' | '\n' | ')') => return command,
                // Behind a body, only another keyword may stand.
                _ if command.body.is_some() || sum => return command,
                Some('(') if first => self.parenthesis(&mut command),
                Some('(') if self.list(&mut command) => {}
                Some('(') => {
                    if command.words.len() != 1 || !self.empty_parentheses() {
                        return command;
                    }
                    command.function = command.words.pop().map(|w| w.text().into());
                    self.lines();
                }
                _ if alone && self.eat_keyword(&mut command) => {}
                _ if first && self.assignment(&mut command) => {}
                _ => command.words.push(self.word()),
            }
        }
    }

    /// `( … )` runs commands, `(( … ))` only calculates.
    fn parenthesis(&mut self, command: &mut Command) {
        if let Some(sum) = self.calculation() {
            return command.words.extend([Word::from("(("), sum]);
        }
        self.at += 1;
        command.body = Some(self.script(")"));
        command.subshell = true;
    }

    /// `(a b)` behind `declare name=`.
    fn list(&mut self, command: &mut Command) -> bool {
        let [first, .., last] = &mut command.words[..] else { return false };
        let declares = DECLARERS.contains(&&*first.text());
        if !declares || !self.text[..self.at].ends_with('=') || !self.eat("(") {
            return false;
        }
        let words = self.data(")");
        words.into_iter().flat_map(|one| one.parts).for_each(|part| last.add(part));
        last.add(unknown());
        true
    }

    /// What makes a function of the name in front.
    fn empty_parentheses(&mut self) -> bool {
        let inside = self.left().strip_prefix('(').unwrap_or_default();
        let Some(behind) = inside.trim_start().strip_prefix(')') else {
            return false;
        };
        self.at = self.text.len() - behind.len();
        true
    }

    /// The unquoted word that comes next.
    fn keyword(&self) -> &'a str {
        let left = self.left();
        let end = left.find(|c| " \t\n;&|()<>".contains(c));
        &left[..end.unwrap_or(left.len())]
    }

    /// Reads a keyword where a command begins; `false` if there is none.
    fn eat_keyword(&mut self, command: &mut Command) -> bool {
        let start = self.at;
        let keyword = self.keyword();
        self.at += keyword.len();
        if self.in_case && self.left().trim_start().starts_with([')', '|']) {
            self.at = start;
            return false;
        }
        match keyword {
            "{" => command.body = Some(self.script("}")),
            "[[" => {
                command.words.push(Word::from("[["));
                command.words.extend(self.data("]]"));
            }
            "function" => {
                self.blanks();
                command.function = Some(self.word().text().into());
                self.blanks();
                self.empty_parentheses();
                self.lines();
            }
            "time" if self.times() => {}
            "coproc" => self.coprocess(),
            _ if KEYWORDS.contains(&keyword) => {}
            _ => {
                command.body = self.compound(keyword);
                command.branches = command.body.is_some();
                if command.body.is_none() {
                    self.at = start;
                }
                return command.branches;
            }
        }
        true
    }

    /// What stands between `if` and `fi`, and so on.
    fn compound(&mut self, keyword: &str) -> Option<Script> {
        Some(match keyword {
            "if" => self.script("fi"),
            "while" | "until" => self.script("done"),
            "for" | "select" => self.each(keyword),
            "case" => {
                self.blanks();
                let head = vec![Word::from("case"), self.word()];
                self.lines();
                self.at += if self.keyword() == "in" { 2 } else { 0 };
                headed(head, self.script("esac"))
            }
            _ => return None,
        })
    }

    /// `for x in a b; do …; done`, without `in`, or with `((…))`.
    fn each(&mut self, keyword: &str) -> Script {
        let mut head = vec![Word::from(keyword)];
        self.blanks();
        head.extend(self.calculation());
        loop {
            self.blanks();
            let body = head.len() == 2 && ["do", "{"].contains(&self.keyword());
            let ends = |c| ";&|<>()\n".contains(c) && !self.file_ahead();
            if body || self.peek().is_none_or(ends) {
                break;
            }
            head.push(self.word());
        }
        self.eat(";");
        self.lines();
        let braces = self.keyword() == "{";
        self.at += usize::from(braces);
        headed(head, self.script(if braces { "}" } else { "done" }))
    }

    /// Whether `time` is the keyword: with other options it is a program.
    fn times(&mut self) -> bool {
        self.blanks();
        let option = self.keyword();
        let known = ["-p", "--"].contains(&option);
        self.at += if known { option.len() } else { 0 };
        known || !option.starts_with('-')
    }

    /// Skips the name in `coproc name { … }`.
    fn coprocess(&mut self) {
        self.blanks();
        let start = self.at;
        self.take_while(is_name);
        self.blanks();
        let compounds = ["{", "if", "while", "until", "for", "select", "case", "[["];
        if !compounds.contains(&self.keyword()) && self.peek() != Some('(') {
            self.at = start;
        }
    }

    /// Words up to `end` between which operators mean nothing.
    fn data(&mut self, end: &str) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            if self.eat(end) || self.left().is_empty() {
                return words;
            }
            let start = self.at;
            words.push(self.word());
            if self.at == start {
                self.next();
            }
        }
    }

    /// `name=value`, `name+=value`, `name[1]=value` and `name=(a b)`.
    fn assignment(&mut self, command: &mut Command) -> bool {
        let start = self.at;
        let name = self.take_while(is_name);
        let mut index = "";
        if self.eat("[") {
            index = self.take_while(|c| !"]\n;&|".contains(c));
            self.eat("]");
        }
        let appends = self.eat("+");
        let number = name.starts_with(|c: char| c.is_ascii_digit());
        if name.is_empty() || number || !self.eat("=") {
            self.at = start;
            return false;
        }
        let list = self.eat("(");
        let words = if list { self.data(")") } else { vec![self.word()] };
        // The value is more than this text tells, or only a part of it.
        let partial = (appends || list || !index.is_empty()).then(unknown);
        // An index may run something, too.
        let index = self.inner(index, |one| one.text(None));
        let all = words.into_iter().chain([index]).flat_map(|word| word.parts);
        command.assignments.push((name.into(), all.chain(partial).collect()));
        true
    }

    /// Whether `<(` or `>(` comes next, which is a word and no redirect.
    fn file_ahead(&self) -> bool {
        self.left().starts_with("<(") || self.left().starts_with(">(")
    }

    fn redirect(&mut self) -> Option<Redirect> {
        let start = self.at;
        // Which open file is meant (`2>`, `{name}>`) makes no difference.
        if self.take_while(|c| c.is_ascii_digit()).is_empty() && self.eat("{") {
            self.take_while(is_name);
            self.eat("}");
        }
        let op = REDIRECTS.into_iter().find(|one| self.left().starts_with(one));
        let Some(op) = op.filter(|_| !self.file_ahead()) else {
            self.at = start;
            return None;
        };
        self.at += op.len();
        self.blanks();
        Some(match op {
            "<<" | "<<-" => {
                Redirect { op: "<<", target: self.document(op == "<<-") }
            }
            _ => Redirect { op, target: self.word() },
        })
    }

    /// Reads the here-document whose delimiter comes next. Its body begins
    /// on the next line, or behind the bodies that this line began before.
    fn document(&mut self, tabs: bool) -> Word {
        let start = self.at;
        let delimiter = self.word();
        let delimiter = delimiter.text();
        let quoted = self.text[start..self.at].contains(['\'', '"', '\\']);
        let line =
            self.left().find('\n').map_or(self.text.len(), |n| self.at + n + 1);
        let from = self.resume.max(line);
        let mut end = from;
        self.resume = self.text.len();
        for line in self.text[from..].split_inclusive('\n') {
            let bare = line.strip_suffix('\n').unwrap_or(line);
            if delimiter == if tabs { bare.trim_start_matches('\t') } else { bare } {
                self.resume = end + line.len();
                break;
            }
            end += line.len();
        }
        let body = &self.text[from..end];
        if quoted {
            Word::from(body)
        } else {
            self.inner(body, |one| one.text(None))
        }
    }

    fn word(&mut self) -> Word {
        let mut word = Word::default();
        self.tilde(&mut word);
        while let Some(c) = self.peek() {
            if self.file_ahead() {
                self.at += 2;
                word.add(Part::File(self.script(")")));
                continue;
            }
            if " \t\n;&|()<>".contains(c) {
                break;
            }
            self.next();
            match c {
                '\\' if self.eat("\n") => {}
                '\\' => word.push(self.next().unwrap_or('\\')),
                '\'' => self.single(&mut word),
                '"' => self.double(&mut word),
                '$' if self.eat("'") => self.ansi(&mut word),
                '$' if self.eat("\"") => self.double(&mut word),
                '$' => self.dollar(&mut word, false),
                '`' => self.backticks(&mut word),
                '{' if self.eat("}") => word.add(Part::Text("{}".into())),
                '[' if self.keyword().is_empty() => word.push('['),
                '*' | '?' | '[' | '{' => word.add(Part::Glob(c)),
                _ => word.push(c),
            }
        }
        word
    }

    /// `~` is the home directory, `~name` somebody's.
    fn tilde(&mut self, word: &mut Word) {
        if !self.eat("~") {
            return;
        }
        word.add(match self.take_while(|c| is_name(c) || "+-.".contains(c)) {
            "" => Part::variable("HOME"),
            "+" => Part::variable("PWD"),
            "-" => Part::variable("OLDPWD"),
            name => Part::Text(format!("/home/{name}")),
        });
    }

    fn single(&mut self, word: &mut Word) {
        word.add(Part::Text(self.take_while(|c| c != '\'').into()));
        if !self.eat("'") {
            self.fail("has a quote that is never closed");
        }
    }

    fn double(&mut self, word: &mut Word) {
        let inside = self.text(Some('"'));
        inside.parts.into_iter().for_each(|part| word.add(part));
    }

    /// `$'…'`, in which `\x72` is a letter.
    fn ansi(&mut self, word: &mut Word) {
        while let Some(c) = self.next() {
            match c {
                '\'' => return,
                '\\' => word.push(self.escape()),
                _ => word.push(c),
            }
        }
        self.fail("has a quote that is never closed");
    }

    fn escape(&mut self) -> char {
        let (most, radix) = match self.peek() {
            Some('x') => (2, 16),
            Some('u') => (4, 16),
            Some('U') => (8, 16),
            Some('0'..='7') => (3, 8),
            _ => {
                return match self.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    other => other.unwrap_or('\\'),
                };
            }
        };
        self.at += usize::from(radix == 16);
        let digits =
            self.left().chars().take(most).take_while(|c| c.is_digit(radix));
        let digits: String = digits.collect();
        self.at += digits.len();
        let code = u32::from_str_radix(&digits, radix).ok();
        code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// Text in which only `\`, `$` and backticks are special, up to `end`.
    fn text(&mut self, end: Option<char>) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.next() {
            match c {
                _ if Some(c) == end => return word,
                '\\' if self.eat("\n") => {}
                '\\' if self.left().starts_with(['$', '`', '\\', '"']) => {
                    word.push(self.next().unwrap_or('\\'));
                }
                '$' => self.dollar(&mut word, true),
                '`' => self.backticks(&mut word),
                '"' if end == Some('}') => self.double(&mut word),
                _ => word.push(c),
            }
        }
        if end.is_some() {
            self.fail("has a quote that is never closed");
        }
        word
    }

    /// What follows a `$`.
    fn dollar(&mut self, word: &mut Word, quoted: bool) {
        if let Some(sum) = self.calculation() {
            return word.parts.extend(sum.parts);
        }
        if self.eat("(") {
            return word.add(Part::Output(self.script(")")));
        }
        let mut rest = Word::default();
        let name = if self.eat("{") {
            let name = self.name();
            rest = self.deeper(|reader| reader.text(Some('}')));
            name
        } else {
            self.name()
        };
        if name.is_empty() && rest.parts.is_empty() {
            return word.push('$');
        }
        word.add(Part::Variable { name: name.into(), rest, quoted });
    }

    /// A variable's name: letters, a digit or a sign. `${#x}` and `${!x}` are
    /// other values than that of `x`, so their sign belongs to the name.
    fn name(&mut self) -> &'a str {
        let start = self.at;
        let sign =
            self.peek().filter(|c| "@*#?-$!".contains(*c) || c.is_ascii_digit());
        self.at += usize::from(sign.is_some());
        if sign.is_none() || self.text[..start].ends_with('{') {
            self.take_while(is_name);
        }
        &self.text[start..self.at]
    }

    fn backticks(&mut self, word: &mut Word) {
        let mut inside = String::new();
        loop {
            match self.next() {
                None => return self.fail("has a backtick that is never closed"),
                Some('`') => break,
                Some('\\') if self.left().starts_with(['`', '\\', '$']) => {
                    inside.extend(self.next());
                }
                Some(c) => inside.push(c),
            }
        }
        word.add(Part::Output(self.inner(&inside, |one| one.script(""))));
    }

    /// `(( … ))`, in which only expansions matter. `None` if its ends do not
    /// stand together: then a shell sees groups in a group.
    fn calculation(&mut self) -> Option<Word> {
        let inside = self.left().strip_prefix("((")?;
        let mut depth = 2;
        let end = inside.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 1
        })?;
        let (sum, behind) = inside.split_at(end);
        // A quoted parenthesis does not count, so a sum with both is none.
        let unsure = sum.contains(['\'', '"', '\\']) && sum.contains(['(', ')']);
        if unsure || !behind.starts_with("))") {
            return None;
        }
        self.at += end + 4;
        let mut word = self.inner(sum, |one| one.text(None));
        // Its value is a number that nobody knows yet.
        word.add(unknown());
        Some(word)
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A part of which nobody knows the value yet.
fn unknown() -> Part {
    Part::variable("?")
}

/// A body with the head of its loop or `case` as its first command.
fn headed(words: Vec<Word>, mut body: Script) -> Script {
    let head = Command { words, ..Command::default() };
    let head = Pipeline { commands: vec![head], ..Pipeline::default() };
    body.pipelines.insert(0, head);
    body
}

/// Marks the pattern of a `case`, so that it is not taken for a command.
fn into_pattern(command: &mut Command) {
    if command.words.len() == 1 {
        command.words.insert(0, Word::from("case"));
    }
}
