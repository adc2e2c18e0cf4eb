// SPDX-License-Identifier: MIT

//! Reads price lists as shops send them.
//!
//! A list has one article a line; what cannot be read is passed over and
//! counted, see [`List::skipped`].
//!
//! ```
//! let list = parse("tea;120");
//! ```

use std::collections::BTreeMap;

/// A [`List`] holds prices in cents by article.
pub struct List {
    prices: BTreeMap<String, u32>,
    skipped: usize,
}

impl List {
    /// How many lines could not be read.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    fn set(&mut self, name: &str, cents: u32) {
        self.prices.insert(name.to_string(), cents);
    }
}

/// Reads a whole list.
///
/// # Panics
/// Never.
pub fn parse(text: &str) -> List {
    let mut list = List { prices: BTreeMap::new(), skipped: 0 };
    for line in text.lines() {
        match line.split_once(';').and_then(|(n, c)| Some((n, c.parse().ok()?))) {
            Some((name, cents)) => list.set(name, cents),
            None => list.skipped += 1,
        }
    }
    list
}
