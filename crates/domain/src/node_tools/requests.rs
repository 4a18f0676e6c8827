//! The arguments of each tool, read strictly: what was not asked for, is missing, of the wrong type, too large or not of the
//! right form is refused, and a refusal never repeats what was sent.

use super::{COMMAND_DEFAULT_S, COMMAND_LONGEST_S, CONTENT_LARGEST_BYTES, FILES_LONGEST_S, Glob, NodeTool};
use crate::fields::{Fields, missing, wrong_type};
use crate::{Code, Refusal, Result, commands, paths};
use serde_json::Value;

/// What a node is asked to do. Paths are in their normal form, and that is what a node opens.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeRequest {
    Read {
        path: String,
    },
    Write(WriteRequest),
    List {
        path: String,
        recursive: bool,
        pattern: Option<Glob>,
    },
    /// Puts `new` in the place of `old`, which must be there exactly once.
    Edit {
        path: String,
        old: String,
        new: String,
    },
    Delete {
        path: String,
    },
    Execute(CommandRequest),
}

#[derive(Debug, Clone, PartialEq)]
pub struct WriteRequest {
    pub path: String,
    pub content: String,
    pub create_dirs: bool,
    pub mode: Mode,
    /// What the file must hold for this to happen.
    pub base_sha256: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Replaces what is there.
    #[default]
    Write,
    Append,
}

/// A program and its arguments; no shell reads them.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandRequest {
    pub program: String,
    pub args: Vec<String>,
    /// The root if none is given.
    pub cwd: Option<String>,
    pub timeout_s: u64,
}

impl NodeRequest {
    pub fn parse(tool: NodeTool, arguments: &Value) -> Result<Self> {
        let Value::Object(envelope) = arguments else {
            return Err(wrong_type("params", "an object"));
        };
        let mut fields = Fields::of(envelope.clone())?;
        let request = match tool {
            NodeTool::ReadFile => Self::Read { path: fields.path()? },
            NodeTool::WriteFile => Self::Write(fields.file_write()?),
            NodeTool::ListDirectory => {
                let (path, recursive) = (fields.path()?, fields.flag("recursive")?);
                let pattern = fields.optional_text("pattern")?;
                Self::List { path, recursive, pattern: pattern.map(|text| Glob::parse("pattern", &text)).transpose()? }
            }
            NodeTool::EditFile => fields.file_edit()?,
            NodeTool::DeleteFile => Self::Delete { path: fields.path()? },
            NodeTool::ExecuteCommand => Self::Execute(fields.command()?),
        };
        fields.finish(tool.as_str())?;
        if let Self::Execute(command) = &request {
            commands::check(&command.program, &command.args)?;
        }
        Ok(request)
    }

    pub fn tool(&self) -> NodeTool {
        match self {
            Self::Read { .. } => NodeTool::ReadFile,
            Self::Write(_) => NodeTool::WriteFile,
            Self::List { .. } => NodeTool::ListDirectory,
            Self::Edit { .. } => NodeTool::EditFile,
            Self::Delete { .. } => NodeTool::DeleteFile,
            Self::Execute(_) => NodeTool::ExecuteCommand,
        }
    }

    /// The file or folder that it is about; a command is about none.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Read { path } | Self::List { path, .. } | Self::Edit { path, .. } | Self::Delete { path } => {
                Some(path)
            }
            Self::Write(write) => Some(&write.path),
            Self::Execute(_) => None,
        }
    }

    /// How long it may take once it has begun.
    pub fn own_seconds(&self) -> u64 {
        match self {
            Self::Execute(command) => command.timeout_s,
            _ => FILES_LONGEST_S,
        }
    }
}

impl Fields {
    fn path(&mut self) -> Result<String> {
        paths::normal(&self.text("path")?).map_err(|refusal| refusal.with("field", "path"))
    }

