//! Puts the parser's events together to a tree. What aliases copy is counted before it is copied.

use crate::config::nodes::{Entry, Kind, Node, Scalar, Value};
use crate::config::problems::{Problem, Spot, quoted};
use granit_parser::{Event, ScalarStyle, Tag};
use std::borrow::Cow;
use std::collections::HashMap;

/// What a text may stand for, aliases written out.
const NODES_MOST: usize = 100_000;
const TEXT_BYTES_MOST: usize = 4 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) root: Option<Node>,
    pub(super) problems: Vec<Problem>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    size: Size,
    /// What anchors keep beside the tree.
    kept: Size,
}

/// How much a tree holds.
#[derive(Debug, Default, Clone, Copy)]
struct Size {
    nodes: usize,
    text_bytes: usize,
}

impl Size {
    fn plus(self, other: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_add(other.nodes),
            text_bytes: self.text_bytes.saturating_add(other.text_bytes),
        }
    }
}

#[derive(Debug)]
struct Anchored {
    node: Node,
    size: Size,
}

/// A list or map whose end was not seen yet.
#[derive(Debug)]
struct Open {
    spot: Spot,
    anchor: usize,
    size_before: Size,
    content: Content,
}

#[derive(Debug)]
enum Content {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, seen: HashMap<String, Spot>, key: Option<Key> },
}

#[derive(Debug)]
struct Key {
    spot: Spot,
    /// None if its value cannot be kept.
    name: Option<String>,
}

type Outcome = Result<(), Problem>;

impl Tree {
    pub(super) fn is_complete(&self) -> bool {
        self.root.is_some()
    }

    pub(super) fn take(&mut self, event: Event<'_>, spot: Spot) -> Outcome {
        match event {
            Event::Scalar(text, style, anchor, tag) => self.scalar(text, style, anchor, tag.as_deref(), spot),
            Event::SequenceStart(_, anchor, tag) => self.open(spot, anchor, tag.as_deref(), Content::List(Vec::new())),
            Event::MappingStart(_, anchor, tag) => {
                let content = Content::Map { entries: Vec::new(), seen: HashMap::new(), key: None };
                self.open(spot, anchor, tag.as_deref(), content)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(id) => self.alias(id, spot),
            Event::UnresolvedAlias(name) => {
                let message = format!("`*` refers to {}, which is not defined above", quoted(&name));
                self.problems.push(Problem::new(spot, message).expected("the name of an anchor, `&name`"));
                self.put(Node { spot, value: Value::Scalar(Scalar { text: String::new(), kind: Kind::Null }) })
            }
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        spot: Spot,
    ) -> Outcome {
        let before = self.size;
        self.grow(Size { nodes: 1, text_bytes: text.len() }, spot)?;
        let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
        if !is_text {
            self.refuse_tag(tag, spot);
        }
        let plain = style == ScalarStyle::Plain && !is_text;
        let kind = if plain { Kind::of_plain(&text) } else { Kind::Text };
        let node = Node { spot, value: Value::Scalar(Scalar { text: text.into_owned(), kind }) };
        self.remember(anchor, &node, before)?;
        self.put(node)
    }

    fn open(&mut self, spot: Spot, anchor: usize, tag: Option<&Tag>, content: Content) -> Outcome {
        self.refuse_tag(tag, spot);
        let size_before = self.size;
        self.grow(Size { nodes: 1, text_bytes: 0 }, spot)?;
        self.open.push(Open { spot, anchor, size_before, content });
        Ok(())
    }

    fn close(&mut self) -> Outcome {
        let Some(Open { spot, anchor, size_before, content }) = self.open.pop() else { return Ok(()) };
        let value = match content {
            Content::List(nodes) => Value::List(nodes),
            Content::Map { entries, .. } => Value::Map(entries),
        };
        let node = Node { spot, value };
        self.remember(anchor, &node, size_before)?;
        self.put(node)
    }

    /// Keeps what an alias may ask for. That is a copy, so it counts.
    fn remember(&mut self, anchor: usize, node: &Node, before: Size) -> Outcome {
        if anchor == 0 {
            return Ok(());
        }
        let size = Size { nodes: self.size.nodes - before.nodes, text_bytes: self.size.text_bytes - before.text_bytes };
        self.kept = self.kept.plus(size);
        self.check_size(node.spot)?;
        self.anchors.insert(anchor, Anchored { node: node.clone(), size });
        Ok(())
    }

    fn alias(&mut self, id: usize, spot: Spot) -> Outcome {
        let Some(size) = self.anchors.get(&id).map(|anchored| anchored.size) else {
            return Err(Problem::new(spot, "`*` refers to something that it is itself a part of"));
        };
        self.grow(size, spot)?;
        match self.anchors.get(&id).map(|anchored| anchored.node.clone()) {
            // What is in it stays where it was written; the whole is meant here.
            Some(node) => self.put(Node { spot, ..node }),
            None => Ok(()),
        }
    }

    fn grow(&mut self, by: Size, spot: Spot) -> Outcome {
        self.size = self.size.plus(by);
        self.check_size(spot)
    }

    fn check_size(&self, spot: Spot) -> Outcome {
        let whole = self.size.plus(self.kept);
        if whole.nodes > NODES_MOST || whole.text_bytes > TEXT_BYTES_MOST {
            let message = "the text stands for too much from here on, aliases written out";
            let expected = format!("at most {NODES_MOST} values and {} MiB", TEXT_BYTES_MOST / 1024 / 1024);
            return Err(Problem::new(spot, message).expected(expected));
        }
        Ok(())
    }

    fn refuse_tag(&mut self, tag: Option<&Tag>, spot: Spot) {
        if let Some(tag) = tag {
            let message = format!("the tag {} is not understood", quoted(&tag.original()));
            self.problems.push(Problem::new(spot, message).expected("a value without a tag"));
        }
    }

    /// Puts a finished node where it belongs.
    fn put(&mut self, mut node: Node) -> Outcome {
        let Some(Open { content, .. }) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match content {
            Content::List(nodes) => nodes.push(node),
            Content::Map { entries, seen, key } => match key.take() {
                None => *key = Some(as_key(node, seen, &mut self.problems)),
                Some(Key { spot, name: Some(name) }) => {
                    if node.is_null() {
                        // Nothing is written there; the key is what can be found.
                        node.spot = spot;
                    }
                    entries.push(Entry { key: name, key_spot: spot, value: node });
                }
                Some(Key { name: None, .. }) => {}
            },
        }
        Ok(())
    }
}

fn as_key(node: Node, seen: &mut HashMap<String, Spot>, problems: &mut Vec<Problem>) -> Key {
    let spot = node.spot;
    let Value::Scalar(Scalar { text, .. }) = node.value else {
        problems.push(Problem::new(spot, "a key that is itself a list or a map").expected("a word as key"));
        return Key { spot, name: None };
    };
    if let Some(first) = seen.get(&text) {
        let message = format!("the key {} is here for the second time", quoted(&text));
        problems.push(Problem::new(spot, message).expected(format!("it once; the first is in line {}", first.line)));
        return Key { spot, name: None };
    }
    seen.insert(text.clone(), spot);
    Key { spot, name: Some(text) }
}
