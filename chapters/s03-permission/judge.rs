//! Walks through a command line, as a shell would, and keeps the worst that
//! it finds. A shell runs nothing else than a judge reads: each command of a
//! chain, what a wrapper or a second shell starts, what a substitution runs.

use crate::place::{Place, Spot};
use crate::rules::{self, Call, Level, divide, named, operands};
use crate::session::Session;
use crate::shell::{self, Command, Part, Pipeline, Script, Word};

const FROM_PIPE: &str = "runs whatever a pipe hands over";
const ONLY_SHELL_SEES: &str = "runs text that only the shell will see";
const UNKNOWN_PROGRAM: &str = "runs a program that only the shell knows";

/// How deep commands may run each other (`env nice sh -c 'eval …'`).
const MAX_DEPTH: usize = 48;
/// How many bytes may be read in all: a text in a text is read again.
const MAX_READ: usize = 1 << 18;

/// One command line under judgement.
pub struct Judge {
    worst: Option<(Level, &'static str)>,
    session: Session,
    /// The names of files that the command line downloads.
    fetched: Vec<String>,
    /// The functions that start a shell which reads its standard input.
    readers: Vec<String>,
    depth: usize,
    read: usize,
}

/// Where a program's standard input comes from.
#[derive(Clone, Copy)]
struct Input<'a> {
    /// The program's own command: its redirects may say.
    command: &'a Command,
    /// The commands in front of it in the pipeline.
    feed: &'a [Command],
}

impl Judge {
    /// The strictest verdict that any part deserves, and its reason; `None`
    /// if all of it is allowed.
    pub fn verdict(text: &str) -> Option<(Level, &'static str)> {
        let mut judge = Judge {
            worst: None,
            session: Session::new(),
            fetched: Vec::new(),
            readers: Vec::new(),
            depth: 0,
            read: 0,
        };
        judge.text(text, &[]);
        judge.worst
    }

    fn find(&mut self, level: Level, reason: &'static str) {
        if self.worst.is_none_or(|(worst, _)| worst < level) {
            self.worst = Some((level, reason));
        }
    }

    fn deeper(&mut self, judge: impl FnOnce(&mut Self)) {
        if self.depth == MAX_DEPTH || self.read > MAX_READ {
            return self.find(Level::Ask, "is too long or too deep to be judged");
        }
        self.depth += 1;
        judge(self);
        self.depth -= 1;
    }

    /// Shell text, with `feed` in front of its standard input.
    fn text(&mut self, text: &str, feed: &[Command]) {
        self.read += text.len();
        let script = shell::parse(text);
        // A shell runs a broken text up to the line that is broken.
        if let Some(flaw) = script.flaw {
            self.find(Level::Ask, flaw);
        }
        self.script(&script, feed);
    }

    fn script(&mut self, script: &Script, feed: &[Command]) {
        self.deeper(|judge| {
            script.pipelines.iter().for_each(|one| judge.pipeline(one, feed));
        });
    }

    fn pipeline(&mut self, pipeline: &Pipeline, feed: &[Command]) {
        let unsure = pipeline.chained || pipeline.commands.len() > 1;
        self.session.unsure += usize::from(unsure);
        let mark = pipeline.background.then(|| self.session.mark());
        for (at, command) in pipeline.commands.iter().enumerate() {
            let before = &pipeline.commands[..at];
            self.command(command, if at == 0 { feed } else { before });
        }
        mark.into_iter().for_each(|mark| self.session.back_to(mark));
        self.session.unsure -= usize::from(unsure);
    }

    /// What a subshell sets is forgotten at its end, and where `cd` led it.
    fn subshell(&mut self, script: &Script, feed: &[Command]) {
        let (mark, unsure) = (self.session.mark(), self.session.unsure);
        self.session.unsure = 0;
        self.script(script, feed);
        self.session.unsure = unsure;
        self.session.back_to(mark);
    }

