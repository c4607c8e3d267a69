//! What must come of each case.

/// How a case must end.
pub enum End {
    /// With this answer.
    Says(&'static str),
    /// With an answer that ends so.
    Ends(&'static str),
    /// With this answer, which was cut.
    Cut(&'static str),
    /// With this kind of error, whose text holds these words.
    Fails(&'static str, &'static [&'static str]),
}
use End::{Cut, Ends, Fails, Says};

/// Case, the calls that ran, the number of requests, the end.
pub type Row = (&'static str, &'static [&'static str], usize, End);

const READ: &[&str] = &["read_file a.txt"];
const LIST: &[&str] = &["list_dir"];
const BOTH: &[&str] = &["read_file a.txt", "list_dir"];
const NONE: &[&str] = &[];

pub const EXPECTED: &[Row] = &[
    // What a message holds.
    ("content-null-with-call", READ, 2, Says("DONE")),
    ("content-key-missing", READ, 2, Says("DONE")),
    ("message-key-missing", NONE, 1, Fails("empty", &["stop"])),
    ("content-parts-array", NONE, 1, Says("forty-two")),
    ("content-empty-stop", NONE, 1, Fails("empty", &["stop"])),
    ("think-only-closing-tag", NONE, 1, Says("ANSWER")),
    ("think-block-inline", NONE, 1, Says("ANSWER")),
    ("text-tool-call-json-block", NONE, 2, Says("DONE")),
    ("text-tool-call-quoted-in-fence", NONE, 1, Ends("That is all.")),
    ("refusal-field", NONE, 1, Says("I cannot help with that.")),
    // Calls and their ids.
    ("tool-calls-null", NONE, 1, Says("DONE")),
    ("tool-calls-empty-array-stop", NONE, 1, Says("DONE")),
    ("id-empty-string", READ, 2, Says("DONE")),
    ("id-missing-two-calls", BOTH, 2, Says("DONE")),
    ("id-duplicate-in-one-message", BOTH, 2, Says("DONE")),
    (
        "id-reused-next-turn",
        &["read_file a.txt", "read_file b.txt"],
        3,
        Says("DONE"),
    ),
    ("unknown-tool-name", NONE, 2, Says("DONE")),
    (
        "one-of-two-tools-fails",
        &["read_file does-not-exist", "list_dir"],
        2,
        Says("DONE"),
    ),
    ("ollama-native-shape", READ, 2, Says("DONE")),
    // Their arguments.
    ("args-empty-string", LIST, 2, Says("DONE")),
    ("args-string-null", LIST, 2, Says("DONE")),
    ("args-key-missing", LIST, 2, Says("DONE")),
    ("args-trailing-prose", NONE, 2, Says("DONE")),
    ("args-cut-but-finish-tool-calls", NONE, 2, Says("DONE")),
    ("args-bad-escape", NONE, 2, Says("DONE")),
    ("args-raw-newline", NONE, 2, Says("DONE")),
    ("args-array", NONE, 2, Says("DONE")),
    ("args-nested-object-as-string", &["edit a.txt:1"], 2, Says("DONE")),
    // Why the model stopped.
    ("finish-null-text", NONE, 1, Says("DONE")),
    ("finish-null-with-call", READ, 2, Says("DONE")),
    ("finish-tool-use", READ, 2, Says("DONE")),
    ("finish-function-calls", READ, 2, Says("DONE")),
    (
        "finish-content-filter-with-calls",
        NONE,
        1,
        Fails("refused", &["filter", "not run"]),
    ),
    ("finish-length-text", NONE, 1, Cut("part one ")),
    ("finish-length-empty-reasoning", NONE, 1, Fails("empty", &["length"])),
    ("anthropic-stop-context-window", NONE, 1, Cut("half")),
    (
        "anthropic-stop-refusal-empty",
        NONE,
        1,
        Fails("refused", &["the model refused"]),
    ),
    ("anthropic-stop-refusal-with-tool", NONE, 1, Fails("refused", &["not run"])),
    (
        "anthropic-pause-turn",
        NONE,
        1,
        Fails("fatal", &["pause_turn", "not supported"]),
    ),
    // Errors, in all their shapes.
    (
        "error-in-200-numeric-code",
        NONE,
        1,
        Fails("transport", &["502", "upstream went away"]),
    ),
    ("error-in-200-string-code", NONE, 1, Fails("rate", &["429", "slow down"])),
    ("error-in-choice", NONE, 1, Fails("transport", &["503", "no capacity"])),
    ("html-in-200", NONE, 1, Fails("fatal", &["200", "text/html", "Sign in"])),
    ("html-502", NONE, 1, Fails("transport", &["502", "Bad Gateway"])),
    (
        "error-top-level-object",
        NONE,
        1,
        Fails("fatal", &["400", "bad thing happened"]),
    ),
    (
        "error-detail-string",
        NONE,
        1,
        Fails("fatal", &["404", "'x' was not found", "http://"]),
    ),
    ("error-detail-list", NONE, 2, Says("DONE")),
    (
        "error-array-wrapped",
        NONE,
        1,
        Fails("fatal", &["contains an invalid argument"]),
    ),
    ("error-nil-type", NONE, 2, Says("DONE")),
    ("error-empty-body", NONE, 1, Fails("fatal", &["400", "empty body"])),
    ("blank-200", NONE, 1, Fails("transport", &["empty body"])),
    ("leading-blank-lines", NONE, 1, Says("DONE")),
    ("body-cut-short", NONE, 1, Fails("transport", &["the connection broke"])),
    ("error-int-code-429", NONE, 1, Fails("rate", &["429", "slow"])),
    ("ollama-cloud-status-text", NONE, 1, Fails("fatal", &["Name cannot be empty"])),
    // Whether to try again.
    ("retry-after-seconds", NONE, 1, Fails("rate after 2s", &["rate limited"])),
    ("retry-after-date-past", NONE, 1, Fails("transport after 0s", &["busy"])),
    ("retry-after-hours", NONE, 1, Fails("rate after 7200s", &["try later"])),
    ("quota-exhausted-429", NONE, 1, Fails("quota", &["quota", "billing"])),
    (
        "groq-413-tpm",
        NONE,
        1,
        Fails("too long: 9000 of 8000", &["Request too large"]),
    ),
    ("overloaded-529", NONE, 1, Fails("overloaded", &["Overloaded"])),
    ("llamacpp-loading-503", NONE, 1, Fails("transport", &["Loading model"])),
    ("x-should-retry-false", NONE, 1, Fails("fatal", &["500", "no"])),
    (
        "llamacpp-500-bad-args",
        NONE,
        1,
        Fails("fatal", &["Failed to parse tool call"]),
    ),
    (
        "groq-tool-use-failed",
        NONE,
        1,
        Fails("transport", &["Failed to call a function"]),
    ),
    ("auth-401", NONE, 1, Fails("fatal", &["401", "sk-…", "check the API key"])),
    ("connection-drop", NONE, 1, Fails("transport", &["the connection broke"])),
    // A conversation that does not fit.
    ("ov-openai", NONE, 1, Fails("too long: 9001 of 8192", &[])),
    (
        "ov-anthropic-max-tokens",
        NONE,
        1,
        Fails("max_tokens: 10000", &["190000 + 32000"]),
    ),
    ("ov-vllm-nested", NONE, 1, Fails("too long: 32769 of 32768", &[])),
    ("ov-vllm-flat", NONE, 1, Fails("too long: 2723 of 2048", &[])),
    ("ov-sglang", NONE, 1, Fails("too long: 140000 of 131072", &[])),
    ("ov-llamacpp-500", NONE, 1, Fails("too long: 1407 of 256", &[])),
    ("ov-ollama-no-user", NONE, 1, Fails("too long", &["no user query"])),
    ("ov-moonshot", NONE, 1, Fails("too long: 270000 of 262144", &[])),
    ("ov-dashscope", NONE, 1, Fails("too long: ? of 129024", &[])),
    ("ov-gemini-array", NONE, 1, Fails("too long: 1200000 of 1048576", &[])),
    ("ov-bedrock", NONE, 1, Fails("too long", &["Input is too long"])),
    ("ov-groq", NONE, 1, Fails("too long", &["reduce the length"])),
    ("ov-mistral", NONE, 1, Fails("too long: 40000 of 32768", &[])),
    (
        "ov-lmstudio",
        NONE,
        1,
        Fails("too long", &["greater than the context length"]),
    ),
    ("ov-compaction-overflows-too", NONE, 1, Fails("too long: 1500 of 1000", &[])),
    ("ollama-silent-truncation", NONE, 1, Says("What would you like me to do?")),
    // What the next request must look like.
    ("deepseek-400-passed-back", NONE, 2, Says("DONE")),
    ("groq-rejects-reasoning", NONE, 2, Says("DONE")),
    ("gemini-thought-signature", READ, 2, Says("DONE")),
    ("system-not-first", NONE, 1, Fails("fatal", &["System message must be"])),
    ("anthropic-tool-result-first", BOTH, 2, Says("DONE")),
    ("anthropic-thinking-roundtrip", LIST, 2, Says("DONE")),
    ("anthropic-empty-text-400", NONE, 1, Fails("fatal", &["must be non-empty"])),
    ("anthropic-prefill-unsupported", NONE, 1, Fails("fatal", &["end with a user"])),
    // Parameters and schemas.
    ("max-tokens-unsupported", NONE, 2, Says("DONE")),
    ("schema-missing-properties", NONE, 1, Fails("fatal", &["missing properties"])),
    ("schema-unknown-keywords-gemini", NONE, 1, Fails("fatal", &["$schema"])),
    (
        "tools-unsupported",
        NONE,
        1,
        Fails("fatal", &["not support tools", "choose a model"]),
    ),
    (
        "anthropic-max-tokens-missing",
        NONE,
        1,
        Fails("fatal", &["body.max_tokens: Field"]),
    ),
    // The envelope, the address, the transport.
    (
        "s-sse-instead-of-json",
        NONE,
        1,
        Fails("fatal", &["text/event-stream", "streams"]),
    ),
    ("envelope-minimal", NONE, 1, Says("DONE")),
    ("usage-null", NONE, 1, Says("DONE")),
    ("usage-details-null", NONE, 1, Says("DONE")),
    ("id-and-created-odd-types", NONE, 1, Says("DONE")),
    ("base-with-v1", NONE, 1, Says("DONE")),
    ("base-with-slash", NONE, 1, Says("DONE")),
    (
        "redirect-301",
        NONE,
        1,
        Fails("fatal", &["301", "/elsewhere/chat/completions"]),
    ),
    ("proxy-env-loopback", NONE, 1, Says("DONE")),
    ("big-answer-12mb", NONE, 1, Ends("xxxxxxxxxx")),
];

/// These are about streams, which this client does not ask for.
pub const STREAMING: [&str; 12] = [
    "s-index-starts-at-one",
    "s-name-in-every-chunk",
    "s-empty-choices-usage",
    "s-data-comment",
    "s-done-missing-but-finish",
    "s-error-object",
    "s-error-string",
    "s-error-with-empty-choices",
    "s-utf8-split",
    "s-json-instead-of-sse",
    "s-anthropic-no-arg-tool",
    "s-anthropic-overloaded-midstream",
];
