//! Build a code agent from zero: what the chapters stand on.
//!
//! First the helpers, then the one module that each chapter adds, in the order
//! of the book. A module may use what stands above it, never what comes later.

pub mod bash;
pub mod cli;
pub mod files;
pub mod frontmatter;
pub mod llm;
pub mod message;
pub mod offline;
pub mod process;
pub mod schema;
pub mod settings;
pub mod shell;
pub mod store;
pub mod text;
pub mod tool;

#[path = "../chapters/s02-tool-use/registry.rs"]
pub mod registry;

#[path = "../chapters/s03-permission/place.rs"]
pub mod place;

#[path = "../chapters/s03-permission/rules.rs"]
pub mod rules;

#[path = "../chapters/s03-permission/session.rs"]
pub mod session;

#[path = "../chapters/s03-permission/judge.rs"]
pub mod judge;

#[path = "../chapters/s03-permission/permission.rs"]
pub mod permission;

#[path = "../chapters/s04-hooks/hooks.rs"]
pub mod hooks;

#[path = "../chapters/s05-todo/todo.rs"]
pub mod todo;

#[path = "../chapters/s06-subagent/subagent.rs"]
pub mod subagent;

#[path = "../chapters/s07-skill-loading/skill.rs"]
pub mod skill;

#[path = "../chapters/s07-skill-loading/skills.rs"]
pub mod skills;

#[path = "../chapters/s08-context-compact/compact.rs"]
pub mod compact;
