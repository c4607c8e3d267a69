//! Chapters look only back: a module may use helpers and the modules of its own
//! and earlier chapters, so that a reader never meets what is not yet explained.

use anyhow::Result;

use crate::project::Project;

/// A chapter's module as the library mounts it.
#[derive(Clone)]
struct Mount {
    chapter: String,
    name: String,
}

pub fn check(project: &Project) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mounts = mounts(&project.read("src/lib.rs")?);
    let chapters: Vec<String> =
        project.chapters()?.into_iter().map(|chapter| chapter.name).collect();
    let rank = |name: &str| chapters.iter().position(|chapter| chapter == name);
    for pair in mounts.windows(2) {
        if rank(&pair[0].chapter) > rank(&pair[1].chapter) {
            faults.push(format!(
                "src/lib.rs: `{}` is mounted before `{}` of an earlier chapter: \
                 mount them in chapter order",
                pair[0].name, pair[1].name
            ));
        }
    }
    for file in project.rust_files("src") {
        let cure = "which no helper may: move what it needs to src/";
        faults.extend(uses(project, &file, &mounts, cure)?);
    }
    for chapter in &chapters {
        let later = |m: &&Mount| rank(&m.chapter) > rank(chapter);
        let later: Vec<Mount> = mounts.iter().filter(later).cloned().collect();
        for file in project.rust_files(&format!("chapters/{chapter}")) {
            let cure = "a later chapter: pass what it needs as a parameter";
            faults.extend(uses(project, &file, &later, cure)?);
        }
        faults.extend(own_modules(project, &format!("chapters/{chapter}/main.rs")));
    }
    Ok(faults)
}

/// Complains about each forbidden module that a file uses.
fn uses(
    project: &Project,
    file: &str,
    forbidden: &[Mount],
    cure: &str,
) -> Result<Vec<String>> {
    let text = project.read(file)?;
    let library =
        if file.ends_with("/main.rs") { "code_agent::" } else { "crate::" };
    let names = names_after(library, &text);
    let used = forbidden.iter().filter(|mount| names.contains(&mount.name));
    Ok(used
        .map(|Mount { name, chapter }| {
            format!("{file}: uses `{name}` of {chapter}, {cure}")
        })
        .collect())
}

/// A module that `main.rs` declares would be compiled a second time, with types
/// that the library's do not match.
fn own_modules(project: &Project, file: &str) -> Option<String> {
    let text = project.read(file).ok()?;
    let declares = |line: &&str| {
        let line = line.trim().trim_start_matches("pub ");
        line.starts_with("mod ") && line.ends_with(';')
    };
    let line = text.lines().find(declares)?.trim();
    Some(format!(
        "{file}: has `{line}`: mount the module in src/lib.rs, and import it from \
         code_agent"
    ))
}

/// The mounts of `src/lib.rs`, in its order.
fn mounts(lib: &str) -> Vec<Mount> {
    let mut mounts = Vec::new();
    let mut chapter = None;
    for line in lib.lines().map(str::trim) {
        if let Some(path) = line.strip_prefix("#[path = \"../chapters/") {
            chapter = path.split('/').next().map(str::to_string);
        } else if let Some(name) = line.strip_prefix("pub mod ")
            && let Some(chapter) = chapter.take()
        {
            let name = name.trim_end_matches(';').to_string();
            mounts.push(Mount { chapter, name });
        }
    }
    mounts
}

/// The names that stand behind `crate::`, also in braces.
fn names_after(path: &str, text: &str) -> Vec<String> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code: String = code.collect::<Vec<_>>().join("\n");
    let mut names = Vec::new();
    for rest in code.split(path).skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => names.extend(members(group)),
            None => names.push(word(rest)),
        }
    }
    names
}

/// The first names of the members of a group, whose `{` has been read.
fn members(group: &str) -> Vec<String> {
    let mut depth = 0;
    let mut names = vec![word(group)];
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(word(&group[at + 1..])),
            _ => {}
        }
    }
    names
}

fn word(text: &str) -> String {
    let text = text.trim_start();
    let end = text.find(|c: char| c != '_' && !c.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_behind_crate_are_found() {
        let text = "use crate::a::B;\nuse crate::{\n    b::{self, c},\n    d,\n};\n\
            // crate::e\nlet x = crate::f();\n";
        let names = names_after("crate::", text);
        assert_eq!(names, ["a", "b", "d", "", "f"]);
    }

    #[test]
    fn mounts_keep_their_order() {
        let lib = "pub mod tool;\n\n/// Doc.\n#[path = \"../chapters/s02-x/y.rs\"]\n\
            pub mod y;\n";
        let mounts = mounts(lib);
        assert_eq!(mounts.len(), 1);
        assert_eq!((&*mounts[0].chapter, &*mounts[0].name), ("s02-x", "y"));
    }
}
