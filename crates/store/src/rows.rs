//! Values on their way into and out of a statement, the same for every engine.

use crate::{Error, Result};

/// A parameter of a statement. What is missing still has a type: an engine may prepare a statement for it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Param<'a> {
    Integer(Option<i64>),
    Text(Option<&'a str>),
}

impl<'a> Param<'a> {
    pub(crate) fn integer(self) -> Option<i64> {
        if let Self::Integer(number) = self { number } else { None }
    }

    pub(crate) fn text(self) -> Option<&'a str> {
        if let Self::Text(text) = self { text } else { None }
    }
}

/// What can be a parameter, there or missing.
pub(crate) trait Bind<'a>: Into<Param<'a>> {
    const MISSING: Param<'a>;
}

macro_rules! bind {
    ($($value:ty => $kind:ident),*) => {
        $(impl<'a> Bind<'a> for $value { const MISSING: Param<'a> = Param::$kind(None); })*
    };
}
bind!(&'a str => Text, i64 => Integer, u64 => Integer, domain::times::Timestamp => Integer);

impl<'a> From<&'a str> for Param<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Some(text))
    }
}

impl From<i64> for Param<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(Some(number))
    }
}

impl From<u64> for Param<'_> {
    fn from(number: u64) -> Self {
        // Counters stay far below; saturating keeps order should one ever not.
        Self::Integer(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<domain::times::Timestamp> for Param<'_> {
    fn from(at: domain::times::Timestamp) -> Self {
        Self::Integer(Some(at.as_ms()))
    }
}

impl<'a, T: Bind<'a>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(T::MISSING, Into::into)
    }
}

/// Parameters in the order of their first use.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::rows::Param::from($value)),*] };
}
pub(crate) use params;

/// A row to be inserted: its parameters in the order of the columns.
macro_rules! columns {
    ($($value:expr),* $(,)?) => { [$($crate::rows::Param::from($value)),*] };
}
pub(crate) use columns;

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Text(String),
}

impl Value {
    pub(crate) fn into_integer(self) -> Result<Option<i64>> {
        match self {
            Self::Null => Ok(None),
            Self::Integer(number) => Ok(Some(number)),
            Self::Text(_) => Err(Error::BadRow("text where a number belongs".into())),
        }
    }

    pub(crate) fn into_text(self) -> Result<Option<String>> {
        match self {
            Self::Null => Ok(None),
            Self::Text(text) => Ok(Some(text)),
            Self::Integer(_) => Err(Error::BadRow("a number where text belongs".into())),
        }
    }
}

/// A row, read from left to right.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Value>);

impl Row {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    pub(crate) fn into_values(self) -> Vec<Value> {
        self.0.collect()
    }

    fn next(&mut self) -> Result<Value> {
        self.0.next().ok_or_else(|| Error::BadRow("a column is missing".into()))
    }

    pub(crate) fn optional_integer(&mut self) -> Result<Option<i64>> {
        self.next()?.into_integer()
    }

    pub(crate) fn integer(&mut self) -> Result<i64> {
        self.optional_integer()?.ok_or_else(|| Error::BadRow("a number is missing".into()))
    }

    pub(crate) fn count(&mut self) -> Result<u64> {
        u64::try_from(self.integer()?).map_err(|_| Error::BadRow("a count is negative".into()))
    }

    pub(crate) fn optional_count(&mut self) -> Result<Option<u64>> {
        let number = self.optional_integer()?.map(u64::try_from).transpose();
        number.map_err(|_| Error::BadRow("a count is negative".into()))
    }

    pub(crate) fn optional_text(&mut self) -> Result<Option<String>> {
        self.next()?.into_text()
    }

    pub(crate) fn text(&mut self) -> Result<String> {
        self.optional_text()?.ok_or_else(|| Error::BadRow("text is missing".into()))
    }

    pub(crate) fn time(&mut self) -> Result<domain::times::Timestamp> {
        self.integer().map(domain::times::Timestamp::from_ms)
    }

    pub(crate) fn optional_time(&mut self) -> Result<Option<domain::times::Timestamp>> {
        Ok(self.optional_integer()?.map(domain::times::Timestamp::from_ms))
    }

    pub(crate) fn optional_json<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>> {
        self.optional_text()?.map(|text| from_json(&text)).transpose()
    }
}

pub(crate) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::BadRow(error.to_string()))
}

pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::BadRow(error.to_string()))
}
