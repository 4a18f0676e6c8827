//! Words for describing what a configuration may look like. One description is read twice: by `checks`, which finds
//! every place where a file differs from it, and by `schemas`, which prints it as JSON Schema.

/// What a value may be.
#[derive(Debug)]
pub(crate) enum Shape {
    /// A map with these keys and no others.
    Fields(Fields),
    /// A map from names of one's own choice.
    Names {
        name: &'static Word,
        each: &'static Shape,
        most: usize,
    },
    List {
        each: &'static Shape,
        least: usize,
        most: usize,
    },
    Text(&'static Word),
    /// Text or a whole number; both mean the same: ids of other services.
    Id(&'static Word),
    /// The name of an environment variable, never what is in it.
    Variable,
    Integer {
        least: i64,
        most: i64,
    },
    /// Dollars, exactly.
    Money,
    Bool,
    Choice(&'static [&'static str]),
    /// One of several; they differ in being a scalar, a list or a map.
    Either(&'static [Shape]),
}

#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) fields: &'static [Field],
    /// If not empty: exactly one of these groups of keys is there.
    pub(crate) one_of: &'static [&'static [&'static str]],
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// One sentence.
    pub(crate) doc: &'static str,
    pub(crate) shape: &'static Shape,
    pub(crate) required: bool,
}

/// A rule for text: a pattern that means the same to this program and to a reader of the schema.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) pattern: &'static str,
    pub(crate) longest: usize,
    /// Completes "expected …".
    pub(crate) expected: &'static str,
}

/// Names of environment variables.
pub(crate) static VARIABLE: Word = Word {
    pattern: "^[A-Z_][A-Z0-9_]*$",
    longest: 64,
    expected: "the name of an environment variable such as `TELEGRAM_BOT_TOKEN`",
};

pub(crate) const fn fields(fields: &'static [Field]) -> Shape {
    Shape::Fields(Fields { fields, one_of: &[] })
}

pub(crate) const fn field(name: &'static str, shape: &'static Shape, doc: &'static str) -> Field {
    Field { name, doc, shape, required: false }
}

pub(crate) const fn required(name: &'static str, shape: &'static Shape, doc: &'static str) -> Field {
    Field { name, doc, shape, required: true }
}

pub(crate) const fn list(each: &'static Shape, most: usize) -> Shape {
    Shape::List { each, least: 0, most }
}

impl Shape {
    /// Completes "expected …".
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Fields(shape) => {
                let names: Vec<_> = shape.fields.iter().map(|field| format!("`{}`", field.name)).collect();
                format!("a map with {}", any_of(&names))
            }
            Self::Names { name, .. } => format!("a map whose keys are each {}", name.expected),
            Self::List { each, .. } => format!("a list, each {}", each.expected()),
            Self::Text(word) | Self::Id(word) => word.expected.to_owned(),
            Self::Variable => VARIABLE.expected.to_owned(),
            Self::Integer { least, most } => format!("a whole number from {least} to {most}"),
            Self::Money => "an amount of dollars such as `50.00`, with at most six digits after the point".to_owned(),
            Self::Bool => "`true` or `false`".to_owned(),
            Self::Choice(words) => any_of(&words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>()),
            Self::Either(shapes) => shapes.iter().map(Self::expected).collect::<Vec<_>>().join(", or "),
        }
    }

    /// The shapes directly below this one.
    pub(crate) fn inner(&self) -> Vec<&'static Self> {
        match self {
            Self::Fields(shape) => shape.fields.iter().map(|field| field.shape).collect(),
            Self::Names { each, .. } | Self::List { each, .. } => vec![each],
            Self::Either(shapes) => shapes.iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// `a`, `a or b`, `a, b or c`.
pub(crate) fn any_of(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
