//! Where a path leads, read from its text alone: the gate must judge a file
//! that does not exist yet, and a variable whose value only the shell knows.

use crate::shell::{Part, Word};

/// What a path means to the gate, from harmless to fatal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the workspace, or nowhere at all (`/dev/null`).
    Inside,
    /// Nobody can say before it runs.
    Unknown,
    Outside,
    /// A file that something runs later, with all the rights of the user.
    RunsLater,
    /// The root, a home or a system directory as a whole.
    System,
    /// A disk, or a file through which the kernel takes orders.
    Device,
}
use Place::{Device, Inside, Outside, RunsLater, System, Unknown};

#[rustfmt::skip]
const SYSTEM: &[&str] = &[
    "Applications", "Library", "System", "Users", "Volumes", "bin", "boot", "dev",
    "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "private", "proc",
    "root", "run", "sbin", "srv", "sys", "usr", "var",
];
/// Directories of which each child is a system or home directory, too.
const PARENTS: &[&str] =
    &["System", "Users", "Volumes", "home", "media", "mnt", "usr"];
/// How the names of disks in `/dev` begin, and of what else is as bad.
#[rustfmt::skip]
const DISKS: &[&str] = &[
    "block", "disk", "dm-", "hd", "kmem", "loop", "mapper", "md", "mem", "mmcblk",
    "mtd", "nbd", "nvme", "port", "rdisk", "sd", "sr", "ubi", "vd", "xvd", "zd",
];
const SINKS: &[&str] = &[
    "fd", "full", "null", "random", "stderr", "stdin", "stdout", "tty", "urandom",
    "zero",
];