    fn command(&mut self, command: &Command, feed: &[Command]) {
        for script in command.every_word().flat_map(Word::scripts) {
            self.subshell(script, feed);
        }
        if let Some(body) = &command.body {
            self.body(body, command, feed);
        }
        for target in command.redirects.iter().filter_map(|one| one.written()) {
            self.write(&self.session.value(target));
        }
        let words = command.words.iter().flat_map(|word| self.session.expand(word));
        let (words, input) = (words.collect::<Vec<_>>(), Input { command, feed });
        self.run(&words, input);
        // In front of a command, an assignment holds only for that command.
        for (name, value) in &command.assignments {
            self.setting(name, value, input);
            if command.words.is_empty() {
                self.session.set(name, value);
            }
        }
    }

    fn body(&mut self, body: &Script, command: &Command, feed: &[Command]) {
        if let Some(name) = &command.function {
            if is_bomb(name, body) {
                self.find(Level::Deny, "is a fork bomb");
            }
            if body.commands().into_iter().any(reads_program) {
                self.readers.push(name.clone());
            }
        }
        // `done < file` feeds what stands inside.
        let redirects = command.redirects.clone();
        let input = [Command { redirects, ..Command::default() }];
        let fed = command.redirects.iter().any(|one| one.op.starts_with('<'));
        let feed = if fed { &input } else { feed };
        let unsure = command.branches || command.function.is_some();
        self.session.unsure += usize::from(unsure);
        match command.subshell {
            true => self.subshell(body, feed),
            false => self.script(body, feed),
        }
        self.session.unsure -= usize::from(unsure);
    }

    /// A variable that names a program which somebody starts later.
    fn setting(&mut self, name: &str, value: &Word, input: Input) {
        if !named(name, rules::SETTINGS) || value.parts.is_empty() {
            return;
        }
        let text = value.text();
        let first = text.split_whitespace().next().unwrap_or_default();
        match named(base(first), rules::HELPERS) {
            true => self.code(value, input),
            false => self.find(Level::Ask, "sets what other programs start"),
        }
    }

    fn write(&mut self, target: &Word) {
        // `>(…)` is no file but a command, judged on its own.
        if let [Part::File(_)] = target.parts[..] {
            return;
        }
        let (level, reason) = match self.session.place(target) {
            Place::Inside => return,
            Place::Unknown => {
                (Level::Ask, "writes to a file that only the shell knows")
            }
            Place::RunsLater => (Level::Ask, rules::RUNS_LATER),
            Place::Device => {
                (Level::Deny, "writes straight to a disk or the kernel")
            }
            _ => (Level::Ask, "writes outside the workspace"),
        };
        self.find(level, reason);
    }

    /// A program with its arguments, and whatever it starts in its turn.
    fn run(&mut self, words: &[Word], input: Input) {
        let Some((first, args)) = words.split_first() else { return };
        self.deeper(|judge| match program(first) {
            Some(name) => judge.program(first, &name, args, input),
            None => {
                judge.find(Level::Ask, UNKNOWN_PROGRAM);
                // A variable that is empty makes way for the next word.
                judge.run(args, input);
            }
        });
    }

    fn program(&mut self, first: &Word, name: &str, args: &[Word], input: Input) {
        if let [only] = args
            && ["--help", "--version"].contains(&&*only.text())
        {
            return;
        }
        if first.text().contains('/') && self.fetched.iter().any(|one| one == name) {
            self.find(Level::Ask, rules::NETWORK);
        }
        if !input.feed.is_empty() && self.readers.iter().any(|one| one == name) {
            let feed = input.feed.iter().flat_map(Command::all).collect::<Vec<_>>();
            self.printed_by(&feed, FROM_PIPE);
        }
        self.rules(name, args, input);
        if named(name, rules::ENV) {
            return self.env(args, input);
        }
        let first_two = args.first().map(|one| format!("{name} {}", one.text()));
        for name in [Some(name), first_two.as_deref()].into_iter().flatten() {
            if let Some((valued, skip)) = rules::row(rules::WRAPPERS, name) {
                return self.wrapper(name, divide(args, valued, skip), input);
            }
        }
        if let Some((valued, skip)) = rules::row(rules::EVALS, name) {
            return self.code(&Word::joined(divide(args, valued, skip).1), input);
        }
        if named(name, rules::SHELLS) {
            return self.shell(args, input);
        }
        self.builtin(name, args, input);
        if let Some(flags) = rules::row(rules::INTERPRETERS, name) {
            self.interpreter(args, flags, input);
        }
        if named(name, rules::DOWNLOADERS) {
            let files = input.command.redirects.iter().map(|one| &one.target);
            let names =
                args.iter().chain(files).map(|one| base(&one.text()).to_string());
            self.fetched.extend(names);
        }
    }

