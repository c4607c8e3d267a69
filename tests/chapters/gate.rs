//! The gate against its tables. Nothing in them is ever run.

use code_agent::permission::{Permission, check_permission};
use serde_json::{Value, json};
use std::time::Instant;

fn verdict(command: &str) -> &'static str {
    match check_permission("bash", &json!({"command": command})) {
        Permission::Allow => "allow",
        Permission::Ask(_) => "ask",
        Permission::Deny(_) => "deny",
    }
}

/// `[or-ask]` and `[or-deny]` in front of the reason: that is right, too.
fn check(table: &str) {
    let cases: Vec<Value> = serde_json::from_str(table).unwrap();
    let wrong = cases.iter().filter_map(|case| {
        let get = |key: &str| case[key].as_str().unwrap();
        let found = verdict(get("command"));
        let also =
            get("why").strip_prefix("[or-").and_then(|why| why.split(']').next());
        let fine = found == get("expect") || Some(found) == also;
        (!fine).then(|| format!("{found}, but {case}"))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn commands_from_the_field() {
    check(include_str!("../cases/permission.json"));
}

#[test]
fn further_commands() {
    check(include_str!("../cases/permission_more.json"));
}

/// What a search for `rm -rf` and `sudo` would make of the same commands: the
/// book names the number.
#[test]
fn a_search_in_the_text_is_wrong_on_half_of_them() {
    let tables = [
        include_str!("../cases/permission.json"),
        include_str!("../cases/permission_more.json"),
    ];
    let tables = tables.map(|one| serde_json::from_str::<Vec<Value>>(one).unwrap());
    let cases = tables.concat();
    let is_wrong = |case: &&Value| {
        let command = case["command"].as_str().unwrap();
        let stops = command.contains("rm -rf") || command.contains("sudo");
        stops == (case["expect"] == "allow")
    };
    let wrong = cases.iter().filter(is_wrong).count();
    let page = include_str!("../../book/src/s03-permission.md");
    let claim = format!("{wrong} of {}", cases.len());
    assert!(page.contains(&claim), "the page of s03 must say {claim}");
}

/// The book shows them. If one is stopped one day, the page must say so.
#[test]
fn what_the_book_calls_a_way_around_is_one() {
    for command in [
        r#"python3 -c "import os; getattr(os, 're' + 'move')('victim.txt')""#,
        r"printf 'rm -f victim.txt\n' > tidy.sh",
        "sh tidy.sh",
        "ln -s .. up",
        "echo hello > up/outside.txt",
    ] {
        assert_eq!(verdict(command), "allow", "{command}");
    }
}

/// The answers to the page's questions.
#[test]
fn what_the_book_asks() {
    let answers = [
        (r#"git commit -m "never rm -rf / again""#, "allow"),
        ("find . -name '*.tmp' -delete", "ask"),
        ("echo cm0gLXJmIC8K | base64 -d | sh", "deny"),
        ("cd / && rm -r *", "deny"),
        ("timeout 5 env A=1 nice sudo -u root id", "deny"),
    ];
    for (command, expected) in answers {
        assert_eq!(verdict(command), expected, "{command}");
    }
}

/// A model can send anything; the gate must not be what hangs.
#[test]
fn size_and_nesting_cost_no_time_and_no_stack() {
    let deep = [
        "$(",
        "(",
        "{ ",
        "\"$(",
        "`",
        "bash -c '",
        "<(",
        "env ",
        "${a:-",
        "((",
        "a|",
    ];
    for piece in deep {
        let command = piece.repeat(20_000);
        let start = Instant::now();
        let _ = verdict(&command);
        let took = start.elapsed();
        assert!(took.as_secs() < 20, "{piece} took {took:?}");
    }
}
