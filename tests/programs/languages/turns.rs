// `//=N EXPRESSION` marks the statement that first makes it false, before the Nth event; `//0N` is of
// a variable that optimisation may leave out.
extern "C" {
    fn getppid() -> i32;
}

struct Cell {
    w: [f64; 3],
    fine: bool,
}

static mut LEVEL: i64 = 0;

#[inline(never)]
fn work(steps: i64, cell: &mut Cell) -> f64 {
    let mut s = 1.0f64;
    let mut ok = true;
    for i in 1..=steps {
        s += 0.5;
        if i == 30 {
            s = f64::NAN; //030 s == s
        }
        ok = s == s; //030 ok
        if i == 25 {
            cell.w[2] = -1.0; //025 cell.w[2] > 0.0
        }
        if i == 26 {
            cell.fine = false; //026 cell.fine
        }
        unsafe {
            LEVEL = i; //040 turns::LEVEL < 40
            getppid();
        }
    }
    if ok { s } else { 0.0 }
}

fn main() {
    let mut cell = Cell { w: [1.0; 3], fine: true };
    std::process::exit((work(60, &mut cell) > 1.0) as i32);
}