    /// What changes the shell itself, and `find`.
    fn builtin(&mut self, name: &str, args: &[Word], input: Input) {
        match name {
            "." | "source" if !args.is_empty() => self.file(&args[0], true, input),
            "cd" | "pushd" => self.session.change_folder(args),
            "popd" => self.session.folder = Spot::unknown(),
            "for" | "select" => self.session.bind(args),
            "find" | "gfind" | "fd" | "fdfind" => self.searcher(args, input),
            "declare" | "export" | "local" | "readonly" | "typeset" => {
                self.session.declare(args);
                self.settings(args, input);
            }
            "printf" => {
                let names = rules::values(args, "v", "");
                names.iter().for_each(|one| self.session.forget(&one.text()));
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let" => {
                for word in args {
                    let text = word.text();
                    let name = text.split(['=', '[', '+']).next();
                    self.session.forget(name.unwrap_or_default());
                }
            }
            _ => {}
        }
    }

    /// The words `NAME=VALUE`.
    fn settings(&mut self, words: &[Word], input: Input) {
        for word in words {
            let text = word.text();
            let name = text.split('=').next().unwrap_or_default();
            let value = word.strip(name).and_then(|rest| rest.strip("="));
            value.iter().for_each(|value| self.setting(name, value, input));
        }
    }

    fn rules(&mut self, name: &str, args: &[Word], input: Input) {
        let dashed = rules::dashed(name, args);
        let (mut name, mut args) = (name.to_string(), &dashed[..]);
        if let Some(valued) = rules::row(rules::FAMILIES, &name) {
            let (options, rest) = divide(args, valued, 0);
            let runs = |one: &Word| rules::runs_programs(&one.text());
            if name == "git" && options.iter().any(runs) {
                self.find(Level::Ask, "changes what git runs");
            }
            let Some((subcommand, rest)) = rest.split_first() else { return };
            (name, args) = (format!("{name} {}", subcommand.text()), rest);
        }
        let folder = self.session.folder.clone();
        let call = Call { args, folder: &folder };
        for (programs, when, level, reason) in rules::RULES {
            if named(&name, programs) && when(&call) {
                self.find(*level, reason);
            }
        }
        for (programs, when, target) in rules::CODE {
            if named(&name, programs) && when(&call) {
                let texts = call.written(target);
                texts.iter().for_each(|text| self.code(text, input));
            }
        }
        for (programs, when, target) in rules::WRITERS {
            if named(&name, programs) && when(&call) {
                call.written(target).iter().for_each(|word| self.write(word));
            }
        }
    }
}

/// What starts other programs.
impl Judge {
    fn wrapper(&mut self, name: &str, args: (&[Word], &[Word]), input: Input) {
        let (options, command) = args;
        let has = |text: &str| options.iter().any(|one| one.text() == text);
        match name {
            // `command -v sudo` only asks where it is.
            "command" if has("-v") || has("-V") => {}
            _ if named(name, rules::XARGS) && !command.is_empty() => {
                let words = self.with_arrivals(options, command, input.feed);
                self.run_filled(&words, input);
            }
            _ => self.run(command, input),
        }
    }

