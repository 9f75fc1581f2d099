// Each element is made of its own indices: what a debugger calls it can be checked by its value.
struct Cell {
    pair: (i32, i32),
    w: [[i64; 3]; 2],
}

#[inline(never)]
fn look(cell: &Cell, many: &Vec<i32>) -> i64 {
    cell.w[1][2] + many[1] as i64 + (cell.pair.0 + cell.pair.1) as i64 // @look
}

fn main() {
    let cell = Cell { pair: (7, 8), w: [[0, 1, 2], [10, 11, 12]] };
    let many = vec![0, 1, 2];
    println!("{}", look(&cell, &many));
}
