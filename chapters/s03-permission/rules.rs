//! What the gate knows about programs, as tables. A new rule is a new row; how
//! a command line is taken apart stands elsewhere.

use std::borrow::Cow;

use crate::place::{Place, Spot};
use crate::shell::Word;
use Level::{Ask, Deny};
use Place::{Device, System};
use Target::{All, Behind, Command, Last, Rest, Value};

/// How bad it is: the user may allow it, or nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Ask,
    Deny,
}

/// Names of programs, or of options; `*` stands for any end.
type Names = &'static [&'static str];
type When = fn(&Call) -> bool;

pub const NETWORK: &str = "runs code from the network";
pub const RUNS_LATER: &str = "changes a file that runs later";
const WIPES: &str = "removes the root, a home or a system directory";
const STARTS: &str = "runs code that starts programs";
const GIT_RUNS: &str = "changes what git runs";
const DESTROYS: &str = "destroys a disk";
const DISCARDS: &str = "discards uncommitted work";

/// Programs, a condition, the verdict, and a reason that completes "This …".
/// The programs of [`FAMILIES`] are named with their subcommand.
#[rustfmt::skip] // A table is read by its columns.
pub const RULES: &[(Names, When, Level, &str)] = &[
    (ROOT, always, Deny, "takes the rights of another user"),
    (POWER, always, Deny, "turns the machine off"),
    (&["init", "telinit"], |c| c.says(&["0", "6"]), Deny, "turns the machine off"),
    (DELETE, |c| c.touches(System), Deny, WIPES),
    (DELETE, |c| c.touches(Device), Deny, DESTROYS),
    (DELETE, always, Ask, "deletes or empties files"),
    (&["mv"], |c| c.takes(System), Deny, WIPES),
    (&["rsync"], |c| mirrors(c) && c.touches(System), Deny, WIPES),
    (&["rsync"], mirrors, Ask, "deletes files"),
    (FORMAT, |c| !looks(c) && c.touches(Device), Deny, DESTROYS),
    (FORMAT, |c| !looks(c), Ask, "makes or changes a file system"),
    (&["zpool destroy"], always, Deny, DESTROYS),
    (&["badblocks"], |c| c.flag("w", &[]) && c.touches(Device), Deny, DESTROYS),
    (&["hdparm"], |c| c.mentions(&["--security-erase", "--trim-sector"]), Deny,
        DESTROYS),
    (&["mdadm"], |c| c.flag("", &["zero-superblock"]), Deny, DESTROYS),
    (&["systemctl isolate", "systemctl start"], |c| c.has(TARGETS), Deny,
        "turns the machine off"),
    (RIGHTS, |c| c.flag("R", &["recursive"]) && c.touches(System), Deny,
        "changes the rights of the root, a home or a system directory"),
    (&["chmod"], world_writable, Ask, "lets every user change a file"),
    (&["crontab"], |c| !c.flag("l", &[]), Ask, "changes what runs later"),
    (&["at", "batch"], |c| !c.flag("lq", &[]), Ask, "runs a command later"),
    (AWK, |c| c.texts().any(|one| awk_starts(&one)), Ask, STARTS),
    (SED, |c| values(c.args, "e", "expression").iter().chain(c.operands())
        .any(|one| sed_starts(&one.text())), Ask, STARTS),
    (&["gmake", "make"], |c| c.flag("f", &["file"])
        && c.has(&["-", "-f-", "/dev/stdin", "--file=-"]), Ask, STARTS),
    (&["nc", "ncat", "netcat"], |c| c.flag("ec", &["exec", "sh-exec"]), Ask, STARTS),
    (&["socat"], |c| c.mentions(&["EXEC:", "exec:", "SYSTEM:", "system:"]), Ask,
        STARTS),
    (&["rsync", "scp", "sftp", "ssh"], |c| c.mentions(SSH_COMMANDS), Ask, STARTS),
    (EDITORS, |c| c.texts().any(|one| one.contains('!')), Ask, STARTS),
    (TAR, |c| c.flag("", &["to-command", "checkpoint-action"]), Ask, STARTS),
    (&["bun", "deno", "npx"], |c| c.texts().any(|one| one.starts_with("http")), Ask,
        NETWORK),
    (&["declare", "local", "typeset"], |c| c.flag("n", &[]), Ask,
        "gives a variable a second name"),
    (&["git push", "git send-pack"], forces, Ask, "rewrites shared history"),
    (&["git clone", "git init"], |c| c.flag("", &["template"]), Ask, GIT_RUNS),
    (&["git clone"], |c| values(c.args, "c", "config").iter()
        .any(|one| runs_programs(&one.text())), Ask, GIT_RUNS),
    (&["git grep"], |c| c.flag("O", &["open-files-in-pager"]), Ask, GIT_RUNS),
    (&["git clone", "git fetch", "git ls-remote", "git pull", "git push",
        "git remote", "git submodule"], |c| c.mentions(&["ext::"]), Ask, GIT_RUNS),
    (&["git filter-branch", "git filter-repo"], always, Ask, "rewrites history"),
    (&["git reset"], |c| c.flag("", &["hard"]), Ask, DISCARDS),
    (&["git checkout"], |c| c.flag("f", &["force"]) || c.has(&["--", "."]), Ask,
        DISCARDS),
    (&["git switch"], |c| c.flag("fC", &["force", "discard-changes"]), Ask,
        DISCARDS),
    (&["git restore"], |c| !c.flag("S", &["staged"]) || c.flag("W", &["worktree"]),
        Ask, DISCARDS),
    (&["git stash"], |c| c.says(&["drop", "clear"]), Ask, DISCARDS),
    (&["git clean"], |c| !c.flag("n", &["dry-run"]), Ask, "deletes untracked files"),
    (&["git rm"], |c| c.flag("rf", &["force"]) && !c.flag("", &["cached"]), Ask,
        "deletes files"),
    (&["git worktree"], |c| c.says(&["remove"]), Ask, "deletes files"),
    (&["git branch"], |c| c.flag("Df", &["force"]), Ask, "drops commits"),
    (&["git reflog"], |c| c.says(&["expire", "delete"]), Ask, "drops commits"),
    (&["git gc"], |c| c.flag("", &["prune"]), Ask, "drops commits"),
    (&["git update-ref"], |c| c.flag("d", &[]), Ask, "drops commits"),
    (&["git config"], configures, Ask, "changes what git runs, or git everywhere"),
];

