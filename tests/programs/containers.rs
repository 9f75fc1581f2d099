// Elements of containers by their number, lengths, and texts.
use std::collections::{BTreeMap, HashMap, VecDeque};

struct Grid {
    cells: Vec<f64>,
    rows: Vec<Vec<i32>>,
    tag: Option<String>,
    name: String,
}

extern "C" {
    fn getppid() -> i32;
}

#[inline(never)]
fn step(g: &mut Grid, queue: &mut VecDeque<i32>, n: usize) -> i32 {
    let slice: &[f64] = &g.cells[2..5];
    let mut by_name: HashMap<String, i32> = HashMap::new();
    let mut ordered: BTreeMap<i32, i32> = BTreeMap::new();
    by_name.insert("a".to_string(), 1);
    ordered.insert(n as i32, 2);
    let part = slice[1] as i32;
    g.cells[3] = if n == 5 { -7.0 } else { n as f64 }; // @changed
    g.rows[1][2] += 1;
    queue.pop_front();
    queue.push_back(100 + n as i32);
    if n == 4 {
        g.tag = Some("late".to_string());
        g.name = String::from("other");
    }
    part + by_name.len() as i32 + ordered.len() as i32 + unsafe { getppid() }
}

fn main() {
    let mut g = Grid {
        cells: vec![0.5; 10],
        rows: vec![vec![1, 2, 3], vec![4, 5, 6]],
        tag: None,
        name: "first".to_string(),
    };
    let mut queue: VecDeque<i32> = (0..4).collect();
    let mut sum = 0;
    for n in 0..8 {
        sum += step(&mut g, &mut queue, n) & 1;
    }
    println!("{} {} {:?}", sum, g.name, g.tag);
}
