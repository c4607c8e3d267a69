//! When a request did not fit all the same: the limit is an estimate, and only
//! the server knows the window.

use super::persist::{persist_unseen, shrink};
use super::shorten::{border, cut, micro_compact, tail, total};
use super::{Compactor, SUMMARY_INPUT};
use crate::cli::note;
use crate::llm::{Ask, LlmError, Model, Reply};

impl Compactor {
    /// Sends `ask`. If it does not fit, compacts once and sends it again.
    ///
    /// # Errors
    /// As [`Model::chat`].
    pub async fn chat(
        &self,
        model: &dyn Model,
        mut ask: Ask<'_>,
    ) -> Result<Reply, LlmError> {
        let first = Ask { history: &mut *ask.history, ..ask };
        match model.chat(first).await {
            Err(error) if self.emergency(model, &mut ask, &error).await => {
                model.chat(ask).await
            }
            result => result,
        }
    }

    /// Makes a request fit that did not, whatever that takes. Returns whether
    /// another try makes sense: not if `error` is about anything else. `model`
    /// must not be one that calls this function, or a summary that does not
    /// fit would never end.
    pub async fn emergency(
        &self,
        model: &dyn Model,
        ask: &mut Ask<'_>,
        error: &LlmError,
    ) -> bool {
        let tokens = match error {
            LlmError::ContextTooLong { used, limit, .. } => used.zip(*limit),
            // The prompt fits, and the server names the room that it leaves.
            LlmError::MaxTokens { limit: Some(room), .. } => {
                let room = u32::try_from(*room).unwrap_or(u32::MAX);
                let lower = ask.max_tokens.is_none_or(|most| room < most);
                ask.max_tokens = Some(room);
                return lower;
            }
            _ => return false,
        };
        let before = total(ask.history);
        let target = target(before, overhead(ask), tokens);
        let history = &mut *ask.history;
        let mut now = before - persist_unseen(&self.workspace, history, target);
        let mut gone = vec![];
        now -= micro_compact(history, &mut gone);
        self.transcript.add(&gone);
        if now > target {
            // A request that shows all of it would not fit either.
            let input = target.clamp(1_000, SUMMARY_INPUT);
            match self.summarize(model, history, "", input, now).await {
                Ok(size) => now = size,
                Err(why) => note(&format!("[reactive compact] no summary: {why}")),
            }
        }
        if now > target {
            let (end, mut gone) = (tail(history), vec![]);
            now -= cut(history, border(history, 1).min(end)..end, &mut gone);
            now -= shrink(&self.workspace, history, target, &mut gone);
            self.transcript.add(&gone);
        }
        note(&format!("[reactive compact] {before} → {now} characters"));
        now < before
    }
}

/// What a request sends besides the history, in characters.
pub(super) fn overhead(ask: &Ask<'_>) -> usize {
    let tools = ask.tools.iter();
    let tools =
        tools.map(|one| one.description.len() + one.schema.to_string().len());
    ask.system.len() + ask.context.map_or(0, str::len) + tools.sum::<usize>()
}

/// What may stay of a history that did not fit: half, or less where the
/// server's numbers (tokens used, tokens allowed) say so.
fn target(history: usize, overhead: usize, tokens: Option<(u64, u64)>) -> usize {
    let Some((used, limit)) = tokens.filter(|(used, limit)| used > limit) else {
        return history / 2;
    };
    // A fifth is left for the answer.
    let share = 0.8 * limit as f64 / used as f64;
    let fits = (share * (history + overhead) as f64) as usize;
    fits.saturating_sub(overhead).min(history / 2)
}
