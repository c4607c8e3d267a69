//! The line diff between two versions of a file, with every line kept: the
//! steps of a chapter are subsets of its changed lines.

use std::ops::Range;

use similar::{Algorithm, ChangeTag, TextDiff};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    Same,
    Deleted,
    Inserted,
}

#[derive(Debug)]
pub struct Line {
    pub tag: Tag,
    /// With its line break, so that files can be put together again.
    pub text: String,
    /// Counted from 1 in the file the line belongs to (the new one if both).
    pub number: usize,
}

impl Line {
    pub fn changed(&self) -> bool {
        self.tag != Tag::Same
    }

    pub fn blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Such as `+12`: how messages name a changed line.
    pub fn name(&self) -> String {
        let sign = if self.tag == Tag::Deleted { '-' } else { '+' };
        format!("{sign}{}", self.number)
    }
}

pub struct Diff {
    pub lines: Vec<Line>,
}

impl Diff {
    pub fn new(old: &str, new: &str) -> Diff {
        let diff = TextDiff::configure()
            .algorithm(Algorithm::Patience)
            .diff_lines(old, new);
        let lines = diff.iter_all_changes().map(|change| Line {
            tag: match change.tag() {
                ChangeTag::Equal => Tag::Same,
                ChangeTag::Delete => Tag::Deleted,
                ChangeTag::Insert => Tag::Inserted,
            },
            text: change.value().to_string(),
            number: 0,
        });
        let mut diff = Diff { lines: lines.collect() };
        diff.slide_all();
        diff.count();
        diff
    }

    /// The run of changed lines around a changed line.
    pub fn hunk(&self, at: usize) -> Range<usize> {
        let same = |line: &Line| !line.changed();
        let start = self.lines[..at].iter().rposition(same);
        let end = self.lines[at..].iter().position(same);
        start.map_or(0, |i| i + 1)..end.map_or(self.lines.len(), |i| at + i)
    }

    /// The places of the lines of one version: the old one for `Deleted`.
    pub fn side(&self, tag: Tag) -> Vec<usize> {
        (0..self.lines.len())
            .filter(|&i| self.lines[i].tag == Tag::Same || self.lines[i].tag == tag)
            .collect()
    }

    fn count(&mut self) {
        for tag in [Tag::Deleted, Tag::Inserted] {
            for (number, at) in self.side(tag).into_iter().enumerate() {
                self.lines[at].number = number + 1;
            }
        }
    }

    /// Where a run may begin one line earlier or later without changing what
    /// it does, moves it to where a person would cut: before an item, not
    /// before the brace that closes the one above.
    fn slide_all(&mut self) {
        let mut at = 0;
        while at < self.lines.len() {
            if !self.lines[at].changed() {
                at += 1;
                continue;
            }
            let hunk = self.hunk(at);
            at = self.slide(hunk);
        }
    }

    fn slide(&mut self, hunk: Range<usize>) -> usize {
        let tag = self.lines[hunk.start].tag;
        if self.lines[hunk.clone()].iter().any(|line| line.tag != tag) {
            return hunk.end;
        }
        let same = |a: usize, b: usize| {
            !self.lines[a].changed() && self.lines[a].text == self.lines[b].text
        };
        let mut first = hunk.start;
        while first > 0 && same(first - 1, first - 1 + hunk.len()) {
            first -= 1;
        }
        let mut last = hunk.start;
        // The line that would leave at the top must return at the bottom.
        while last + hunk.len() < self.lines.len()
            && !self.lines[last + hunk.len()].changed()
            && self.lines[last].text == self.lines[last + hunk.len()].text
        {
            last += 1;
        }
        // The last of equals: the text above stays where it was.
        let best = (first..=last).rev().min_by_key(|&at| self.ugliness(at));
        let best = best.unwrap_or(hunk.start);
        for at in first..last + hunk.len() {
            let inside = (best..best + hunk.len()).contains(&at);
            self.lines[at].tag = if inside { tag } else { Tag::Same };
        }
        last + hunk.len()
    }

    /// How unnatural it is for a run to begin with this line.
    fn ugliness(&self, at: usize) -> (bool, usize, bool) {
        let text = &self.lines[at].text;
        let next = self.lines[at..].iter().find(|line| !line.blank());
        let indent = next.map_or(0, |line| crate::rust::indent(&line.text));
        (crate::rust::closes(text), indent, self.lines[at].blank())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(old: &str, new: &str) -> String {
        let diff = Diff::new(old, new);
        let mark = |line: &Line| match line.tag {
            Tag::Same => ' ',
            Tag::Deleted => '-',
            Tag::Inserted => '+',
        };
        diff.lines.iter().map(mark).collect()
    }

    #[test]
    fn a_new_function_begins_at_its_head() {
        let function = |name| format!("fn {name}() {{\n    x();\n}}\n");
        let [a, b, c] = ["a", "b", "c"].map(function);
        let marks = marks(&format!("{a}\n{c}"), &format!("{a}\n{b}\n{c}"));
        assert_eq!(marks, "    ++++   ");
    }

    #[test]
    fn a_new_last_function_takes_the_blank_line_above() {
        let new = "fn a() {\n}\n\nfn b() {\n}\n";
        assert_eq!(marks("fn a() {\n}\n", new), "  +++");
    }

    #[test]
    fn a_new_block_begins_at_its_head() {
        let old = "{\n    for a in b {\n        c;\n    }\n}\n";
        let new = old.replacen(
            "    }\n",
            "    }\n    for d in e {\n        c;\n    }\n",
            1,
        );
        assert_eq!(marks(old, &new), "    +++ ");
    }

    #[test]
    fn repeated_lines_slide_without_touching_the_neighbour_run() {
        for (old, new) in [
            ("a\na\nb\n", "a\na\na\nb\nb\n"),
            ("x\n\n\ny\n", "x\n\n\n\nz\n\ny\n"),
            ("a\nb\na\nb\n", "b\na\nb\na\nb\nc"),
            ("", "a\na\n"),
            ("a\na\n", ""),
        ] {
            let diff = Diff::new(old, new);
            for (tag, text) in [(Tag::Deleted, old), (Tag::Inserted, new)] {
                let side = diff.side(tag).into_iter();
                let side: String = side.map(|i| &*diff.lines[i].text).collect();
                assert_eq!(side, text);
            }
        }
    }
}
