//! Just enough Markdown: a page as text lines and fenced blocks.

#[derive(Debug)]
pub struct Fence<'a> {
    /// The line of the page on which it begins, counted from 1.
    pub line: usize,
    /// What stands behind the backticks.
    pub info: &'a str,
    pub body: Vec<&'a str>,
    /// All its lines as written, fences too.
    pub raw: Vec<&'a str>,
}

impl<'a> Fence<'a> {
    /// The first word of the info string and the rest: a directive's name and
    /// argument.
    pub fn directive(&self) -> (&'a str, &'a str) {
        let (name, rest) = self.info.split_once(' ').unwrap_or((self.info, ""));
        (name, rest.trim())
    }
}

pub enum Block<'a> {
    Text(usize, &'a str),
    Fence(Fence<'a>),
}

/// Splits a page. A fence that nobody closes reaches to the end, as in mdBook.
pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(Fence, &str)> = None;
    for (number, line) in page.lines().enumerate() {
        match open.take() {
            Some((mut fence, marks)) => {
                fence.raw.push(line);
                if line.trim_start().starts_with(marks)
                    && line.trim().trim_start_matches(&marks[..1]).is_empty()
                {
                    blocks.push(Block::Fence(fence));
                } else {
                    fence.body.push(line);
                    open = Some((fence, marks));
                }
            }
            None => match fence_marks(line) {
                Some((marks, info)) => {
                    let fence = Fence {
                        line: number + 1,
                        info,
                        body: Vec::new(),
                        raw: vec![line],
                    };
                    open = Some((fence, marks));
                }
                None => blocks.push(Block::Text(number + 1, line)),
            },
        }
    }
    blocks.extend(open.map(|(fence, _)| Block::Fence(fence)));
    blocks
}

/// The backticks (or tildes) that open a fence, and its info string.
fn fence_marks(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| "`~".contains(*c))?;
    let info = line.trim_start_matches(mark);
    let marks = &line[..line.len() - info.len()];
    (marks.len() >= 3 && !info.contains('`')).then_some((marks, info.trim()))
}

/// A fenced block, with more backticks than the text has in a row.
pub fn fenced(info: &str, text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    let marks = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{marks}{info}\n{}\n{marks}\n", text.trim_end_matches('\n'))
}

/// Rust code for the reader. mdBook hides lines of Rust that begin with `# `
/// (say, a heading in a prompt) unless the sign is doubled.
pub fn rust_block(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let code = line.trim_start();
        if code.starts_with('#')
            && !code.starts_with("#[")
            && !code.starts_with("#!")
        {
            text += &line[..line.len() - code.len()];
            text.push('#');
            text += code;
        } else {
            text += line;
        }
        text.push('\n');
    }
    fenced("rust,ignore", &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_inside_longer_fences_are_text() {
        let page = "a\n````md\n```step\nx\n```\n````\nb\n```rust\nlet x;\n";
        let blocks = blocks(page);
        let [
            Block::Text(1, "a"),
            Block::Fence(md),
            Block::Text(7, "b"),
            Block::Fence(rust),
        ] = &blocks[..]
        else {
            panic!("other blocks");
        };
        assert_eq!((md.line, md.info, md.body.len()), (2, "md", 3));
        assert_eq!((rust.info, &rust.body[..]), ("rust", &["let x;"][..]));
    }

    #[test]
    fn blocks_survive_backticks_and_headings() {
        assert_eq!(fenced("text", "a\n```\n"), "````text\na\n```\n````\n");
        let code = ["#[derive]", "  # Head", "## Two", "#!x", "a # b"];
        let block = rust_block(&code);
        assert_eq!(
            block,
            "```rust,ignore\n#[derive]\n  ## Head\n### Two\n#!x\na # b\n```\n"
        );
    }
}
