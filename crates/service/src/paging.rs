//! Lists in pages: a limit and an opaque cursor.

use crate::Result;
use data_encoding::BASE64URL_NOPAD;
use domain::Refusal;

const LIMIT_DEFAULT: u64 = 50;
const LIMIT_MOST: u64 = 500;

/// What a caller asks of a list.
#[derive(Debug, Clone, Default)]
pub struct Page {
    pub limit: Option<u64>,
    pub cursor: Option<String>,
}

#[derive(Debug)]
pub struct Listed<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
}

impl Page {
    pub(crate) fn limit(&self) -> Result<u64> {
        let limit = self.limit.unwrap_or(LIMIT_DEFAULT);
        if (1..=LIMIT_MOST).contains(&limit) {
            return Ok(limit);
        }
        Err(Refusal::invalid_field("limit", format!("`limit` is from 1 to {LIMIT_MOST}")).into())
    }

    /// The parts of the last row's key; empty at the start.
    pub(crate) fn after(&self, parts: usize) -> Result<Vec<String>> {
        let Some(cursor) = &self.cursor else { return Ok(vec![String::new(); parts]) };
        let refusal = || Refusal::invalid_field("cursor", "`cursor` is not one that this list gave");
        let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).map_err(|_| refusal())?;
        let text = String::from_utf8(bytes).map_err(|_| refusal())?;
        let found: Vec<String> = text.split('\n').map(str::to_owned).collect();
        // No key holds U+0000, and not every engine can be asked for it.
        if found.len() == parts && !text.contains('\0') { Ok(found) } else { Err(refusal().into()) }
    }
}

impl<T> Listed<T> {
    /// `items` may hold one more than the limit: then there is a next page.
    pub(crate) fn cut(mut items: Vec<T>, limit: u64, key: impl Fn(&T) -> Vec<String>) -> Self {
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = items.len() > most;
        items.truncate(most);
        let last = items.last().filter(|_| more);
        let next_cursor = last.map(|item| BASE64URL_NOPAD.encode(key(item).join("\n").as_bytes()));
        Self { items, next_cursor }
    }
}
