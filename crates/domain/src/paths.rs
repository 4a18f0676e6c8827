//! Paths as a tool is given them: their form, and the one way to write each of them. Whether a path lies inside the root
//! only the node can say, from an open handle; nothing here looks at a disk.

use crate::{Code, Refusal, Result};

pub const PATH_LONGEST_BYTES: usize = 4096;

/// The root itself.
pub const HERE: &str = ".";

/// The path without empty parts, `.` and `..`: what rules and risk are decided on, and what a node opens. If a node opened
/// `link/../b` as it was written, it would follow the link first and get to another file than the one that was judged.
///
/// A path that climbs above its start is refused, an absolute one too: no honest caller needs `/..`.
pub fn normal(path: &str) -> Result<String> {
    if path.is_empty() {
        return Err(invalid("a path is not empty: `.` is the root"));
    }
    if path.len() > PATH_LONGEST_BYTES {
        return Err(invalid("a path is at most 4096 bytes").with("max_bytes", PATH_LONGEST_BYTES));
    }
    if path.contains('\0') {
        return Err(invalid("a path cannot hold the character U+0000"));
    }
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                kept.pop().ok_or_else(|| invalid("a path does not climb above where it starts"))?;
            }
            name => kept.push(name),
        }
    }
    Ok(match (path.starts_with('/'), kept.is_empty()) {
        (true, _) => format!("/{}", kept.join("/")),
        (false, true) => HERE.to_owned(),
        (false, false) => kept.join("/"),
    })
}

/// Whether a path in its normal form is this folder or lies below it. By whole names: `/work-evil` is not below `/work`.
pub fn is_below(path: &str, folder: &str) -> bool {
    match folder {
        HERE => !path.starts_with('/'),
        "/" => path.starts_with('/'),
        _ => path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
    }
}

/// A name as the least particular file system would compare it: without regard to case, also of letters that only become
/// others' equals by it (`ſ`, `K`, `ß`), and without the dots and blanks at the end that some drop.
pub fn folded(name: &str) -> String {
    let upper = name.trim_end_matches(['.', ' ']).chars().flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).collect()
}

fn invalid(message: &str) -> Refusal {
    Refusal::new(Code::InvalidPath, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_path_has_one_normal_form() {
        let cases = [
            ("a", "a"),
            ("a/b.txt", "a/b.txt"),
            ("./a", "a"),
            ("a/", "a"),
            ("a//b///c/", "a/b/c"),
            ("a/./b/.", "a/b"),
            ("a/../b", "b"),
            ("a/b/../../c", "c"),
            ("a/..", "."),
            (".", "."),
            ("./", "."),
            ("/", "/"),
            ("//", "/"),
            ("/.", "/"),
            ("//work//x", "/work/x"),
            ("/work/x/../y", "/work/y"),
            ("...", "..."),
            ("..a/b..", "..a/b.."),
            (" ", " "),
            ("a/ ..", "a/ .."),
            // A backslash is a letter like any other here.
            ("..\\a", "..\\a"),
            ("a\\..\\..\\b", "a\\..\\..\\b"),
            ("C:\\x", "C:\\x"),
            ("~/x", "~/x"),
            ("%2e%2e/x", "%2e%2e/x"),
            ("日本/é", "日本/é"),
            // Dots that only look like dots.
            ("．．/x", "．．/x"),
            ("a\u{2215}..", "a\u{2215}.."),
            ("a\nb", "a\nb"),
        ];
        for (path, expected) in cases {
            assert_eq!(normal(path).unwrap(), expected, "{path:?}");
        }
    }

    #[test]
    fn what_climbs_or_is_no_path_is_refused() {
        let long = "a".repeat(PATH_LONGEST_BYTES + 1);
        let wide = "é".repeat(PATH_LONGEST_BYTES / 2 + 1);
        for bad in [
            "",
            "..",
            "../a",
            "./..",
            "a/../..",
            "a/../../b",
            "a/../../a/b",
            "/..",
            "/../etc/passwd",
            "/a/../../b",
            "a/..//..",
            "a\0",
            "\0",
            "a/\0/../b",
            &long,
            &wide,
        ] {
            assert_eq!(normal(bad).unwrap_err().code, Code::InvalidPath, "{bad:?}");
        }
        assert!(normal(&"a/".repeat(PATH_LONGEST_BYTES / 2)).is_ok());
    }

    #[test]
    fn a_folder_holds_what_lies_below_it_by_whole_names() {
        let cases = [
            ("src/a", "src", true),
            ("src", "src", true),
            ("src-evil/a", "src", false),
            ("sr", "src", false),
            ("a/src/b", "src", false),
            ("anything", ".", true),
            (".", ".", true),
            ("/etc", ".", false),
            ("/etc", "/", true),
            ("etc", "/", false),
            ("/work/x", "/work", true),
            ("/work-evil/x", "/work", false),
        ];
        for (path, folder, expected) in cases {
            assert_eq!(is_below(path, folder), expected, "{path} {folder}");
        }
    }

    #[test]
    fn names_that_some_file_system_takes_for_one_are_folded_into_one() {
        let cases = [(".GIT", ".git"), (".git.", ".git"), (".Git ", ".git"), (".ſsh", ".ssh"), (".ßh", ".ssh")];
        for (name, expected) in cases.into_iter().chain([("\u{212a}", "k"), ("Ä", "ä"), ("", ""), ("..", "")]) {
            assert_eq!(folded(name), expected, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn a_normal_form_is_normal_and_has_no_way_up(path in "(/|\\.|\\.\\.|a|b c|é|\\\\){1,12}") {
            if let Ok(found) = normal(&path) {
                prop_assert_eq!(&normal(&found).unwrap(), &found);
                prop_assert!(found.split('/').all(|part| part != ".."));
                prop_assert!(!found.contains("//"));
                prop_assert_eq!(found.starts_with('/'), path.starts_with('/'));
            }
        }
    }
}