#[rustfmt::skip]
const ROOT: Names = &[
    "doas", "dzdo", "gksu", "gksudo", "gosu", "kdesu", "kdesudo", "machinectl",
    "newgrp", "pfexec", "pkexec", "run0", "runuser", "setpriv", "sg", "su",
    "su-exec", "sudo", "sudo-rs", "sudoedit",
];
#[rustfmt::skip]
const POWER: Names = &[
    "halt", "kexec", "poweroff", "reboot", "shutdown", "loginctl halt",
    "loginctl poweroff", "loginctl reboot", "systemctl emergency", "systemctl halt",
    "systemctl hibernate", "systemctl kexec", "systemctl poweroff",
    "systemctl reboot", "systemctl rescue", "systemctl soft-reboot",
    "systemctl suspend",
];
#[rustfmt::skip]
const TARGETS: Names = &[
    "emergency.target", "halt.target", "kexec.target", "poweroff.target",
    "reboot.target", "rescue.target", "runlevel0.target", "runlevel6.target",
    "shutdown.target",
];
const DELETE: Names = &["rm", "shred", "srm", "truncate", "unlink"];
#[rustfmt::skip]
const FORMAT: Names = &[
    "blkdiscard", "cfdisk", "cryptsetup", "diskutil", "fdisk", "gdisk", "lvremove",
    "mkdosfs", "mke2fs", "mkexfatfs", "mkfs", "mkfs.btrfs", "mkfs.exfat",
    "mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "mkfs.f2fs", "mkfs.fat", "mkfs.minix",
    "mkfs.msdos", "mkfs.ntfs", "mkfs.vfat", "mkfs.xfs", "mkntfs", "mkswap",
    "newfs*", "parted", "pvcreate", "pvremove", "sfdisk", "sgdisk", "vgremove",
    "wipefs",
];
const RIGHTS: Names = &["chattr", "chgrp", "chmod", "chown", "setfacl"];
const AWK: Names = &["awk", "gawk", "mawk", "nawk"];
const SED: Names = &["gsed", "sed"];
const SSH_COMMANDS: Names =
    &["LocalCommand", "ProxyCommand", "localcommand", "proxycommand"];
