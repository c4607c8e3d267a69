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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn config(vars: &[(&str, &str)]) -> Result<Config, UsageError> {
        let vars =
            vars.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let settings = Settings::from_parts(Path::new("/nowhere"), vars).unwrap();
        Config::from_settings(&settings)
    }

    fn provider(vars: &[(&str, &str)]) -> Provider {
        config(vars).unwrap().provider
    }

    #[test]
    fn the_provider_whose_variables_are_set_is_taken() {
        let (openai, anthropic) =
            (("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"));
        let base = ("OPENAI_BASE_URL", "http://localhost/v1");
        assert_eq!(provider(&[]), Provider::Offline);
        assert_eq!(provider(&[("OPENAI_MODEL", "m")]), Provider::Offline);
        assert_eq!(provider(&[anthropic]), Provider::Anthropic);
        assert_eq!(provider(&[anthropic, openai]), Provider::OpenAi);
        assert_eq!(provider(&[anthropic, base]), Provider::OpenAi);
        let named = ("LLM_PROVIDER", "anthropic");
        assert_eq!(provider(&[anthropic, openai, named]), Provider::Anthropic);
        assert_eq!(
            provider(&[openai, ("LLM_PROVIDER", "offline")]),
            Provider::Offline
        );
    }

    #[test]
    fn the_vendors_own_address_has_a_default_model_and_needs_a_key() {
        let own = config(&[("OPENAI_API_KEY", "k")]).unwrap();
        assert_eq!(own.base_url, "https://api.openai.com/v1");
        assert_eq!(own.model.as_deref(), Some(OPENAI_DEFAULT_MODEL));
        let other = config(&[("OPENAI_BASE_URL", "http://localhost:1/v1")]).unwrap();
        assert_eq!((other.key, other.model), (None, None));
        let vendors = "https://api.openai.com/v1/";
        for vars in [
            &[("LLM_PROVIDER", "openai")][..],
            &[("LLM_PROVIDER", "anthropic")],
            &[("OPENAI_BASE_URL", vendors)],
        ] {
            let error = config(vars).unwrap_err().0;
            assert!(error.contains("_API_KEY is not set"), "{error}");
        }
    }

    #[test]
    fn addresses_are_cleaned() {
        let clean = |name: &str, url: &str| {
            config(&[
                (name, url),
                (
                    "LLM_PROVIDER",
                    if name.starts_with('O') { "openai" } else { "anthropic" },
                ),
            ])
        };
        for (name, given, base) in [
            ("OPENAI_BASE_URL", "http://h/v1", "http://h/v1"),
            ("OPENAI_BASE_URL", " http://h/v1// ", "http://h/v1"),
            ("OPENAI_BASE_URL", "http://h:8080", "http://h:8080"),
            ("OPENAI_BASE_URL", "http://h/v1/chat/completions/", "http://h/v1"),
            ("ANTHROPIC_BASE_URL", "http://h/v1", "http://h"),
            ("ANTHROPIC_BASE_URL", "http://h/a/v1/messages", "http://h/a"),
            ("ANTHROPIC_BASE_URL", "http://h/", "http://h"),
        ] {
            assert_eq!(clean(name, given).unwrap().base_url, base, "{given}");
        }
        for bad in
            ["localhost:11434/v1", "ftp://h", "nonsense", "http://", "http://h?a=b"]
        {
            let error = clean("OPENAI_BASE_URL", bad).unwrap_err().0;
            assert!(error.starts_with("OPENAI_BASE_URL "), "{error}");
        }
    }

    #[test]
    fn mistakes_are_told_and_keys_are_not() {
        let error = config(&[("LLM_PROVIDER", "gemini")]).unwrap_err().0;
        assert!(
            error.contains("`gemini`") && error.contains("anthropic"),
            "{error}"
        );
        let error = config(&[("OPENAI_API_KEY", "sk-se cret")]).unwrap_err().0;
        assert!(
            !error.contains("cret") && error.contains("copy it again"),
            "{error}"
        );
        let shown =
            format!("{:?}", config(&[("OPENAI_API_KEY", "secret")]).unwrap());
        assert!(!shown.contains("secret"), "{shown}");
    }
}