    fn flag(&mut self, field: &str) -> Result<bool> {
        match self.take(field) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(wrong_type(field, "true or false")),
        }
    }

    fn content(&mut self, field: &str) -> Result<String> {
        let text = self.text(field)?;
        if text.len() > CONTENT_LARGEST_BYTES {
            let message = format!("`{field}` is at most {CONTENT_LARGEST_BYTES} bytes of text");
            let refusal = Refusal::new(Code::ValueTooLarge, message).with("field", field);
            return Err(refusal.with("max_bytes", CONTENT_LARGEST_BYTES).with("size_bytes", text.len()));
        }
        if text.contains('\0') {
            let message = format!("`{field}` is text: it cannot hold the character U+0000");
            return Err(Refusal::invalid_field(field, message));
        }
        Ok(text)
    }

    fn file_write(&mut self) -> Result<WriteRequest> {
        let mode = match self.optional_text("mode")?.as_deref() {
            None | Some("write") => Mode::Write,
            Some("append") => Mode::Append,
            Some(_) => return Err(Refusal::invalid_field("mode", "`mode` is write or append")),
        };
        Ok(WriteRequest {
            path: self.path()?,
            content: self.content("content")?,
            create_dirs: self.flag("create_dirs")?,
            mode,
            base_sha256: self.sha256("base_sha256")?,
        })
    }

    fn sha256(&mut self, field: &str) -> Result<Option<String>> {
        let is_hash =
            |text: &str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match self.optional_text(field)? {
            Some(text) if !is_hash(&text) => {
                Err(Refusal::invalid_field(field, format!("`{field}` is a SHA-256: 64 of 0-9 and a-f")))
            }
            found => Ok(found),
        }
    }

    fn file_edit(&mut self) -> Result<NodeRequest> {
        let (path, old, new) = (self.path()?, self.content("old")?, self.content("new")?);
        if old.is_empty() {
            return Err(Refusal::invalid_field("old", "`old` is not empty: it says what is replaced"));
        }
        Ok(NodeRequest::Edit { path, old, new })
    }

    fn command(&mut self) -> Result<CommandRequest> {
        let timeout_s = self.optional_number("timeout_s")?.unwrap_or(COMMAND_DEFAULT_S);
        if !(1..=COMMAND_LONGEST_S).contains(&timeout_s) {
            let message = format!("`timeout_s` is 1 to {COMMAND_LONGEST_S}");
            return Err(Refusal::invalid_field("timeout_s", message));
        }
        let cwd = self.optional_text("cwd")?.map(|text| paths::normal(&text)).transpose();
        Ok(CommandRequest {
            program: self.text("program")?,
            args: self.optional_texts("args")?.ok_or_else(|| missing("args"))?,
            cwd: cwd.map_err(|refusal| refusal.with("field", "cwd"))?,
            timeout_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(tool: NodeTool, arguments: &Value) -> Result<NodeRequest> {
        NodeRequest::parse(tool, arguments)
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let write = parse(NodeTool::WriteFile, &json!({"path": "./a//b", "content": ""})).unwrap();
        let expected = WriteRequest {
            path: "a/b".to_owned(),
            content: String::new(),
            create_dirs: false,
            mode: Mode::Write,
            base_sha256: None,
        };
        assert_eq!(write, NodeRequest::Write(expected));
        let list = parse(NodeTool::ListDirectory, &json!({"path": ".", "pattern": null})).unwrap();
        assert_eq!(list, NodeRequest::List { path: ".".to_owned(), recursive: false, pattern: None });
        let command = parse(NodeTool::ExecuteCommand, &json!({"program": "ls", "args": []})).unwrap();
        let expected = CommandRequest { program: "ls".to_owned(), args: vec![], cwd: None, timeout_s: 30 };
        assert_eq!(command, NodeRequest::Execute(expected));
    }

    #[test]
    fn everything_that_can_be_given_is_read() {
        let hash = "0123456789abcdef".repeat(4);
        let given = json!({"path": "a", "content": "x", "create_dirs": true, "mode": "append", "base_sha256": hash});
        let NodeRequest::Write(write) = parse(NodeTool::WriteFile, &given).unwrap() else { panic!() };
        assert_eq!((write.create_dirs, write.mode, write.base_sha256), (true, Mode::Append, Some(hash)));
        let given = json!({"program": "cargo", "args": ["test", ""], "cwd": "crates/", "timeout_s": 300});
        let request = parse(NodeTool::ExecuteCommand, &given).unwrap();
        assert_eq!((request.own_seconds(), request.path()), (300, None));
        let NodeRequest::Execute(command) = request else { panic!() };
        assert_eq!(command.cwd.as_deref(), Some("crates"));
        let given = json!({"path": "/work/./a", "old": "x", "new": ""});
        let request = parse(NodeTool::EditFile, &given).unwrap();
        assert_eq!((request.own_seconds(), request.path()), (30, Some("/work/a")));
    }

    #[test]
    fn what_is_not_as_it_should_be_is_refused_by_its_field() {
        use NodeTool::{DeleteFile, EditFile, ExecuteCommand, ListDirectory, ReadFile, WriteFile};
        let cases = [
            (ReadFile, json!({}), "path"),
            (ReadFile, json!({"path": 1}), "path"),
            (ReadFile, json!({"path": null}), "path"),
            (ReadFile, json!({"path": ["a"]}), "path"),
            (ReadFile, json!({"path": "a", "encoding": null}), "encoding"),
            (ReadFile, json!({"path": "a", "user_id": "usr_ada"}), "user_id"),
            (ReadFile, json!([]), "params"),
            (ReadFile, json!("a"), "params"),
            (ReadFile, Value::Null, "params"),
            (WriteFile, json!({"path": "a"}), "content"),
            (WriteFile, json!({"path": "a", "content": {}}), "content"),
            (WriteFile, json!({"path": "a", "content": "a\u{0}"}), "content"),
            (WriteFile, json!({"path": "a", "content": "", "mode": "Write"}), "mode"),
            (WriteFile, json!({"path": "a", "content": "", "mode": true}), "mode"),
            (WriteFile, json!({"path": "a", "content": "", "create_dirs": "true"}), "create_dirs"),
            (WriteFile, json!({"path": "a", "content": "", "base_sha256": "A".repeat(64)}), "base_sha256"),
            (WriteFile, json!({"path": "a", "content": "", "base_sha256": "a".repeat(63)}), "base_sha256"),
            (WriteFile, json!({"path": "a", "content": "", "base_sha256": ""}), "base_sha256"),
            (ListDirectory, json!({"path": "a", "recursive": 1}), "recursive"),
            (ListDirectory, json!({"path": "a", "pattern": "../*"}), "pattern"),
            (EditFile, json!({"path": "a", "old": "x"}), "new"),
            (EditFile, json!({"path": "a", "old": "", "new": "x"}), "old"),
            (DeleteFile, json!({"path": "a", "recursive": true}), "recursive"),
            (ExecuteCommand, json!({"program": "ls"}), "args"),
            (ExecuteCommand, json!({"program": "ls", "args": "-l"}), "args"),
            (ExecuteCommand, json!({"program": "ls", "args": [1]}), "args"),
            (ExecuteCommand, json!({"program": "ls -l", "args": []}), "program"),
            (ExecuteCommand, json!({"program": ["ls"], "args": []}), "program"),
            (ExecuteCommand, json!({"program": "ls", "args": [], "timeout_s": 0}), "timeout_s"),
            (ExecuteCommand, json!({"program": "ls", "args": [], "timeout_s": 301}), "timeout_s"),
            (ExecuteCommand, json!({"program": "ls", "args": [], "timeout_s": 1.5}), "timeout_s"),
            (ExecuteCommand, json!({"program": "ls", "args": [], "timeout_s": "9"}), "timeout_s"),
            (ExecuteCommand, json!({"program": "ls", "args": [], "env": {}}), "env"),
        ];
        for (tool, arguments, field) in cases {
            let refusal = parse(tool, &arguments).unwrap_err();
            assert_eq!((refusal.code, &refusal.details["field"]), (Code::InvalidRequest, &json!(field)), "{arguments}");
        }
    }

    #[test]
    fn paths_commands_and_sizes_have_codes_of_their_own() {
        let large = "x".repeat(CONTENT_LARGEST_BYTES + 1);
        let cases = [
            (NodeTool::ReadFile, json!({"path": "../a"}), Code::InvalidPath),
            (NodeTool::ExecuteCommand, json!({"program": "ls", "args": [], "cwd": "/.."}), Code::InvalidPath),
            (NodeTool::ExecuteCommand, json!({"program": "sudo", "args": ["ls"]}), Code::CommandDenied),
            (NodeTool::WriteFile, json!({"path": "a", "content": large}), Code::ValueTooLarge),
            (NodeTool::EditFile, json!({"path": "a", "old": large, "new": ""}), Code::ValueTooLarge),
            (NodeTool::EditFile, json!({"path": "a", "old": "a", "new": large}), Code::ValueTooLarge),
        ];
        for (tool, arguments, code) in cases {
            assert_eq!(parse(tool, &arguments).unwrap_err().code, code, "{tool:?}");
        }
        let most = json!({"path": "a", "content": "x".repeat(CONTENT_LARGEST_BYTES)});
        assert!(parse(NodeTool::WriteFile, &most).is_ok());
    }
}