/// Folders whose content runs later: hooks, build servers, logins.
#[rustfmt::skip]
const LATER_FOLDERS: &[&str] = &[
    ".buildkite", ".cargo", ".circleci", ".devcontainer", ".git", ".githooks",
    ".hg", ".husky", ".ssh",
];
/// Files that a shell, an editor, a build server or an agent runs by itself.
/// A `Makefile` is not among them: it runs when somebody asks for it, as any
/// program does that the agent writes.
#[rustfmt::skip]
const LATER_FILES: &[&str] = &[
    ".bash_aliases", ".bash_login", ".bash_logout", ".bash_profile", ".bashrc",
    ".cshrc", ".drone.yml", ".envrc", ".exrc", ".gdbinit", ".gitconfig",
    ".gitlab-ci.yml", ".hgrc", ".inputrc", ".kshrc", ".lldbinit", ".login",
    ".mcp.json", ".npmrc", ".nvimrc", ".pnp.cjs", ".pre-commit-config.yaml",
    ".profile", ".tcshrc", ".tmux.conf", ".travis.yml", ".vimrc", ".woodpecker.yml",
    ".xinitrc", ".xprofile", ".xsession", ".yarnrc.yml", ".zlogin", ".zlogout",
    ".zprofile", ".zshenv", ".zshrc", "azure-pipelines.yml",
    "bitbucket-pipelines.yml", "config.fish", "jenkinsfile", "lefthook.yml",
    "sitecustomize.py", "usercustomize.py",
];
/// The same for a name in a folder that holds other things as well.
const LATER_PAIRS: &[(&str, &[&str])] = &[
    (".claude", &["settings.json", "settings.local.json", "hooks"]),
    (".config", &["autostart", "fish", "git", "systemd"]),
    (".forgejo", &["workflows"]),
    (".gitea", &["workflows"]),
    (".github", &["workflows", "actions"]),
    (".vscode", &["tasks.json", "settings.json", "launch.json"]),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Base {
    Workspace,
    AboveWorkspace,
    Home,
    Root,
    Unknown,
}

/// A folder or file, as a base and the names that lead on from there.
#[derive(Clone, Debug)]
pub struct Spot {
    base: Base,
    names: Vec<String>,
}

impl Spot {
    fn new(base: Base) -> Self {
        Spot { base, names: vec![] }
    }

    pub fn workspace() -> Self {
        Spot::new(Base::Workspace)
    }

    pub fn home() -> Self {
        Spot::new(Base::Home)
    }

    pub fn unknown() -> Self {
        Spot::new(Base::Unknown)
    }

    /// Where `word` leads if this is the current folder.
    pub fn join(&self, word: &Word) -> Spot {
        let (mut spot, parts) = match &word.parts[..] {
            [Part::Variable { name, .. }, rest @ ..] => match name.as_str() {
                "HOME" => (Spot::home(), rest),
                "PWD" => (self.clone(), rest),
                _ => (Spot::unknown(), rest),
            },
            [Part::Output(_) | Part::File(_), rest @ ..] => (Spot::unknown(), rest),
            [Part::Text(text), ..] if text.starts_with('/') => {
                (Spot::new(Base::Root), &word.parts[..])
            }
            parts => (self.clone(), parts),
        };
        for name in path(parts).split('/') {
            spot.step(name);
        }
        spot
    }

    fn step(&mut self, name: &str) {
        match name {
            "" | "." => {}
            ".." if self.names.pop().is_some() => {}
            ".." if self.base == Base::Workspace => self.base = Base::AboveWorkspace,
            ".." if self.base == Base::Home => {
                *self = Spot { base: Base::Root, names: vec!["home".into()] };
            }
            ".." => {}
            _ => self.names.push(name.into()),
        }
    }

    pub fn place(&self) -> Place {
        // Who wipes `/etc/*` wipes `/etc`.
        let named = |name: &String| name.contains(char::is_alphanumeric);
        let end = self.names.iter().rposition(named).map_or(0, |last| last + 1);
        let names: Vec<&str> =
            self.names[..end].iter().map(String::as_str).collect();
        let pattern = |name: &str| name.contains(['*', '?', '[', '{']);
        match (self.base, &names[..]) {
            (Base::Home | Base::Root, []) => System,
            (Base::Root, [top]) if SYSTEM.contains(top) || pattern(top) => System,
            (Base::Root, [top, _]) if PARENTS.contains(top) => System,
            (Base::Root, ["var", "lib" | "log"]) => System,
            (Base::Root, ["usr", "local", "bin" | "lib"]) => System,
            (Base::Root, ["dev", name, ..]) if SINKS.contains(name) => Inside,
            (Base::Root, ["dev", name, ..])
                if DISKS.iter().any(|disk| name.starts_with(disk)) =>
            {
                Device
            }
            (Base::Root, ["proc", "sysrq-trigger"]) => Device,
            _ if runs_later(&names) => RunsLater,
            (Base::Workspace, _) => Inside,
            (Base::Unknown, _) => Unknown,
            _ => Outside,
        }
    }
}

/// The text of a path. What only the shell knows counts as a pattern, since
/// both may turn into any name.
fn path(parts: &[Part]) -> String {
    let mut path = String::new();
    for part in parts {
        match part {
            Part::Text(text) => path.push_str(text),
            Part::Glob(c) => path.push(*c),
            _ => path.push('*'),
        }
    }
    path
}

fn runs_later(names: &[&str]) -> bool {
    // Some file systems take `.GIT` for `.git`.
    let listed = |name: &str, list: &[&str]| {
        list.iter().any(|one| one.eq_ignore_ascii_case(name))
    };
    let paired = |pair: &[&str]| {
        let mut rows = LATER_PAIRS.iter();
        rows.any(|(folder, inside)| {
            listed(pair[0], &[folder]) && listed(pair[1], inside)
        })
    };
    names.iter().any(|name| listed(name, LATER_FOLDERS))
        || names.last().is_some_and(|name| listed(name, LATER_FILES))
        || names.windows(2).any(paired)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::parse;

    fn spot(folder: &Spot, path: &str) -> Spot {
        folder.join(&parse(path).pipelines[0].commands[0].words[0])
    }

    fn place(path: &str) -> Place {
        spot(&Spot::workspace(), path).place()
    }

    fn all(paths: &[&str], wanted: Place) {
        for path in paths {
            assert_eq!(place(path), wanted, "{path}");
        }
    }

    #[test]
    fn inside() {
        all(&["a", "./a/../b", "*", ".", "$PWD/a", "a$X", "'~'", "'$HOME'"], Inside);
        all(&["/dev/null", "/dev/fd/3", "git/hooks/x", ".gitignore"], Inside);
    }

    #[test]
    fn outside() {
        all(
            &["..", "../a", "a/../../b", "/tmp", "/tmp/*", "~/a", "/home/me/a/b"],
            Outside,
        );
        all(&["/etc/nginx", "/dev/shm/x", "/usr/share/x", "~/../me/a"], Outside);
        all(&["$X", "$(a)", "$X/a", "\"$X\""], Unknown);
    }

    #[test]
    fn system_directories_in_every_spelling() {
        all(
            &["/", "//", "/.", "/..", "/tmp/..", "/*", "/$X", "/u*", "\"/\"", "\\/"],
            System,
        );
        all(
            &["~", "~/", "~/*", "$HOME", "\"${HOME}\"", "${HOME:?}/.", "~/.*"],
            System,
        );
        all(
            &["/etc", "/etc/", "/etc/*", "/usr/bin", "/home/me", "~root", "~/.."],
            System,
        );
    }

    #[test]
    fn devices() {
        all(&["/dev/sda", "/dev/nvme0n1p2", "/dev/vdb", "/dev/xvda1"], Device);
        all(
            &["/dev/mmcblk0", "/dev/disk/by-id/x", "/dev/mapper/x", "/dev/rdisk2"],
            Device,
        );
        all(&["/tmp/../dev/sd*", "/proc/sysrq-trigger"], Device);
    }

    #[test]
    fn what_runs_later() {
        all(
            &[".git/hooks/x", "a/.git/config", ".GIT/x", "~/.bashrc", ".envrc"],
            RunsLater,
        );
        all(
            &[".github/workflows/x.yml", ".vscode/tasks.json", "~/.ssh/x"],
            RunsLater,
        );
    }

    #[test]
    fn relative_paths_start_at_the_current_folder() {
        let root = spot(&Spot::workspace(), "/");
        assert_eq!(spot(&root, "*").place(), System);
        assert_eq!(spot(&root, "etc").place(), System);
        let below = spot(&Spot::workspace(), "a/b");
        assert_eq!(spot(&below, "../../c").place(), Inside);
        assert_eq!(spot(&below, "../../../c").place(), Outside);
        assert_eq!(spot(&Spot::unknown(), "c").place(), Unknown);
    }
}
