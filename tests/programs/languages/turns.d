// `//=N EXPRESSION` marks the statement that first makes it false, before the Nth event; `//0N` is of
// a variable that optimisation may leave out.  Behind `@` in C, which GDB itself takes.
module turns;

extern (C) int getppid();

struct Cell
{
    double[3] w = [1, 1, 1];
    bool fine = true;
}

__gshared long total;
__gshared Cell last;

pragma(inline, false) double work(int steps, ref Cell cell, ref long level)
{
    double s = 1;
    bool ok = true;
    for (int i = 1; i <= steps; i++)
    {
        s += 0.5;
        if (i == 30)
            s = double.nan; //030 s == s
        ok = s == s; //030 ok
        if (i == 25)
            cell.w[2] = -1; //025 cell.w[2] > 0
        if (i == 26)
            cell.fine = false; //026 cell.fine
        level = i; //040 level < 40
        if (i == 27)
            last.w[1] = -1; //027 turns.last.w[1] > 0 @ ((double*)&'turns.last')[1] > 0
        total = i; //041 total < 41 @ *(long*)&'turns.total' < 41
        getppid();
    }
    return ok && total > 0 && last.fine ? s : 0;
}

int main()
{
    Cell cell;
    long level;
    return work(60, cell, level) > 1;
}
