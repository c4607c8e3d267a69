//! Which server is asked, and how: chosen from the settings.

use super::secrets;
use crate::settings::{Settings, UsageError};
use reqwest::Url;
use std::fmt;

/// A current, inexpensive model of the vendor: used when none is named.
pub const OPENAI_DEFAULT_MODEL: &str = "gpt-5-mini";
/// A current, inexpensive model of the vendor: used when none is named.
pub const ANTHROPIC_DEFAULT_MODEL: &str = "claude-haiku-4-5";

const OPENAI_BASE: &str = "https://api.openai.com/v1";
const ANTHROPIC_BASE: &str = "https://api.anthropic.com";

/// Who answers, and thereby which wire format is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI, or any server that speaks Chat Completions.
    OpenAi,
    Anthropic,
    /// The scripted model of a chapter, on loopback, in OpenAI's format.
    Offline,
}

/// How to reach a model.
#[derive(Clone, PartialEq)]
pub struct Config {
    pub provider: Provider,
    /// Without a slash at its end. Empty for [`Provider::Offline`], whose
    /// address is known only when it is served: see [`Config::at`].
    pub base_url: String,
    /// The key, for those who need one. It is never shown.
    pub key: Option<String>,
    /// `None`: the only one that the server lists.
    pub model: Option<String>,
}

impl Config {
    /// Chooses the provider: `LLM_PROVIDER`, else the one whose variables are
    /// set, else the scripted model.
    ///
    /// # Errors
    /// An unknown provider, an unusable address or key, a vendor's own address
    /// without a key.
    pub fn from_settings(settings: &Settings) -> Result<Config, UsageError> {
        match provider(settings)? {
            Provider::OpenAi => vendor(settings, &OPENAI),
            Provider::Anthropic => vendor(settings, &ANTHROPIC),
            Provider::Offline => {
                let config = Config::at("", "scripted");
                Ok(Config { provider: Provider::Offline, ..config })
            }
        }
    }

    /// A server in OpenAI's format that needs no key.
    pub fn at(base_url: &str, model: &str) -> Config {
        Config {
            provider: Provider::OpenAi,
            base_url: base_url.trim_end_matches('/').into(),
            key: None,
            model: Some(model.into()),
        }
    }
}

/// The key is left out.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("provider", &self.provider)
            .field("base_url", &secrets::shown(&self.base_url))
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

fn provider(settings: &Settings) -> Result<Provider, UsageError> {
    let is_set = |name| settings.get(name).is_some();
    match settings.get("LLM_PROVIDER") {
        Some("openai") => Ok(Provider::OpenAi),
        Some("anthropic") => Ok(Provider::Anthropic),
        Some("offline") => Ok(Provider::Offline),
        Some(other) => Err(UsageError(format!(
            "LLM_PROVIDER is `{other}`, but must be openai, anthropic or offline"
        ))),
        None if is_set("OPENAI_API_KEY") || is_set("OPENAI_BASE_URL") => {
            Ok(Provider::OpenAi)
        }
        None if is_set("ANTHROPIC_API_KEY") => Ok(Provider::Anthropic),
        None => Ok(Provider::Offline),
    }
}

/// What differs between the two.
struct Vendor {
    provider: Provider,
    /// The beginning of the variables' names.
    prefix: &'static str,
    base: &'static str,
    model: &'static str,
    /// Endings of an address that belong to the endpoint, not to the base.
    endings: &'static [&'static str],
}

const OPENAI: Vendor = Vendor {
    provider: Provider::OpenAi,
    prefix: "OPENAI",
    base: OPENAI_BASE,
    model: OPENAI_DEFAULT_MODEL,
    endings: &["/chat/completions"],
};
const ANTHROPIC: Vendor = Vendor {
    provider: Provider::Anthropic,
    prefix: "ANTHROPIC",
    base: ANTHROPIC_BASE,
    model: ANTHROPIC_DEFAULT_MODEL,
    endings: &["/messages", "/v1"],
};

fn vendor(settings: &Settings, vendor: &Vendor) -> Result<Config, UsageError> {
    let prefix = vendor.prefix;
    let get =
        |name: &str| settings.get(&format!("{prefix}_{name}")).map(str::to_string);
    let base_url = match get("BASE_URL") {
        Some(given) => clean(&given, vendor)
            .map_err(|why| UsageError(format!("{prefix}_BASE_URL {why}")))?,
        None => vendor.base.to_string(),
    };
    let is_own = base_url != vendor.base;
    let key = get("API_KEY");
    if key.is_none() && !is_own {
        return Err(UsageError(format!(
            "{prefix}_API_KEY is not set: {} needs a key. Set it, or name another \
             server in {prefix}_BASE_URL, or set LLM_PROVIDER=offline",
            vendor.base
        )));
    }
    if key.as_ref().is_some_and(|key| !key.bytes().all(|b| b.is_ascii_graphic())) {
        return Err(UsageError(format!(
            "{prefix}_API_KEY holds a character that no key has (a space, a line \
             break, a letter beyond ASCII): copy it again"
        )));
    }
    let model = get("MODEL").or_else(|| (!is_own).then(|| vendor.model.to_string()));
    Ok(Config { provider: vendor.provider, base_url, key, model })
}

/// The base of an address as people paste it.
fn clean(given: &str, vendor: &Vendor) -> Result<String, String> {
    let url = Url::parse(given).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https") && url.host().is_some()
    });
    let Some(url) = url else {
        return Err(format!(
            "is `{}`, but must be an address such as http://localhost:11434/v1",
            secrets::mask(given, None)
        ));
    };
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must end with its path: `?` and `#` are not supported".into());
    }
    let mut base = url.as_str().trim_end_matches('/');
    for ending in vendor.endings {
        base = base.strip_suffix(ending).unwrap_or(base).trim_end_matches('/');
    }
    Ok(base.to_string())
}
