//! Columns that stand under each other.

/// The first `left` columns are words, the others numbers. The first row is the heading.
pub(crate) fn lay_out(rows: &[Vec<String>], left: usize) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| {
            let gap = " ".repeat(width.saturating_sub(cell.chars().count()));
            match column < left {
                true => format!("{cell}{gap}"),
                false => format!("{gap}{cell}"),
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_left_and_numbers_right() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["folder", "n", "x"]), row(["Größe", "1000", ""])];
        assert_eq!(lay_out(&rows, 1), ["folder     n  x", "Größe   1000"]);
        assert_eq!(lay_out(&[], 1), Vec::<String>::new());
    }
}
