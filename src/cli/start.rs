//! From the command line and the environment to what a chapter needs.

use super::args::Args;
use super::screen::{self, note};
use crate::files::Workspace;
use crate::llm::{Client, Config, Provider};
use crate::offline::{self, Demo};
use crate::settings::{Settings, UsageError};
use anyhow::{Context, Result};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// What a chapter is given to start with.
pub struct Setup {
    /// The model, ready to be asked.
    pub client: Client,
    pub workspace: Workspace,
    /// How many requests one turn may make.
    pub max_rounds: usize,
    pub settings: Settings,
}

impl Setup {
    /// # Errors
    /// [`UsageError`] for what the user can put right.
    pub(super) async fn new(binary: &str, args: &Args, demo: &str) -> Result<Setup> {
        let settings = Settings::load()?;
        screen::hide(settings.keys());
        settings.check()?;
        let max_rounds = settings.max_rounds()?;
        let mut config = Config::from_settings(&settings)?;
        let offline = config.provider == Provider::Offline;
        let folder = match &args.workspace {
            Some(folder) => folder.clone(),
            None if offline => {
                playground(binary).map_err(|why| UsageError(format!("{why:#}")))?
            }
            None => PathBuf::from("."),
        };
        let workspace = Workspace::open(&folder)
            .map_err(|why| UsageError(format!("{why:#}")))?;
        if offline {
            let demo = Demo::parse(demo)?;
            lay_out(&demo, workspace.root(), args.workspace.is_some())?;
            introduce(&demo, workspace.root());
            config = Config::at(&offline::serve(demo).await?, "scripted");
        }
        let client = Client::connect(config).await?;
        if !offline && io::stdout().is_terminal() && args.prompt().is_none() {
            let (model, root) = (client.model(), workspace.root().display());
            note(&format!("{binary} · {model} · {root}"));
        }
        Ok(Setup { client, workspace, max_rounds, settings })
    }
}

/// Where the demo works, so that the folder it was started in stays clean.
fn playground(binary: &str) -> Result<PathBuf> {
    let folder = Path::new("target/playground").join(binary);
    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// Writes the demo's files afresh. In a folder of the user's own, a file that
/// is there already is kept under another name.
fn lay_out(demo: &Demo, root: &Path, keep: bool) -> Result<()> {
    for (name, text) in &demo.files {
        let path = root.join(name);
        if keep && fs::read(&path).is_ok_and(|old| old != text.as_bytes()) {
            set_aside(&path)?;
        }
        let parent = path.parent().unwrap_or(root);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn set_aside(path: &Path) -> Result<()> {
    let kept = path.with_added_extension("before-demo");
    // The first copy is the user's; what came later is from a demo.
    if !kept.exists() {
        fs::copy(path, &kept)
            .with_context(|| format!("cannot write {}", kept.display()))?;
        note(&format!("[offline] kept your file as {}", kept.display()));
    }
    Ok(())
}

fn introduce(demo: &Demo, root: &Path) {
    note(&format!(
        "[offline] A script plays the model; all else is real. With a key: .env.example\n\
         [offline] Workspace: {}\n\
         [offline] Prompts that the script knows:\n  {}",
        root.display(),
        demo.prompts().join("\n  ")
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMO: &str = r#"{"files": {"src/a": "demo"}, "scripts": []}"#;

    #[test]
    fn the_demo_starts_afresh_and_the_users_own_file_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (root, demo) = (folder.path(), Demo::parse(DEMO).unwrap());
        let read = |name: &str| fs::read_to_string(root.join(name)).ok();
        lay_out(&demo, root, false).unwrap();
        assert_eq!(read("src/a").as_deref(), Some("demo"));

        fs::write(root.join("src/a"), "mine").unwrap();
        lay_out(&demo, root, true).unwrap();
        fs::write(root.join("src/a"), "from the demo").unwrap();
        lay_out(&demo, root, true).unwrap();
        assert_eq!(read("src/a").as_deref(), Some("demo"));
        assert_eq!(read("src/a.before-demo").as_deref(), Some("mine"));
    }
}
