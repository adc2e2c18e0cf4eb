// SPDX-License-Identifier: MIT

//! Shapes and what can be asked of them.
//! Second line.

use std::collections::HashMap;
use std::fmt::{self, Display};

mod parser;
pub extern crate serde;

/// A point in the plane.
#[derive(Debug, Clone)]
pub struct Point<T> {
    pub x: T,
    pub y: T,
}

/// How far away.
pub enum Distance {
    Near,
    Far(f64),
}

pub type Grid = HashMap<u32, Point<f64>>;

/// Has an area.
pub trait Shape {
    fn area(&self) -> f64;

    /// Says what it is.
    fn describe(&self) -> String {
        format!("area {}", self.area())
    }
}

impl<T: Copy> Point<T> {
    /// Makes a point.
    pub fn new(x: T, y: T) -> Self {
        Point { x, y }
    }

    #[inline]
    pub fn swap(&self) -> Self {
        Point { x: self.y, y: self.x }
    }
}

impl<T: Display> fmt::Display for Point<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

#[macro_export]
macro_rules! square {
    ($x:expr) => {
        $x * $x
    };
}

pub async fn run<F>(f: F) -> Result<(), Box<dyn std::error::Error>>
where
    F: Fn() -> u32,
{
    println!("{}", f());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swaps() {
        assert_eq!(Point::new(1, 2).swap().x, 2);
    }
}
