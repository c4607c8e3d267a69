//! One HTTP exchange: bytes out, status, headers and text back.

use super::config::{Config, Provider};
use super::error::LlmError;
use super::secrets;
use anyhow::Context;
use hyper::body::Bytes;
use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use reqwest::{Client, RequestBuilder, Url, redirect};
use std::error::Error;
use std::time::Duration;

/// A server that is there answers at once …
const CONNECT: Duration = Duration::from_secs(10);
/// … but a model on a slow machine may think for a long time.
const TOTAL: Duration = Duration::from_secs(20 * 60);
/// A list needs no thinking.
const LISTING: Duration = Duration::from_secs(30);

/// What came back, whatever the status.
pub struct Received {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

/// A connection to one server, with what it wants to see in each request.
#[derive(Clone)]
pub struct Http {
    client: Client,
    base: String,
    key: Option<String>,
    proxy: String,
}

impl Http {
    pub fn new(config: &Config) -> anyhow::Result<Http> {
        // A second call changes nothing, so its error says nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = Url::parse(&config.base_url).context("the address is unusable")?;
        let mut builder = Client::builder()
            .connect_timeout(CONNECT)
            .timeout(TOTAL)
            // A redirected POST arrives as a GET without a body.
            .redirect(redirect::Policy::none())
            .default_headers(headers(config)?);
        let direct = is_loopback(&url);
        if direct {
            builder = builder.no_proxy();
        }
        if url.scheme() == "http" {
            // Reading the system's certificates takes longer than all the rest
            // of the start, and nobody needs them here.
            builder = builder.tls_certs_only([]);
        }
        Ok(Http {
            client: builder
                .build()
                .context("cannot prepare for HTTPS: are certificates installed?")?,
            base: config.base_url.clone(),
            key: config.key.clone(),
            proxy: if direct { String::new() } else { proxy(url.scheme()) },
        })
    }

    pub async fn post(&self, path: &str, body: Bytes) -> Result<Received, LlmError> {
        self.send(self.client.post(self.url(path)).body(body)).await
    }

    pub async fn get(&self, path: &str) -> Result<Received, LlmError> {
        self.send(self.client.get(self.url(path)).timeout(LISTING)).await
    }

    /// The address of an endpoint, fit to be shown.
    pub fn shown(&self, path: &str) -> String {
        secrets::shown(&self.url(path))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Received, LlmError> {
        let response = request.send().await.map_err(|error| self.broken(error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(|error| self.broken(error))?;
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Received { status: status.as_u16(), headers, body })
    }

    /// What came back, fit to be shown.
    pub fn masked(&self, received: Received) -> Received {
        Received { body: self.mask(&received.body), ..received }
    }

    fn mask(&self, text: &str) -> String {
        secrets::mask(text, self.key.as_deref())
    }

    /// The causes of a failed exchange, each said once.
    fn broken(&self, error: reqwest::Error) -> LlmError {
        let what = if error.is_timeout() {
            "timed out"
        } else if error.is_connect() {
            "cannot connect"
        } else {
            "the connection broke"
        };
        let proxy = if error.is_connect() { &*self.proxy } else { "" };
        let cause = deepest(&error);
        let server = secrets::shown(&self.base);
        let message = format!("{what}: {server}: {cause}{proxy}");
        LlmError::Transport { message: self.mask(&message), wait: None }
    }
}

fn deepest(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn headers(config: &Config) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let (name, prefix) = match config.provider {
        Provider::Anthropic => {
            let version = HeaderValue::from_static("2023-06-01");
            headers.insert("anthropic-version", version);
            (HeaderName::from_static("x-api-key"), "")
        }
        Provider::OpenAi | Provider::Offline => (AUTHORIZATION, "Bearer "),
    };
    if let Some(key) = &config.key {
        let value = HeaderValue::from_str(&format!("{prefix}{key}"));
        let mut value =
            value.context("the key holds a character that no key has")?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Is this machine itself meant? Then no proxy can help.
fn is_loopback(url: &Url) -> bool {
    match url.host_str().unwrap_or("") {
        "localhost" | "[::1]" | "0.0.0.0" => true,
        host => host.starts_with("127.") || host.ends_with(".localhost"),
    }
}

/// A hint at the proxy that the environment names for this scheme.
fn proxy(scheme: &str) -> String {
    let own = format!("{scheme}_proxy");
    let names = [own.to_uppercase(), own, "ALL_PROXY".into(), "all_proxy".into()];
    let set = names.iter().find_map(|name| Some((name, std::env::var(name).ok()?)));
    match set {
        Some((name, value)) if !value.is_empty() => {
            let value = secrets::shown(&value);
            format!(" (by the proxy {value} of {name}; NO_PROXY exempts a host)")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_many_names() {
        let is_here = |url: &str| is_loopback(&Url::parse(url).unwrap());
        for here in ["http://localhost:1", "http://127.1.2.3", "http://[::1]:8/v1"] {
            assert!(is_here(here), "{here}");
        }
        for there in ["https://api.openai.com", "http://128.0.0.1", "http://[::2]"] {
            assert!(!is_here(there), "{there}");
        }
    }
}