    /// `env -i -C folder NAME=value command`, with clusters such as `-iS`.
    fn env(&mut self, args: &[Word], input: Input) {
        let (mut rest, folder) = (args, self.session.folder.clone());
        while let [first, tail @ ..] = rest
            && first.text().starts_with('-')
        {
            let (letter, value) = rules::env_option(first);
            let next = usize::from(letter.is_some() && value.is_none());
            let value = value.or(tail.first().cloned()).unwrap_or_default();
            rest = tail.get(next..).unwrap_or_default();
            match letter {
                Some('S') => {
                    let again = [&[Word::from("env"), value], rest].concat();
                    self.code(&Word::joined(&again), input);
                    rest = &[];
                }
                Some('C') => self.session.change_folder(&[value]),
                _ => {}
            }
        }
        let set = |one: &&Word| one.text().contains('=');
        let (set, command) = rest.split_at(rest.iter().take_while(set).count());
        self.settings(set, input);
        self.run(command, input);
        self.session.folder = folder;
    }

    /// The command of `xargs` with what will arrive: a name that stands in
    /// front of the pipe, or else something unknown.
    fn with_arrivals(
        &self,
        options: &[Word],
        command: &[Word],
        feed: &[Command],
    ) -> Vec<Word> {
        let printer = feed.last().filter(|one| names(one, rules::PRINTERS));
        let printed = printer.map_or(&[][..], |one| &one.words[1..]);
        let worst = operands(printed).max_by_key(|one| self.session.place(one));
        let finder = printer.filter(|one| names(one, &["find", "ls"]));
        let arrival = match worst {
            Some(folder) if finder.is_some() => below(folder),
            Some(word) => word.clone(),
            None => Word::from_iter([Part::variable("@")]),
        };
        let marks = rules::values(options, "I", "replace");
        let mark = marks.first().map(Word::text).filter(|one| !one.is_empty());
        let mark = mark.unwrap_or("{}".into());
        let fill = |one: &Word| one.replaced(&mark, &arrival);
        let mut words: Vec<_> = command.iter().map(fill).collect();
        if words == command {
            words.push(arrival);
        }
        words
    }

    /// Words that were filled in may have grown, and may be filled in again.
    fn run_filled(&mut self, words: &[Word], input: Input) {
        self.read += words.iter().map(|one| one.text().len()).sum::<usize>();
        self.run(words, input);
    }

    /// `find` deletes and runs commands on its own.
    fn searcher(&mut self, args: &[Word], input: Input) {
        let args = rules::behind_modes(args);
        let path = |one: &&Word| !one.text().starts_with(['-', '(', '!']);
        let paths = args.iter().take_while(path);
        let worst = paths.max_by_key(|one| self.session.place(one)).cloned();
        let worst = worst.unwrap_or(Word::from("."));
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            match &*word.text() {
                "-delete" => self.run(&[Word::from("rm"), worst.clone()], input),
                text if rules::FIND_TESTS.contains(&text) => {
                    rest.next();
                }
                text if text.starts_with("-fprint") || text == "-fls" => {
                    rest.next().iter().for_each(|file| self.write(file));
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec"
                | "--exec-batch" => {
                    let command = rest.by_ref().take_while(|one| one.text() != ";");
                    let command =
                        command.map(|one| one.replaced("{}", &below(&worst)));
                    self.run_filled(&command.collect::<Vec<_>>(), input);
                }
                _ => {}
            }
        }
    }

    fn shell(&mut self, args: &[Word], input: Input) {
        let (letters, rest) = rules::shell_options(args);
        // `bash -n` only reads.
        if letters.contains('n') && !letters.contains(['i', '+']) {
            return;
        }
        match rest.first() {
            Some(code) if letters.contains('c') => self.code(code, input),
            Some(file) if !letters.contains('s') => self.file(file, true, input),
            _ => self.standard_input(true, input),
        }
    }

