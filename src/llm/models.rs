//! Which models does a server have?

use super::LlmError;
use super::http::Http;
use super::json;
use super::wire::Wire;
use crate::settings::UsageError;
use serde_json::Value;

/// The name of the only model of a server.
///
/// # Errors
/// There is none, or a choice to make, or the server does not say.
pub async fn only_one(http: &Http, wire: &Wire) -> Result<String, UsageError> {
    let (path, variable) = wire.models;
    let url = http.shown(path);
    let problem =
        |what| UsageError(format!("{variable} is not set, and {what}: set it"));
    let mut names = list(http, path).await.map_err(|error| {
        problem(format!("{url} does not list the models ({error})"))
    })?;
    match names.len() {
        0 => Err(problem(format!("{url} lists no model"))),
        1 => Ok(names.remove(0)),
        _ => Err(problem(format!("{url} lists several ({})", names.join(", ")))),
    }
}

async fn list(http: &Http, path: &str) -> Result<Vec<String>, LlmError> {
    let received = http.get(path).await?;
    let problem = |what: String| LlmError::Fatal(what);
    if received.status != 200 {
        return Err(problem(format!("HTTP {}", received.status)));
    }
    let value = json::parse(&received.body).map_err(|e| problem(e.to_string()))?;
    let places = [&value["data"], &value["models"], &value];
    let models = places.into_iter().find_map(Value::as_array);
    let models = models.ok_or_else(|| problem("no list in the answer".into()))?;
    Ok(models.iter().filter_map(name).collect())
}

fn name(model: &Value) -> Option<String> {
    let places = [&model["id"], &model["name"], &model["model"], model];
    places.into_iter().find_map(Value::as_str).map(str::to_string)
}