const TAR: Names = &["bsdtar", "tar"];
const EDITORS: Names = &["ed", "ex", "nvim", "vi", "vim"];
const COMPILERS: Names = &["c++", "cc", "clang*", "g++", "gcc", "rustc"];

fn always(_: &Call) -> bool {
    true
}

/// `--delete`, `--del`, `--delete-after` ….
fn mirrors(call: &Call) -> bool {
    call.texts().any(|one| one.starts_with("--del"))
}

/// Disk tools only look with `-l`, `print` and the like.
fn looks(call: &Call) -> bool {
    call.flag("l", &["list"]) || call.has(&["print", "list", "info"])
}

/// `777`, `0666`, `o+w`, `a=rwx` ….
fn world_writable(call: &Call) -> bool {
    let Some(mode) = call.operands().next().map(Word::text) else { return false };
    let others = |one: &str| {
        let (who, rights) = one.split_once(['+', '=']).unwrap_or_default();
        who.contains(['o', 'a']) && rights.contains('w')
    };
    let octal = mode.chars().all(|c| c.is_digit(8));
    octal && mode.ends_with(['2', '3', '6', '7']) || mode.split(',').any(others)
}

/// `--force` in its spellings, `+branch`, and what deletes: `-d`, `:branch`.
fn forces(call: &Call) -> bool {
    let long = ["force", "force-with-lease", "delete", "mirror", "prune"];
    let marked = |one: &Word| one.text().starts_with(['+', ':']);
    call.flag("fd", &long) || call.operands().any(marked)
}

/// `system("ls")`, `print | "sh"`, `"ls" | getline`, `print > "/etc/x"`.
fn awk_starts(text: &str) -> bool {
    let text = text.replace([' ', '\t'], "").replace("||", "");
    let signs = ["system(", "|\"", "|&\"", "|getline", ">\"/", ">\".."];
    signs.iter().any(|one| text.contains(one))
}

/// `1e ls` or `s/x/ls/e` in a script of `sed`.
fn sed_starts(script: &str) -> bool {
    let pieces = script.split([';', '\n', '{', '}']).chain([script]);
    pieces.map(behind_address).any(|one| {
        let mut letters = one.chars();
        match (letters.next(), letters.next()) {
            (Some('e'), behind) => behind.is_none_or(|c| c == ' '),
            (Some('s'), Some(mark)) if mark.is_ascii_punctuation() => {
                let flags = one.rsplit(mark).next().unwrap_or_default();
                let known = |c: char| c.is_ascii_digit() || "egiImMp".contains(c);
                one.matches(mark).count() > 2
                    && flags.contains('e')
                    && flags.trim().chars().all(known)
            }
            _ => false,
        }
    })
}

/// What follows `1,$`, `/x/` and the like.
fn behind_address(command: &str) -> &str {
    let sign = |c: char| c.is_ascii_digit() || " \t,$!~+".contains(c);
    let mut left = command.trim_start_matches(sign);
    while let Some((_, behind)) =
        left.strip_prefix('/').and_then(|one| one.split_once('/'))
    {
        left = behind.trim_start_matches(sign);
    }
    left
}

/// Sets (and does not only read) what git runs, or more than this repository.
fn configures(call: &Call) -> bool {
    let reads = call.flag("l", &["get", "get-all", "get-regexp", "list"]);
    let wide = call.flag("ef", &["global", "system", "file", "edit"]);
    let keys = || call.operands().filter(|one| one.text() != "set");
    let sets = keys().count() > 1 || call.flag("e", &["edit", "unset"]);
    let reading = ["diff", "log", "show", "status"];
    let mut words = keys().map(Word::text);
    // An alias for a git command that only reads is no program.
    let alias = words.next().is_some_and(|one| one.starts_with("alias."));
    let plain = words.next().is_some_and(|one| {
        reading.contains(&one.split(' ').next().unwrap_or_default())
    });
    let harmless = alias && plain;
    sets && !reads
        && (wide || !harmless && keys().any(|one| runs_programs(&one.text())))
}

