// Containers of Rust's whose elements have members, and references to them.
use std::collections::VecDeque;

#[derive(Clone, Copy)]
#[allow(dead_code)]
struct Cell {
    x: f64,
    y: i32,
    w: [f32; 3],
    t: (i64, f64),
}

static mut CALLS: i32 = 0;

#[inline(never)]
fn look(many: &Vec<Cell>, part: &[Cell], four: &[Cell; 4], queue: &VecDeque<f64>) -> f64 {
    unsafe { CALLS += 1 };
    many[0].x + part[0].x + four[0].x + queue[0]
}

fn main() {
    let cell = |i: i32| Cell { x: i as f64, y: -i, w: [i as f32; 3], t: (i as i64, 0.5) };
    let many: Vec<Cell> = (0..5).map(cell).collect();
    let none: Vec<f64> = Vec::new();
    let plain = vec![1.5, 2.5, -3.0];
    let four = [cell(1), cell(2), cell(3), cell(4)];
    let mut queue: VecDeque<f64> = VecDeque::with_capacity(8);
    queue.extend([0.0, 1.0, 2.0, 3.0]);
    queue.pop_front();
    let mut wrapped = queue.clone();
    for i in 0..wrapped.capacity() - 3 {
        wrapped.push_back(i as f64);
    }
    wrapped.pop_front();
    wrapped.push_back(9.0);
    let sum = look(&many, &many[1..3], &four, &queue);
    println!("{} {} {} {}", sum, none.len(), plain.len(), wrapped.len());
}
