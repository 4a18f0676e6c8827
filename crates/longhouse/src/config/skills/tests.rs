//! Folders of skills, as they are and as they should not be.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;

struct Library(tempfile::TempDir);

impl Library {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn put(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Everything loaded, and what was said of it: problems of skills that nobody names are warnings.
    fn load(&self) -> (BTreeMap<String, Skill>, Vec<String>) {
        let mut findings = Findings::default();
        let skills = load(self.0.path(), None, &[], &mut findings);
        assert!(findings.problems.is_empty(), "{findings:?}");
        let folder = format!("{}/", self.0.path().display());
        (skills, findings.warnings.iter().map(|warning| warning.to_string().replace(&folder, "")).collect())
    }
}

const HEAD: &str = "---\nname: tidy\ndescription: Tidies up.\n---\n";

#[test]
fn a_skill_is_its_document_and_the_text_files_beside_it() {
    let library = Library::new();
    library.put("tidy/SKILL.md", "---\r\nname: tidy\r\ndescription: Tidies up.\r\nallowed-tools: Read k8s.get, x\r\nlicense: MIT\r\n---\r\nBody\r\n");
    library
        .put("tidy/references/limits.md", "ten")
        .put("tidy/assets/logo.png", [0xff, 0xd8])
        .put("tidy/.git/config", "x");
    let (skills, said) = library.load();
    let skill = &skills["tidy"];
    assert_eq!((skill.description.as_str(), skill.body.as_str()), ("Tidies up.", "Body\r\n"));
    assert_eq!(skill.wished_tools, ["Read", "k8s.get", "x"]);
    assert_eq!(skill.files.iter().collect::<Vec<_>>(), [(&"references/limits.md".to_owned(), &"ten".to_owned())]);
    assert_eq!(said, ["tidy/assets/logo.png:1:1: not UTF-8 text; agents do not see it"]);
}

#[test]
fn nothing_outside_a_skills_folder_is_read() {
    let library = Library::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    fs::write(outside.path().join("SKILL.md"), HEAD).unwrap();
    library.put("tidy/SKILL.md", HEAD).put("linked/x", "");
    symlink(outside.path().join("secret"), library.0.path().join("tidy/file")).unwrap();
    symlink(outside.path(), library.0.path().join("tidy/folder")).unwrap();
    symlink(outside.path().join("SKILL.md"), library.0.path().join("linked/SKILL.md")).unwrap();
    symlink(outside.path(), library.0.path().join("whole")).unwrap();
    let pipe = library.0.path().join("tidy/pipe");
    let (skills, said) = library.load();
    assert!(skills["tidy"].files.is_empty() && skills.len() == 1, "{skills:?}");
    assert!(said.iter().filter(|line| line.contains("a link is not followed")).count() == 2, "{said:#?}");
    let linked = "linked/SKILL.md:1:1: cannot be read: it is a link, and links are not followed";
    assert!(said.iter().any(|line| line == linked), "{said:#?}");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (skills, said) = library.load();
    assert!(skills.len() == 1 && said.iter().any(|line| line.contains("not a file")), "{said:#?}");
}

#[test]
fn hidden_characters_are_told_and_written_visibly() {
    let library = Library::new();
    library.put("tidy/SKILL.md", format!("{HEAD}line\na\u{200b}b\u{202e}\n")).put("tidy/more.md", "x\u{feff}");
    let (skills, said) = library.load();
    let skill = &skills["tidy"];
    assert_eq!(skill.body, "line\na⟨U+200B⟩b⟨U+202E⟩\n");
    assert_eq!(skill.files["more.md"], "x⟨U+FEFF⟩");
    assert!(said[0].starts_with("tidy/SKILL.md:6:2: the hidden character U+200B and 1 more"), "{said:#?}");
    assert_eq!(skill.warnings.len(), 2);
}

#[test]
fn what_is_wrong_with_a_skill_is_told_with_its_place() {
    let long = "x".repeat(70_000);
    let cases: Vec<(&str, String, &str)> = vec![
        ("a", "text".into(), "a/SKILL.md:1:1: there is no front matter"),
        ("a", "---\nname: a\n".into(), "a/SKILL.md:1:1: there is no front matter"),
        (
            "a",
            "---\nname: b\ndescription: x\n---\n".into(),
            "a/SKILL.md:2:7: the name `b` is not that of its folder; expected `a`",
        ),
        ("a", "---\nname: a\n---\n".into(), "a/SKILL.md:1:1: the front matter has no `description`"),
        ("a", "---\nname: a\ndescription: 5\n---\n".into(), "a/SKILL.md:3:14: `description` is not text"),
        ("a", "---\nname: a\ndescription: ''\n---\n".into(), "a/SKILL.md:3:14: the description is empty or too long"),
        (
            "a",
            format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1025)),
            "a/SKILL.md:3:14: the description is empty",
        ),
        ("a", "---\nname: a\nb: [\n---\n".into(), "a/SKILL.md:3:4: `[` is opened and never closed"),
        ("a", format!("---\nname: a\ndescription: x\n---\n{long}"), "a/SKILL.md:1:1: the text is too long"),
        ("a--b", HEAD.into(), "a--b:1:1: the folder's name cannot be a skill's"),
        ("Up", HEAD.into(), "Up:1:1: the folder's name cannot be a skill's"),
    ];
    for (folder, text, part) in cases {
        let library = Library::new();
        library.put(&format!("{folder}/SKILL.md"), text);
        let (skills, said) = library.load();
        assert!(skills.is_empty() && said.iter().any(|line| line.starts_with(part)), "{part}: {said:#?}");
    }
    let library = Library::new();
    library.put("tidy/SKILL.md", HEAD.replace("---\nname", "---\nauthor: me\nname"));
    assert_eq!(library.load().1, ["tidy/SKILL.md:2:1: the front matter's key `author` is not part of the format"]);
}

