//! Plain tables: a head, rows, columns as wide as their widest cell.

/// How a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A table that grows row by row.
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table's lines, each with two spaces before it. A head whose names are all empty is left out.
    pub fn render(&self) -> String {
        let width = |text: &str| text.chars().count();
        let head: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let head = head.iter().any(|name| !name.is_empty()).then_some(&head);
        let lines: Vec<&Vec<String>> = head.into_iter().chain(&self.rows).collect();
        let widest = |column: usize| {
            lines.iter().filter_map(|line| line.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(widest).collect();
        let mut text = String::new();
        for line in &lines {
            let mut rendered = String::new();
            for (column, (_, align)) in self.columns.iter().enumerate() {
                let cell = line.get(column).map_or("", String::as_str);
                let padding = " ".repeat(widths[column] - width(cell));
                rendered.push_str("  ");
                match align {
                    Align::Left => rendered.extend([cell, &padding]),
                    Align::Right => rendered.extend([padding.as_str(), cell]),
                }
            }
            text.push_str(rendered.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&[("phase", Align::Left), ("took", Align::Right)]);
        table.row(["upload".to_owned(), "0.21 s".to_owned()]);
        table.row(["é".to_owned(), "10.2 s".to_owned()]);
        assert_eq!(table.render(), "  phase     took\n  upload  0.21 s\n  é       10.2 s\n");
    }
}
