//! Checks that a reader who stops after any step has a program that compiles.
//! All intermediate states become binaries of one package below `target/`, so
//! that one `cargo check` sees them all and later runs only the changed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::project::{Project, write_if_changed};
use crate::steps::Steps;

/// What cargo knows about the root package.
pub struct Metadata {
    pub target: PathBuf,
    name: String,
    edition: String,
}

/// The cargo that runs us, in the root of the project.
pub fn cargo(project: &Project) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(&project.root);
    // `cargo run` has told us about our own package. Handed on, that would
    // make build scripts run again, now and in the next ordinary build.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let ours = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_", "CARGO_CRATE_"];
        if ours.iter().any(|start| name.starts_with(start)) {
            command.env_remove(&*name);
        }
    }
    if cfg!(test) {
        // The fixture must not be built into the folder of the real project.
        command.env_remove("CARGO_TARGET_DIR");
    }
    command
}

pub fn metadata(project: &Project) -> Result<Metadata> {
    let output = cargo(project)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let json: Value = serde_json::from_slice(&output.stdout)?;
    let manifest = project.root.canonicalize()?.join("Cargo.toml");
    let packages = json["packages"].as_array().into_iter().flatten();
    let root = packages
        .into_iter()
        .find(|p| {
            p["manifest_path"].as_str().map(PathBuf::from) == Some(manifest.clone())
        })
        .context("Cargo.toml has no [package]: run this in the checkout")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    Ok(Metadata {
        target: text(&json["target_directory"]).into(),
        name: text(&root["name"]),
        edition: text(&root["edition"]),
    })
}

/// Compiles what each chapter's `main.rs` is after each step but the last, which
/// is the chapter itself. `chapters` holds names and steps.
pub fn check(
    project: &Project,
    chapters: &[(String, Steps)],
) -> Result<Vec<String>> {
    let metadata = metadata(project)?;
    let dir = metadata.target.join("steps");
    let mut places = BTreeMap::new();
    let mut bins = String::new();
    for (chapter, steps) in chapters {
        let demo = project.read(&format!("chapters/{chapter}/demo.json"));
        let demo = demo.unwrap_or_else(|_| "{}".into());
        write_if_changed(&dir.join(chapter).join("demo.json"), &demo)?;
        for done in 1..steps.len() {
            let name = format!("{chapter}-step{done}");
            let path = format!("{chapter}/step{done}.rs");
            write_if_changed(&dir.join(&path), &steps.state(done))?;
            bins += &format!("[[bin]]\nname = \"{name}\"\npath = \"{path}\"\n");
            let page = format!("book/src/{chapter}.md:{}", steps.places[done - 1]);
            places.insert(name, format!("{page}: step {done}"));
        }
    }
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let manifest = manifest(project, &metadata, &bins)?;
    write_if_changed(&dir.join("Cargo.toml"), &manifest)?;
    let lock = project.read("Cargo.lock").unwrap_or_default();
    std::fs::write(dir.join("Cargo.lock"), lock)?;
    Ok(errors(&cargo_check(project, &metadata)?, &places))
}

/// The first error of each state; the others often follow from it.
fn errors(messages: &[Value], places: &BTreeMap<String, String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let errors = messages.iter().filter(|m| m["message"]["level"] == "error");
    let mut faults: Vec<String> = errors
        .filter(|message| seen.insert(message["target"]["name"].to_string()))
        .map(|message| fault(message, places))
        .collect();
    if faults.is_empty() && messages.iter().any(|m| m["success"] == false) {
        faults.push(
            "the states do not compile: run `cargo check` for the cause".into(),
        );
    }
    faults
}

/// The package of the states: dependencies and profiles as the root has them,
/// so that what is built for the root is not built again.
fn manifest(project: &Project, metadata: &Metadata, bins: &str) -> Result<String> {
    let root = std::path::absolute(&project.root)?.display().to_string();
    let copied = sections(&project.read("Cargo.toml")?)
        .replace("path = \"", &format!("path = \"{root}/"));
    let Metadata { name, edition, .. } = metadata;
    Ok(format!(
        "# Written by `cargo xtask check`.\n\
         [package]\nname = \"steps\"\nedition = \"{edition}\"\nautobins = false\n\n\
         [workspace]\n\n\
         [lints.rust]\nunused = \"allow\"\n\n\
         [dependencies.{name}]\npath = \"{root}\"\n\n\
         {copied}\n{bins}"
    ))
}

/// The sections of a Cargo.toml that decide what is built of others.
fn sections(manifest: &str) -> String {
    const KINDS: [&str; 5] =
        ["dependencies", "target.", "profile.", "patch.", "workspace.dependencies"];
    let mut copied = String::new();
    let mut copy = false;
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            copy = KINDS.iter().any(|kind| section.starts_with(kind));
        }
        if copy {
            copied += line;
            copied.push('\n');
        }
    }
    copied
}

/// Runs the check without the network, and with it if that did not get far.
fn cargo_check(project: &Project, metadata: &Metadata) -> Result<Vec<Value>> {
    let mut complaint = String::new();
    for offline in [true, false] {
        let output = cargo(project)
            .args(["check", "--bins", "--keep-going", "--quiet"])
            .args(["--message-format", "json"])
            .arg("--manifest-path")
            .arg(metadata.target.join("steps/Cargo.toml"))
            .args(offline.then_some("--offline"))
            .env("CARGO_TARGET_DIR", &metadata.target)
            .output()?;
        let lines = output.stdout.split(|&byte| byte == b'\n');
        let messages: Vec<Value> =
            lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        if messages.iter().any(|m| m["reason"] == "build-finished") {
            return Ok(messages);
        }
        complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    bail!("cargo check of target/steps: {}", complaint.trim())
}

/// A compile error as one line that names page and step.
fn fault(message: &Value, places: &BTreeMap<String, String>) -> String {
    let error = &message["message"];
    let text = error["message"].as_str().unwrap_or_default();
    let target = message["target"]["name"].as_str().unwrap_or_default();
    let Some(place) = places.get(target) else {
        return format!("{target} does not compile, {text}: run `cargo check`");
    };
    let spans = error["spans"].as_array().into_iter().flatten();
    let span = spans.into_iter().find(|span| span["is_primary"] == true);
    let code = span.and_then(|span| span["text"][0]["text"].as_str());
    format!(
        "{place} does not compile, {text}: `{}` (line {} of main.rs after the \
         step): \
         move lines from one step to another",
        code.unwrap_or_default().trim(),
        span.map_or(0, |span| span["line_start"].as_u64().unwrap_or(0))
    )
}