/// Whether git runs the value of this setting (`NAME` or `NAME=VALUE`).
pub fn runs_programs(setting: &str) -> bool {
    // `--config-env=NAME=VARIABLE` names a setting, too.
    let setting = setting.strip_prefix("--config-env=").unwrap_or(setting);
    let name = setting.split('=').next().unwrap_or_default().to_lowercase();
    if setting.starts_with("--exec-path=")
        || name.starts_with("remote.") && setting.contains("=+")
    {
        return true;
    }
    let sections = ["alias.", "credential.", "filter.", "include", "pager."];
    #[rustfmt::skip]
    let ends = [
        "askpass", "cmd", "command", "driver", "editor", "external", "fsmonitor",
        "gitproxy", "hookspath", "pager", "program", "receivepack", "templatedir",
        "textconv", "uploadpack",
    ];
    let section = sections.iter().any(|one| name.starts_with(one));
    section || name.contains('.') && ends.iter().any(|one| name.ends_with(one))
}

/// Which words of a command name the files that it writes.
pub enum Target {
    /// Every operand.
    All,
    /// The last operand, if there is another one in front.
    Last,
    /// All operands but the first, which is a mode or a script.
    Rest,
    /// The value of an option: its letter and its long name.
    Value(&'static str, &'static str),
    /// What follows this text.
    Behind(&'static str),
    /// All that stands behind the first operand, in one.
    Command,
}

/// Words that are shell text, though the program is no shell.
pub const CODE: &[(Names, When, Target)] = &[
    (&["flock", "script"], always, Value("c", "command")),
    (&["npx"], always, Value("c", "call")),
    (&["git submodule"], |c| c.says(&["foreach"]), Command),
    (&["git bisect"], |c| c.says(&["run"]), Command),
    (&["git rebase"], always, Value("x", "exec")),
    (&["git difftool"], always, Value("x", "extcmd")),
    (&["git clone", "git fetch", "git pull"], always, Value("u", "upload-pack")),
    (&["git push"], always, Value("", "receive-pack")),
    (&["rsync"], always, Value("e", "rsh")),
    (TAR, always, Value("I", "use-compress-program")),
];

/// Variables that name a program which others start, and programs that may
/// stand there.
#[rustfmt::skip]
pub const SETTINGS: Names = &[
    "BASH_ENV", "DYLD_INSERT_LIBRARIES", "EDITOR", "GIT_ASKPASS",
    "GIT_CONFIG_KEY*", "GIT_CONFIG_PARAMETERS", "GIT_EDITOR", "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR",
    "GIT_SSH", "GIT_SSH_COMMAND", "GIT_TEMPLATE_DIR", "LD_AUDIT", "LD_PRELOAD",
    "LESSCLOSE", "LESSOPEN", "MANPAGER", "PAGER", "PERL5OPT", "PROMPT_COMMAND",
    "PYTHONSTARTUP", "RUBYOPT", "SSH_ASKPASS", "VISUAL",
];
#[rustfmt::skip]
pub const HELPERS: Names = &[
    "", ":", "bat", "cat", "code", "delta", "echo", "emacs", "false", "less", "more",
    "nano", "nvim", "sed", "ssh", "true", "vi", "vim",
];

/// Programs that write files, when they do, and which files.
#[rustfmt::skip]
pub const WRITERS: &[(Names, When, Target)] = &[
    (&["mkdir", "mkfifo", "mv", "rmdir", "tee", "touch"], always, All),
    (&["cp", "install", "ln", "rsync", "scp"], always, Last),
    (&["cp", "install", "ln", "mv"], always, Value("t", "target-directory")),
    (RIGHTS, always, Rest),
    (&["git clone"], always, Last),
    (&["git worktree"], |c| c.says(&["add"]), Rest),
    (SED, |c| c.flag("i", &["in-place"]), Rest),
    (&["perl", "ruby"], |c| c.flag("i", &[]), All),
    (&["dc3dd", "dcfldd", "dd"], always, Behind("of=")),
    (&["ddrescue"], always, Rest),
    (&["qemu-img", "split"], always, Last),
    (&["7z", "7za", "7zr"], always, Value("o", "")),
    (&["git archive", "gpg", "gpg2"], always, Value("o", "output")),
    (&["git init"], always, All),
    (&["go build", "go test"], always, Value("o", "")),
    (&["openssl"], always, Value("out", "out")),
    (&["patch"], always, Value("d", "directory")),
    (&["pip install", "pip3 install"], always, Value("t", "target")),
    (TAR, |c| c.flag("cru", &["append", "create", "update"]), Value("f", "file")),
    (COMPILERS, always, Value("o", "output")),
    (&["curl", "sort"], always, Value("o", "output")),
    (&["wget"], always, Value("O", "output-document")),
    (&["wget"], always, Value("P", "directory-prefix")),
    (&["unzip"], always, Value("d", "")),
    (TAR, |c| c.flag("x", &["extract"]), Value("C", "directory")),
];

/// Programs that run the command behind them: their options that take a
/// value, and how many operands stand in front of that command.
#[rustfmt::skip]
pub const WRAPPERS: &[(Names, (Names, usize))] = &[
    (&["builtin", "busybox", "command", "fakeroot", "nohup", "rlwrap", "setsid",
        "toybox", "unbuffer", "unshare", "valgrind"], (&[], 0)),
    (&["aarch64", "arch", "arm64", "i386", "i686", "linux32", "linux64", "setarch",
        "x86_64"], (&[], 0)),
    (&["bundle exec", "npm exec", "pipenv run", "pnpm exec", "poetry run", "uv run"],
        (&["--with"], 1)),
    (&["caffeinate"], (&["-t", "-w"], 0)),
    (&["choom"], (&["-n", "--adjust"], 0)),
    (&["chroot", "flock"], (&["-E", "-w", "--timeout"], 1)),
    (&["chrt", "taskset"], (&[], 1)),
    (&["exec"], (&["-a"], 0)),
    (&["gtimeout", "timeout"], (&["-k", "-s", "--kill-after", "--signal"], 1)),
    (&["ionice"], (&["-c", "-n", "--class", "--classdata"], 0)),
    (&["ltrace", "strace"], (&["-e", "-o", "-p", "-s", "-u"], 0)),
    (&["nice"], (&["-n", "--adjustment"], 0)),
    (&["nsenter"], (&["-S", "-G", "-t", "--target"], 0)),
    (&["prlimit"], (&["-o", "-p", "--output", "--pid"], 0)),
    (&["script"], (&["-B", "-E", "-I", "-O", "-T", "-c", "-m", "-o"], 1)),
    (&["stdbuf"], (&["-e", "-i", "-o", "--error", "--input", "--output"], 0)),
    (&["systemd-inhibit"], (&["--mode", "--what", "--who", "--why"], 0)),
    (&["systemd-run"], (&["-p", "-u"], 0)),
    (&["time"], (&["-f", "-o", "--format", "--output"], 0)),
    (XARGS, (&["-E", "-I", "-L", "-P", "-a", "-d", "-j", "-n", "-s", "--arg-file",
        "--delimiter", "--max-args", "--max-procs"], 0)),
];
/// The wrapper that sets variables first.
pub const ENV: Names = &["env", "genv"];
/// Wrappers that put in words which arrive only when they run.
pub const XARGS: Names = &["gxargs", "parallel", "xargs"];
/// Programs that print their operands.
pub const PRINTERS: Names = &["echo", "find", "ls", "printf"];

/// Programs whose operands, put together, are shell text; as [`WRAPPERS`].
#[rustfmt::skip]
pub const EVALS: &[(Names, (Names, usize))] = &[
    (&["eval", "trap"], (&[], 0)),
    (&["ssh"], (&["-D", "-F", "-J", "-L", "-R", "-W", "-i", "-l", "-o", "-p"], 1)),
    (&["watch"], (&["-n", "--interval"], 0)),
];

/// Programs whose subcommand decides, and their options that take a value.
#[rustfmt::skip]
pub const FAMILIES: &[(Names, Names)] = &[
    (&["git"], &["-C", "-c", "--config-env", "--exec-path", "--git-dir",
        "--namespace", "--work-tree"]),
    (&["go", "pip", "pip3", "zpool"], &[]),
    (&["loginctl", "systemctl"], &["-H", "-M", "-p", "-t", "--host", "--machine"]),
];

#[rustfmt::skip]
pub const SHELLS: Names = &[
    "ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh",
    "zsh",
];

/// Other languages, and the options behind which code stands.
pub const INTERPRETERS: &[(Names, Names)] = &[
    (&["bun", "deno", "node", "nodejs"], &["-e", "-p", "--eval", "--print", "eval"]),
    (&["julia", "lua*", "osascript", "r", "rscript", "ruby*"], &["-e"]),
    (&["perl*"], &["-e", "-E"]),
    (&["php"], &["-r"]),
    (&["powershell*", "pwsh"], &["-c", "-Command"]),
    (&["pypy*", "python*"], &["-c"]),
];
/// Words by which such code deletes files or starts programs.
#[rustfmt::skip]
pub const STRONG_WORDS: Names = &[
    "FileUtils", "Popen", "Remove", "b64decode", "child_process", "doShellScript",
    "eval", "exec", "execFile", "execSync", "execl", "execv", "execvp", "fork",
    "passthru", "popen", "qx", "remove", "remove_tree", "removedirs", "rmSync",
    "rm_r", "rm_rf", "rmdir", "rmdirSync", "rmtree", "shell_exec", "shutil",
    "spawn", "spawnSync", "subprocess", "system", "truncate", "unlink",
    "unlinkSync", "urlopen",
];

/// The same for what is more than a word.
pub const STRONG_TEXTS: Names = &["`", "do shell script", "os.execute"];

/// Tests of `find` that take a value.
#[rustfmt::skip]
pub const FIND_TESTS: Names = &[
    "-group", "-iname", "-ipath", "-iregex", "-name", "-newer", "-path", "-regex",
    "-type", "-user", "-wholename",
];

pub const DOWNLOADERS: Names =
    &["aria2c", "curl", "fetch", "nc", "ncat", "socat", "wget", "xh"];
/// Programs that make text readable again. In front of a shell they hide it.
pub const DECODERS: Names =
    &["base32", "base64", "basenc", "openssl", "rev", "uudecode", "xxd"];

/// What the row for `name` says.
pub fn row<T: Copy>(table: &[(Names, T)], name: &str) -> Option<T> {
    table.iter().find(|(names, _)| named(name, names)).map(|(_, rest)| *rest)
}

/// Whether `name` is in the list; `*` stands for any end.
pub fn named(name: &str, list: &[&str]) -> bool {
    list.iter().any(|one| match one.strip_suffix('*') {
        Some(stem) => name.starts_with(stem),
        None => *one == name,
    })
}

/// A program's arguments, and the questions that a condition may ask.
pub struct Call<'a> {
    pub args: &'a [Word],
    pub folder: &'a Spot,
}