    fn interpreter(&mut self, args: &[Word], flags: &[&str], input: Input) {
        let coded = |word: &Word| {
            let text = word.text();
            let short = text.starts_with('-') && !text.starts_with("--");
            let ends = |flag: &&str| short && text.ends_with(&flag[1..]);
            flags.iter().any(|flag| text.starts_with(flag) || ends(flag))
        };
        let at = args.iter().position(coded);
        let (front, code) = args.split_at(at.unwrap_or(args.len()));
        let file = |one: &&Word| one.text() == "-" || !one.text().starts_with('-');
        match front.iter().find(file) {
            Some(file) => self.file(file, false, input),
            None if code.is_empty() => self.standard_input(false, input),
            None => {}
        }
        // The code is the end of this word, or the next word.
        let [word, next @ ..] = code else { return };
        let end = flags.iter().find_map(|flag| word.strip(flag));
        end.iter().chain(next.first()).for_each(|code| self.foreign(code));
    }
}

/// What becomes code, and where it comes from.
impl Judge {
    /// Shell text in a word.
    fn code(&mut self, text: &Word, input: Input) {
        self.substituted(text);
        self.text(&text.text(), input.feed);
    }

    /// Code in another language: we know only some of its words.
    fn foreign(&mut self, code: &Word) {
        self.substituted(code);
        if let [Part::Variable { .. }] = code.parts[..] {
            self.find(Level::Ask, ONLY_SHELL_SEES);
        }
        let text = code.text().replace("platform.system()", "");
        let strong = rules::STRONG_TEXTS.iter().any(|one| text.contains(one));
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        if strong || words.any(|one| rules::STRONG_WORDS.contains(&one)) {
            self.find(Level::Ask, "runs code that deletes files or starts programs");
        }
    }

    /// A file that is run: harmless, unless its content just came in.
    fn file(&mut self, file: &Word, shell: bool, input: Input) {
        let text = file.text();
        if ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(&&*text) {
            self.standard_input(shell, input);
        }
        if file.parts == [Part::variable("@")] {
            self.find(Level::Ask, UNKNOWN_PROGRAM);
        }
        if self.fetched.iter().any(|name| name == base(&text)) {
            self.find(Level::Ask, rules::NETWORK);
        }
        self.substituted(file);
    }

    /// A program text that comes in through standard input.
    fn standard_input(&mut self, shell: bool, input: Input) {
        let inputs = || {
            let all = input.command.redirects.iter();
            all.filter(|one| one.op.starts_with('<'))
        };
        for redirect in inputs() {
            self.substituted(&redirect.target);
            self.document(redirect.document(), shell);
        }
        if inputs().next().is_some() || input.feed.is_empty() {
            return;
        }
        let feed: Vec<_> = input.feed.iter().flat_map(Command::all).collect();
        self.printed_by(&feed, FROM_PIPE);
        for command in feed {
            if names(command, rules::PRINTERS) {
                self.document(Some(&Word::joined(&command.words[1..])), shell);
            }
            for redirect in &command.redirects {
                self.document(redirect.document(), shell);
            }
        }
    }

    /// A text that is there to read before somebody runs it.
    fn document(&mut self, text: Option<&Word>, shell: bool) {
        match text.map(|text| self.session.value(text)) {
            Some(text) if shell => self.text(&text.text(), &[]),
            Some(text) => self.foreign(&text),
            None => {}
        }
    }

    /// What a substitution prints is about to run as code.
    fn substituted(&mut self, code: &Word) {
        let scripts = code.scripts();
        if !scripts.is_empty() {
            let all: Vec<_> =
                scripts.into_iter().flat_map(Script::commands).collect();
            self.printed_by(&all, ONLY_SHELL_SEES);
        }
    }

    /// Judges code that nobody sees by the commands that print it.
    fn printed_by(&mut self, commands: &[&Command], reason: &'static str) {
        if commands.iter().any(|one| names(one, rules::DECODERS)) {
            self.find(Level::Deny, "runs hidden text");
        } else if commands.iter().any(|one| names(one, rules::DOWNLOADERS)) {
            self.find(Level::Ask, rules::NETWORK);
        } else {
            self.find(Level::Ask, reason);
        }
    }
}

