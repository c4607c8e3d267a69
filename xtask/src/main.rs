//! The chores of this repository: the book's preprocessor and the two commands
//! that keep book and code together. Run as `cargo xtask COMMAND`.

mod check;
mod compile;
mod diff;
mod limits;
mod links;
mod listing;
mod markdown;
mod order;
mod page;
mod preprocess;
mod project;
mod render;
mod rust;
mod select;
mod session;
mod steps;
mod transcript;

#[cfg(test)]
mod fixture;

use std::process::ExitCode;

use project::Project;

const USAGE: &str = "\
cargo xtask check             compare the book with the code
cargo xtask bless [CHAPTER…]  record the demos' transcripts anew
cargo xtask preprocess        expand the book's directives (called by mdbook)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("[Error] {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one command; `false` says that it has already told what is wrong.
fn run(args: &[String]) -> anyhow::Result<bool> {
    let Some((command, rest)) = args.split_first() else {
        anyhow::bail!("which command?\n{USAGE}");
    };
    match command.as_str() {
        "preprocess" => preprocess::run(rest),
        "check" => check::run(&Project::find()?),
        "bless" => transcript::bless(&Project::find()?, rest),
        _ => anyhow::bail!("unknown command `{command}`\n{USAGE}"),
    }
}