impl Call<'_> {
    fn texts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.args.iter().map(Word::text)
    }

    fn operands(&self) -> impl Iterator<Item = &Word> {
        operands(self.args)
    }

    /// Whether one of these letters is set, or one of these long options,
    /// which may be shortened as GNU programs allow.
    fn flag(&self, letters: &str, long: &[&str]) -> bool {
        let mut options = self.texts().take_while(|text| text != "--");
        options.any(|text| match text.strip_prefix("--") {
            None => text.starts_with('-') && text.contains(|c| letters.contains(c)),
            Some(name) => {
                let name = name.split('=').next().unwrap_or_default();
                name.len() > 1 && long.iter().any(|one| one.starts_with(name))
            }
        })
    }

    /// Whether one of these words is the first operand.
    fn says(&self, words: &[&str]) -> bool {
        self.operands().next().is_some_and(|one| words.contains(&&*one.text()))
    }

    /// Whether one of these texts stands anywhere in an argument.
    fn mentions(&self, texts: &[&str]) -> bool {
        self.texts().any(|one| texts.iter().any(|text| one.contains(text)))
    }

    fn has(&self, words: &[&str]) -> bool {
        self.texts().any(|text| words.contains(&&*text))
    }

    fn is_at(&self, word: &Word, place: Place) -> bool {
        self.folder.join(word).place() == place
    }

    /// Whether an operand is such a place.
    fn touches(&self, place: Place) -> bool {
        self.operands().any(|one| self.is_at(one, place))
    }

    /// Whether an operand in front of the last one is such a place.
    fn takes(&self, place: Place) -> bool {
        let sources = self.operands().count().saturating_sub(1);
        self.operands().take(sources).any(|one| self.is_at(one, place))
    }

    /// The files that such a target names.
    pub fn written(&self, target: &Target) -> Vec<Word> {
        match target {
            All => self.operands().cloned().collect(),
            Last => self.operands().skip(1).last().cloned().into_iter().collect(),
            Rest => self.operands().skip(1).cloned().collect(),
            Value(letter, long) => values(self.args, letter, long),
            Command => vec![Word::joined(divide(self.args, &[], 1).1)],
            Behind(text) => {
                self.args.iter().filter_map(|one| one.strip(text)).collect()
            }
        }
    }
}

