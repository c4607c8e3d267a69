//! Whatever leaves a conversation is written down: a summary forgets details,
//! and who reads it must be able to look them up.

use super::persist::save;
use super::shorten::json;
use crate::cli::note;
use crate::files::Workspace;
use crate::message::Message;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

const FOLDER: &str = ".transcripts";

/// A file that grows. It is made when there is something to write. Clones
/// share it.
#[derive(Clone)]
pub struct Transcript {
    workspace: Workspace,
    /// From the workspace's root.
    path: Arc<Mutex<Option<String>>>,
}

impl Transcript {
    pub fn new(workspace: Workspace) -> Self {
        Transcript { workspace, path: Arc::default() }
    }

    /// Where it is.
    ///
    /// # Errors
    /// Any I/O error when it has to be made.
    pub fn path(&self) -> io::Result<String> {
        let mut path = self.path.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &*path {
            return Ok(path.clone());
        }
        let new = save(&self.workspace, FOLDER, ".jsonl", b"")?;
        Ok(path.insert(new).clone())
    }

    /// Adds messages, one JSON object a line. A failure is reported: the disk
    /// may be full, and the conversation must go on.
    pub fn add(&self, messages: &[Message]) {
        if !messages.is_empty()
            && let Err(error) = self.write(messages)
        {
            note(&format!("[compact] the transcript is incomplete: {error}"));
        }
    }

    fn write(&self, messages: &[Message]) -> io::Result<()> {
        let path = self.workspace.root().join(self.path()?);
        let file = File::options().append(true).create(true).open(path)?;
        let mut file = BufWriter::new(file);
        for message in messages {
            writeln!(file, "{}", json(message))?;
        }
        file.flush()
    }
}