#[test]
fn a_skill_has_its_limits() {
    let library = Library::new();
    library.put("tidy/SKILL.md", HEAD);
    for n in 0..33 {
        library.put(&format!("tidy/{n:02}.md"), "x");
    }
    // What is more than is kept is left out, and the skill stays: others make skills with more.
    let (skills, said) = library.load();
    assert_eq!(skills["tidy"].files.len(), 32);
    assert!(said.len() == 1 && said[0].starts_with("tidy/32.md:1:1: beyond what is kept"), "{said:?}");
    let library = Library::new();
    library.put("tidy/SKILL.md", HEAD);
    for n in 0..5 {
        library.put(&format!("tidy/{n}.md"), "x".repeat(60_000));
    }
    let (skills, said) = library.load();
    assert_eq!(skills["tidy"].files.len(), 4);
    assert!(said.len() == 1 && said[0].starts_with("tidy/4.md:1:1: beyond what is kept"), "{said:?}");
    let library = Library::new();
    library.put("tidy/SKILL.md", HEAD).put("tidy/big.md", "x".repeat(70_000));
    let (skills, said) = library.load();
    assert!(skills["tidy"].files.is_empty() && said[0].contains("more than 64 KiB; agents do not see it"), "{said:?}");
}

#[test]
fn what_is_too_large_is_told_of_and_left_out_be_it_a_picture_or_a_text() {
    let library = Library::new();
    let mut picture = b"GIF89a".repeat(20_000);
    picture.push(0xff);
    library.put("tidy/SKILL.md", HEAD).put("tidy/assets/logo.png", &picture);
    for n in 0..32 {
        library.put(&format!("tidy/{n:02}.md"), "x");
    }
    library.put("tidy/zoo.png", [0xff]);
    let (skills, said) = library.load();
    assert_eq!(skills["tidy"].files.len(), 32);
    let expected =
        ["assets/logo.png", "zoo.png"].map(|path| format!("tidy/{path}:1:1: not UTF-8 text; agents do not see it"));
    assert_eq!(said, expected);
    // A character that is cut by the end of what is looked at is no sign of a picture.
    for text in ["é".repeat(40_000), format!("x{}", "é".repeat(700_000))] {
        let library = Library::new();
        library.put("tidy/SKILL.md", HEAD).put("tidy/big.md", text);
        let (skills, said) = library.load();
        assert!(
            skills["tidy"].files.is_empty() && said[0].contains("more than 64 KiB; agents do not see it"),
            "{said:?}"
        );
    }
}

#[test]
fn a_folder_with_more_than_is_looked_at_is_told_of() {
    let library = Library::new();
    library.put("tidy/SKILL.md", HEAD);
    for n in 0..1_001 {
        library.put(&format!("tidy/assets/{n}"), [0xff]);
    }
    let (_, said) = library.load();
    let cut = "tidy/assets:1:1: more than 1000 entries: the rest is not looked at";
    assert!(said.iter().any(|line| line == cut), "{}", said[0]);
}

#[test]
fn only_a_usual_folder_that_is_not_there_goes_without_saying() {
    let library = Library::new();
    let of = |path: &str| {
        let mut findings = Findings::default();
        load(&library.0.path().join(path), None, &[], &mut findings);
        findings.problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(of("none").is_empty());
    library.put("file", "");
    assert!(
        of("file")[0].ends_with("file:1:1: the folder of the skills cannot be read: Not a directory"),
        "{:?}",
        of("file")
    );
}

#[test]
fn only_folders_from_which_something_is_read_are_watched() {
    let library = Library::new();
    library.put("tidy/SKILL.md", HEAD).put("tidy/.git/objects/x", "").put("tidy/a/b/c/d/e/f", "");
    symlink("/", library.0.path().join("tidy/everything")).unwrap();
    symlink("/", library.0.path().join("root")).unwrap();
    let folders = skills_folders(library.0.path());
    let below: Vec<_> =
        folders.iter().map(|path| path.strip_prefix(library.0.path()).unwrap().display().to_string()).collect();
    assert_eq!(below, ["", "tidy", "tidy/a", "tidy/a/b", "tidy/a/b/c", "tidy/a/b/c/d"]);
}
