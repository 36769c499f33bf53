//! The lines of a failure's text that say most.

use anyorder_core::model::Excerpt;

/// What stands over the stack of a process that was ended at its limit; the innermost call comes next.
const STACK: &str = "(most recent call first)";

/// At most `room` lines, none of them empty: pytest's own marks where there are any, the innermost calls of a stack that
/// the process left when it was ended, the end otherwise. Untrusted, as the text is.
pub fn lines(text: &Excerpt, room: usize) -> Vec<&str> {
    let all = text.head.lines().chain(text.tail.lines()).filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = all.collect();
    let marked = lines.iter().copied().filter(|line| line.starts_with("E ") || line.starts_with("> "));
    let marked: Vec<&str> = marked.take(room).collect();
    if !marked.is_empty() {
        return marked;
    }
    // With several threads the last stack is that of the one which the test runs in, as a rule the main thread.
    if let Some(at) = lines.iter().rposition(|line| line.contains(STACK)) {
        return lines.into_iter().skip(at + 1).take(room).collect();
    }
    let skipped = lines.len().saturating_sub(room);
    lines.into_iter().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(head: &str) -> Excerpt {
        Excerpt { head: head.to_owned(), tail: String::new(), total_bytes: head.len() as u64 }
    }

    #[test]
    fn pytest_marks_come_before_anything_else() {
        assert_eq!(lines(&text("a\n> assert x\nE  no\nb\n"), 5), ["> assert x", "E  no"]);
    }

    #[test]
    fn a_stack_is_read_from_its_innermost_call() {
        let stack = "out\nThread 1 (most recent call first):\n  f\n  main\n  run\n";
        assert_eq!(lines(&text(stack), 2), ["  f", "  main"]);
    }

    #[test]
    fn otherwise_the_end_is_shown() {
        assert_eq!(lines(&text("a\n\nb\nc"), 2), ["b", "c"]);
    }
}
