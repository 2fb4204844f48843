//! Tables in Markdown. Nothing else of it is needed.

/// Rows under a head.
pub(super) struct Table {
    columns: usize,
    text: String,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Self {
        let mut table = Self {
            columns: head.len(),
            text: String::new(),
        };
        table.row(head);
        table.text.push_str(&"|---".repeat(head.len()));
        table.text.push_str("|\n");
        table
    }

    /// Cells that are left out stay empty.
    pub(super) fn row(&mut self, cells: &[&str]) {
        for index in 0..self.columns {
            let cell = cells.get(index).copied().unwrap_or_default();
            self.text.push_str("| ");
            self.text
                .push_str(&cell.replace('|', "\\|").replace('\n', " "));
            self.text.push(' ');
        }
        self.text.push_str("|\n");
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// `1234567` as `1,234,567`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_cells() {
        let mut table = Table::new(&["a", "b"]);
        table.row(&["x|y", "two\nlines"]);
        table.row(&["z"]);
        assert_eq!(
            table.into_text(),
            "| a | b |\n|---|---|\n| x\\|y | two lines |\n| z |  |\n"
        );
    }

    #[test]
    fn long_numbers_are_grouped() {
        for (number, want) in [
            (7, "7"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), want);
        }
    }
}