/// The arguments that are no options.
pub fn operands(args: &[Word]) -> impl Iterator<Item = &Word> {
    let mut ended = false;
    args.iter().filter(move |word| {
        let text = word.text();
        let option = !ended && text.starts_with('-') && text.len() > 1;
        ended |= text == "--";
        !option
    })
}

/// Divides arguments into options, with their values and `skip` operands, and
/// what is behind them.
pub fn divide<'a>(
    args: &'a [Word],
    valued: &[&str],
    skip: usize,
) -> (&'a [Word], &'a [Word]) {
    let (mut at, mut skip) = (0, skip);
    while let Some(text) = args.get(at).map(Word::text) {
        if text == "--" {
            at += 1 + skip;
            break;
        }
        if valued.contains(&&*text) {
            at += 1;
        } else if !text.starts_with(['-', '+']) || text.len() == 1 {
            if skip == 0 {
                break;
            }
            skip -= 1;
        }
        at += 1;
    }
    args.split_at(at.min(args.len()))
}

/// `tar cfv FILE` as `tar -cvf FILE`.
pub fn dashed<'a>(name: &str, args: &'a [Word]) -> Cow<'a, [Word]> {
    match args {
        [first, rest @ ..] if named(name, TAR) && !first.text().starts_with('-') => {
            let text = first.text();
            let end = if text.contains('f') { "f" } else { "" };
            let first = format!("-{}{end}", text.replace('f', ""));
            [&[Word::from(first.as_str())], rest].concat().into()
        }
        _ => args.into(),
    }
}

