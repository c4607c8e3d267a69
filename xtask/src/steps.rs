//! The steps of a page over `main.rs`: they share out the changed lines between
//! the previous chapter and this one, each line to exactly one step.

use crate::diff::{Diff, Line, Tag};
use crate::render::Marked;
use crate::select::{Owners, select};

pub struct Steps {
    diff: Diff,
    owners: Owners,
    /// The line of the page on which each step begins.
    pub places: Vec<usize>,
}

impl Steps {
    /// Shares the changed lines out. `blocks` holds, for each step, its line in
    /// the page and its selectors, one a line.
    pub fn new(
        old: &str,
        new: &str,
        blocks: &[(usize, String)],
    ) -> Result<Steps, Vec<(usize, String)>> {
        let diff = Diff::new(old, new);
        let mut steps = Steps {
            owners: vec![None; diff.lines.len()],
            diff,
            places: blocks.iter().map(|(place, _)| *place).collect(),
        };
        let mut faults = Vec::new();
        for (step, (place, selectors)) in blocks.iter().enumerate() {
            if let Err(fault) = steps.take(step, selectors) {
                faults.push((*place, format!("step {}: {fault}", step + 1)));
            }
        }
        // A selector that failed leaves lines behind: name its fault alone.
        if faults.is_empty() {
            faults.extend(steps.leftover(new));
        }
        if faults.is_empty() { Ok(steps) } else { Err(faults) }
    }

    /// Gives a step the lines that its selectors name.
    fn take(&mut self, step: usize, selectors: &str) -> Result<(), String> {
        for selector in selectors.lines().map(str::trim) {
            if !selector.is_empty() {
                for at in select(&self.diff, &self.owners, selector)? {
                    self.owners[at] = Some(step);
                }
            }
        }
        match self.size(step) {
            0 => Err("it quotes no line: write one selector a line".into()),
            _ => Ok(()),
        }
    }

    /// Complains about the changed lines that no step takes.
    fn leftover(&self, new: &str) -> Option<(usize, String)> {
        let lines = self.diff.lines.iter().zip(&self.owners);
        let left: Vec<&Line> = lines
            .filter(|(line, owner)| line.changed() && owner.is_none())
            .map(|(line, _)| line)
            .collect();
        let place = self.places.last().copied().unwrap_or(1);
        if let Some(first) = left.iter().find(|line| !line.blank()).or(left.first())
        {
            let fault = format!(
                "no step takes {} changed line(s), the first is {} `{}`: quote them \
                 in a step",
                left.len(),
                first.name(),
                first.text.trim()
            );
            return Some((place, fault));
        }
        (self.state(self.len()) != new).then(|| {
            let fault = "the steps together do not give main.rs: report this bug";
            (place, fault.to_string())
        })
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// How many lines a step deletes and inserts.
    pub fn size(&self, step: usize) -> usize {
        let mine = |owner: &&Option<usize>| **owner == Some(step);
        self.owners.iter().filter(mine).count()
    }

    /// The file after the first `done` steps.
    pub fn state(&self, done: usize) -> String {
        let lines = self.diff.lines.iter().zip(&self.owners);
        lines
            .filter(|(line, owner)| {
                let taken = owner.is_some_and(|step| step < done);
                match line.tag {
                    Tag::Same => true,
                    Tag::Inserted => taken,
                    Tag::Deleted => !taken,
                }
            })
            .map(|(line, _)| &*line.text)
            .collect()
    }

    /// The state after a step with the step's changes marked in it.
    pub fn marked(&self, step: usize) -> Vec<Marked<'_>> {
        let lines = self.diff.lines.iter().zip(&self.owners);
        lines
            .filter_map(|(line, owner)| {
                let owner = owner.unwrap_or(usize::MAX);
                let mark = match line.tag {
                    Tag::Inserted if owner > step => return None,
                    Tag::Deleted if owner < step => return None,
                    Tag::Inserted if owner == step => '+',
                    Tag::Deleted if owner == step => '-',
                    _ => ' ',
                };
                Some((mark, &*line.text))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::unified;

    fn steps(old: &str, new: &str, blocks: &[&str]) -> Steps {
        let blocks = blocks.iter().map(|body| (1, body.to_string()));
        let blocks: Vec<_> = blocks.collect();
        Steps::new(old, new, &blocks).unwrap_or_else(|faults| panic!("{faults:?}"))
    }

    const OLD: &str = "\
//! Old

fn a() {
    1;
    2;
    3;
    4;
    5;
    6;
    7;
    8;
    9;
}
";

    #[test]
    fn the_states_lead_from_old_to_new() {
        let new = OLD.replace("    9;\n", "    nine;\n").replace("Old", "New");
        let steps = steps(OLD, &new, &["- Old .. - Old", "nine", "New"]);
        assert_eq!(steps.state(0), OLD);
        assert_eq!(steps.state(1), OLD.replace("//! Old\n", ""));
        assert_eq!(steps.state(3), new);
        assert_eq!((0..3).map(|k| steps.size(k)).collect::<Vec<_>>(), [1, 2, 1]);
    }

    #[test]
    fn a_step_prints_as_a_unified_diff() {
        let new = OLD.replace("    9;\n", "    nine;\n").replace("Old", "New");
        let steps = steps(OLD, &new, &["New\nnine"]);
        let expected = "\
@@ -1,4 +1,4 @@
-//! Old
+//! New

 fn a() {
     1;
@@ -9,5 +9,5 @@ fn a
     6;
     7;
     8;
-    9;
+    nine;
 }
";
        assert_eq!(unified(&steps.marked(0)), expected);
    }

    #[test]
    fn lines_of_later_steps_are_not_yet_there() {
        let steps = steps("", "fn a() {\n    b;\n}\n", &["fn a() {}", "b;"]);
        assert_eq!(unified(&steps.marked(0)), "@@ -0,0 +1,2 @@\n+fn a() {\n+}\n");
        assert_eq!(
            unified(&steps.marked(1)),
            "@@ -1,2 +1,3 @@\n fn a() {\n+    b;\n }\n"
        );
    }

    #[test]
    fn an_unchanged_file_needs_no_step() {
        assert_eq!(steps(OLD, OLD, &[]).len(), 0);
        let fault = Steps::new(OLD, "x\n", &[]).err();
        assert!(fault.is_some_and(|f| f[0].1.starts_with("no step takes 14 ")));
    }
}
