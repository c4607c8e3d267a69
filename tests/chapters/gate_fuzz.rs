//! Whatever the text, the gate answers: no panic, no endless work, no stack
//! that overflows.

use code_agent::permission::check_permission;
use code_agent::shell;
use proptest::prelude::*;
use serde_json::json;

/// Runs on a quarter of the stack that a thread usually has.
fn judge(command: String) {
    let args = json!({"command": command});
    let work = move || drop(check_permission("bash", &args));
    let thread = std::thread::Builder::new().stack_size(512 * 1024).spawn(work);
    thread.expect("a thread").join().expect("an answer");
}

/// 10 kB of the same.
fn long(piece: &str) -> String {
    piece.repeat(10_000 / piece.len())
}

#[test]
fn what_nests_without_end() {
    let pieces = [
        "(",
        "{ ",
        "$(",
        "${a:-",
        "`",
        "\"$(",
        "\"${a:-",
        "$((",
        "<(",
        "f() { ",
        "if ",
        "case x in x) ",
        "for x do ",
        "while ",
        "time ",
        "coproc ",
        "declare a=(",
        "{a,",
        "{a,b}",
        "((",
        "a=(",
        "[[ ",
        "<<A ",
        "<<A\n",
        "$'",
        "\\",
        "\"",
        "'",
    ];
    pieces.into_iter().for_each(|piece| judge(long(piece)));
}

#[test]
fn what_starts_itself_again_and_again() {
    let wrappers = [
        "env ", "eval ", "xargs ", "sudo ", "bash -c ", "$a ", "time ", "env -S ",
        "uv run ", "flock x ",
    ];
    wrappers.into_iter().for_each(|piece| judge(long(piece)));
    judge(format!("find . {}", long("-exec find ")));
    judge(format!("echo '{}' | sh", long("sh;")));
    judge(format!("echo {} | sh -c '{}'", long("a "), long("sh;")));
    judge(format!("sh <<A\n{}\nA", long("sh <<B\nsh\nB\n")));
}

#[test]
fn what_grows() {
    judge(format!("X=aaaaaaaa; {}", long("X=$X$X; ")));
    judge(format!("X='a b'; {}", long("X=$X$X; echo $X; ")));
    let (a, b) = ("a".repeat(3000), "b".repeat(3000));
    judge(format!("echo {b} | xargs -I a xargs -I b xargs -I b {a}"));
    judge(format!("echo {b} | xargs -I '' xargs -I '' {a}"));
    judge(format!("find {b} -exec find {} -exec echo {} ;", long("{}"), long("{}")));
    judge(long("a[;"));
    judge(long("$((a '((((' ) )"));
}

const PIECES: [&str; 67] = [
    "rm",
    "sudo",
    "sh",
    "echo",
    "find",
    "xargs",
    "env",
    "cd",
    "git push",
    "curl",
    "x",
    " ",
    " ",
    " ",
    "\n",
    ";",
    "&",
    "&&",
    "|",
    "||",
    "(",
    ")",
    "{ ",
    ";}",
    "'",
    "\"",
    "`",
    "$",
    "$(",
    "${",
    "}",
    "$'",
    "\\",
    "\\\n",
    "<",
    ">",
    ">>",
    "<<E",
    "<<'E'",
    "\nE\n",
    "<<<",
    "<(",
    ">&",
    "#",
    "*",
    "~",
    "/",
    "..",
    "-rf",
    "-c",
    "=",
    "a=",
    "a=(",
    "((",
    "))",
    "[[",
    "]]",
    "case x in",
    "esac",
    "if",
    "for i in",
    "for i do",
    "done",
    "fi",
    "time ",
    "{a,",
    "ü",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text(command in any::<String>()) {
        check_permission("bash", &json!({"command": command}));
    }

    #[test]
    fn any_pieces(picks in prop::collection::vec(0..PIECES.len(), 0..60)) {
        let command: String = picks.into_iter().map(|at| PIECES[at]).collect();
        check_permission("bash", &json!({"command": command}));
    }

    /// A quoted text is one word, whatever it says.
    #[test]
    fn quoted_text_is_data(text in "[^'\0]*") {
        let script = shell::parse(&format!("echo '{text}'"));
        prop_assert_eq!(script.flaw, None);
        prop_assert_eq!(script.commands().len(), 1);
        let word = script.commands()[0].words[1].literal();
        prop_assert_eq!(word.as_deref(), Some(text.as_str()));
    }

    /// And behind any text that is complete, a command is still seen.
    #[test]
    fn a_command_is_seen_behind_anything(
        picks in prop::collection::vec(0..PIECES.len(), 0..12),
    ) {
        let front: String = picks.into_iter().map(|at| PIECES[at]).collect();
        let all = format!("{front}\nrm -rf /");
        let seen = shell::parse(&all).commands().iter().any(|one| {
            one.words.iter().any(|word| word.literal().as_deref() == Some("rm"))
        });
        let alone = shell::parse(&front);
        let open = front.contains("<<") || front.contains(['[', '(', '\\']);
        prop_assert!(seen || alone.flaw.is_some() || open, "{}", all);
    }
}