/// The letters of a shell's options (with a `+` for those that begin with it)
/// and what is behind them. Each `o` takes a word: `-euo pipefail -c code`.
pub fn shell_options(args: &[Word]) -> (String, &[Word]) {
    let (mut letters, mut rest) = (String::new(), args);
    while let [first, tail @ ..] = rest {
        let text = first.text();
        if ["-", "--"].contains(&&*text) {
            return (letters, tail);
        }
        let taken = match text.strip_prefix("--") {
            Some(name) => usize::from(["init-file", "rcfile"].contains(&name)),
            None if text.starts_with(['-', '+']) => {
                letters.push_str(text.strip_prefix('-').unwrap_or("+"));
                text.matches(['o', 'O']).count()
            }
            None => break,
        };
        rest = tail.get(taken..).unwrap_or_default();
    }
    (letters, rest)
}

/// The letter of an option of `env` that takes a value, and the value if it
/// stands in the same word.
pub fn env_option(word: &Word) -> (Option<char>, Option<Word>) {
    let text = word.text();
    if let Some(long) = text.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or_default();
        let all =
            [("split-string", 'S'), ("chdir", 'C'), ("unset", 'u'), ("argv0", 'a')];
        let known = |(one, _): &&(&str, char)| one.starts_with(name);
        let found = all.iter().find(known).filter(|_| !name.is_empty());
        let value = word.strip(&format!("--{name}="));
        return (found.map(|(_, letter)| *letter), value);
    }
    let at = text.find(['S', 'C', 'u', 'a', 'P']);
    let letter = at.and_then(|at| text[at..].chars().next());
    let value = at.and_then(|at| word.strip(&text[..=at]));
    (letter, value.filter(|one| !one.parts.is_empty()))
}