/// What is found below a folder: some name that only `find` knows.
fn below(folder: &Word) -> Word {
    let tail = [Part::Text("/".into()), Part::Glob('*')];
    folder.parts.iter().chain(&tail).cloned().collect()
}

/// Whether a shell or the like takes its program from the standard input.
fn reads_program(command: &Command) -> bool {
    let interpreters =
        rules::INTERPRETERS.iter().any(|(list, _)| names(command, list));
    let mut args = command.words.iter().skip(1);
    let from_input = |one: &Word| ["-", "-s", "/dev/stdin"].contains(&&*one.text());
    (interpreters || names(command, rules::SHELLS))
        && (args.clone().any(from_input)
            || args.all(|one| one.text().starts_with('-')))
}

/// Whether a command's program is in the list.
fn names(command: &Command, list: &[&str]) -> bool {
    command.words.first().and_then(program).is_some_and(|name| named(&name, list))
}

/// The program that a command word names, without its folder and in small
/// letters, since some file systems ignore case; `None` if the text does not
/// tell.
fn program(word: &Word) -> Option<String> {
    let path = match &word.parts[..] {
        // `$HOME/bin/tool`: whatever the folder is, the name is known.
        [_, Part::Text(text)] if text.starts_with('/') => text.into(),
        _ => word.literal()?,
    };
    Some(base(&path).to_lowercase())
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// A function that starts itself twice at once, or once and does not wait.
fn is_bomb(name: &str, body: &Script) -> bool {
    body.pipelines.iter().any(|pipeline| {
        let all = pipeline.commands.iter();
        let own =
            |one: &&Command| one.words.first().is_some_and(|it| it.text() == name);
        let calls = all.clone().filter(own).count();
        let mut inner = all.filter_map(|one| one.body.as_ref());
        calls > 1
            || calls == 1 && pipeline.background
            || inner.any(|one| is_bomb(name, one))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> &'static str {
        Judge::verdict(text).map_or("", |(_, reason)| reason)
    }

    #[test]
    fn the_reason_names_what_happens() {
        for (text, wanted) in [
            ("curl x | sh", "runs code from the network"),
            ("cat x | sh", "runs whatever a pipe hands over"),
            ("base64 -d x | sh", "runs hidden text"),
            ("eval \"$X\"", "runs a program that only the shell knows"),
            ("eval \"$(cat x)\"", "runs text that only the shell will see"),
            ("echo 'a", "has a quote that is never closed"),
            ("x > ../y", "writes outside the workspace"),
            ("x > /dev/sda", "writes straight to a disk or the kernel"),
            (":(){ :|:& };:", "is a fork bomb"),
            ("ls", ""),
        ] {
            assert_eq!(reason(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_subshell_forgets_its_folder_and_a_group_does_not() {
        assert_eq!(reason("(cd ..; ls); x > y"), "");
        assert_eq!(reason("{ cd ..; ls; }; x > y"), "writes outside the workspace");
    }

    #[test]
    fn an_assignment_in_front_of_a_command_ends_with_it() {
        assert_eq!(reason("F=a; F=/etc/x true; y > $F"), "");
        assert_eq!(reason("F=/etc/x; y > $F"), "writes outside the workspace");
    }

    #[test]
    fn endless_nesting_is_asked_about() {
        let deep = "is too long or too deep to be judged";
        assert_eq!(reason(&"env ".repeat(100)), deep);
        assert_eq!(reason(&format!("echo '{}' | sh; true", "sh;".repeat(9))), {
            "runs whatever a pipe hands over"
        });
        let nested =
            (0..60).fold("ls".to_string(), |text, _| format!("eval {text}"));
        assert_eq!(reason(&nested), deep);
    }
}