/// The arguments of `find` behind `-L`, `-O2`, `-D tree` and `--`.
pub fn behind_modes(args: &[Word]) -> &[Word] {
    let mut rest = args;
    while let Some(text) = rest.first().map(Word::text) {
        let taken = match &*text {
            "-D" => 2,
            "--" | "-H" | "-L" | "-P" => 1,
            text if text.starts_with("-O") => 1,
            _ => break,
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    rest
}

/// The values of an option: `-o FILE`, `-oFILE`, `--output=FILE` ….
pub fn values(args: &[Word], letter: &str, long: &str) -> Vec<Word> {
    let mut found = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let text = word.text();
        let short = text.starts_with('-') && !text.starts_with("--");
        let attached = match short {
            true if letter.is_empty() => None,
            true => word.strip("-").and_then(|one| one.strip(letter)),
            false => word.strip("--").and_then(|one| one.strip(long)?.strip("=")),
        };
        let attached = attached.filter(|one| !one.parts.is_empty());
        if short && !letter.is_empty() && text.ends_with(letter)
            || text.strip_prefix("--") == Some(long)
        {
            found.extend(args.get(at + 1).cloned());
        }
        found.extend(attached);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(text: &str) -> Vec<Word> {
        text.split(' ').map(Word::from).collect()
    }

    fn texts<'a>(words: impl IntoIterator<Item = &'a Word>) -> Vec<String> {
        words.into_iter().map(|word| word.text().into_owned()).collect()
    }

    #[test]
    fn a_flag_is_found_in_every_spelling() {
        for text in
            ["-r", "-fr", "--recursive", "--recurs", "x -r", "--recursive=yes"]
        {
            let (args, folder) = (args(text), &Spot::workspace());
            assert!(
                Call { args: &args, folder }.flag("rR", &["recursive"]),
                "{text}"
            );
        }
        for text in ["r", "-f", "-- -r", "--force", "--r", "x"] {
            let (args, folder) = (args(text), &Spot::workspace());
            assert!(
                !Call { args: &args, folder }.flag("rR", &["recursive"]),
                "{text}"
            );
        }
    }

    #[test]
    fn values_are_found_in_every_spelling() {
        for text in ["-o x", "-ox", "-sSo x", "--output x", "--output=x"] {
            assert_eq!(texts(&values(&args(text), "o", "output")), ["x"], "{text}");
        }
        assert_eq!(texts(&values(&args("o x -p y"), "o", "output")), [""; 0]);
    }

    #[test]
    fn operands_are_what_is_no_option() {
        assert_eq!(texts(operands(&args("-a x - -- -b"))), ["x", "-", "-b"]);
    }

    #[test]
    fn arguments_are_divided_behind_options_and_their_values() {
        let args = args("-k 5 -v 10 rm -rf /");
        let (front, command) = divide(&args, &["-k"], 1);
        assert_eq!(texts(front), ["-k", "5", "-v", "10"]);
        assert_eq!(texts(command), ["rm", "-rf", "/"]);
        assert_eq!(divide(&args[..1], &["-k"], 1).1, []);
    }

    #[test]
    fn modes_that_let_everybody_write() {
        let judge = |mode: &str| {
            world_writable(&Call { args: &args(mode), folder: &Spot::workspace() })
        };
        for mode in ["777", "0666", "1777", "o+w", "a+rwx", "u=rw,o=rw", "go=w"] {
            assert!(judge(mode), "{mode}");
        }
        for mode in ["755", "644", "+x", "u+w", "go-w", "a+r", "u=rwX,go=rX"] {
            assert!(!judge(mode), "{mode}");
        }
    }

    #[test]
    fn every_reason_completes_a_sentence() {
        for (_, _, _, reason) in RULES {
            let verb = reason.split(' ').next().unwrap();
            assert!(verb.ends_with('s') && verb == verb.to_lowercase(), "{reason}");
            assert!(!reason.ends_with('.'), "{reason}");
        }
    }
}
