"""Scripts and sources that programs of the corpus run."""

PYTHON_MODULES = """
import json, os, re, sqlite3, subprocess, tempfile
data = {"squares": [i * i for i in range(100)], "text": "\\u00e4\\n" * 100}
assert json.loads(json.dumps(data)) == data
words = re.findall(r"\\b(\\w+)=(\\d+)", " ".join(f"k{i}={i}" for i in range(500)))
assert len(words) == 500
with sqlite3.connect("some.db") as db:
    db.execute("create table t (k text, v integer)")
    db.executemany("insert into t values (?, ?)", words)
    print("total", db.execute("select sum(v) from t").fetchone()[0])
shell = ["/bin/sh", "-c", "echo from a shell | tr a-z A-Z"]
said = subprocess.run(shell, capture_output=True, text=True)
print(said.stdout.strip(), said.returncode)
child = os.fork()
if child == 0:
    os._exit(7)
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
with tempfile.TemporaryFile() as f:
    f.write(b"x" * 100000)
    print("at", f.tell())
print("sum of squares", sum(data["squares"]))
"""

PERL = r"""
use strict; use warnings;
my %count;
my $text = "the quick brown fox jumps over the lazy dog\n" x 20;
$count{$_}++ for $text =~ /(\w+)/g;
printf "%s %d\n", $_, $count{$_} for sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
open(my $out, '>', 'lines') or die; print $out "$_\n" for map { $_ * $_ } 1 .. 1000; close $out;
open(my $in, '-|', 'wc', '-l', 'lines') or die; print <$in>; close $in;
eval { die { code => 42 } }; print "died with $@->{code}\n";
local $SIG{ALRM} = sub { print "alarm\n" }; kill 'ALRM', $$;
"""

BASH_PIPES = r"""
set -e -o pipefail
echo lines $(seq 1000 | grep -v '[02468]$' | wc -l)
for i in 1 2 3; do echo $i; done | while read -r n; do echo "got $((n * n))"; done | tac
diff <(seq 3) <(seq 4) || echo differs
wait_for() { (exit "$1") & wait $! || echo "child said $?"; }
wait_for 5
trap 'echo trapped' USR1; kill -USR1 $BASHPID
declare -A m=([a]=1 [b]=2); echo "${m[a]}${m[b]}"
cat <<< "here $(( 2 ** 40 ))"
"""

AWK = '{ n[substr($2, index($2, "/") + 1)]++ } END { for (p in n) print p, n[p] | "sort" }'

SQL = """
create table t (k integer primary key, v text, r real);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 100000)
insert into t select i, printf('%064x', (i * 7919) % 100003), i / 3.0 from c;
create index by_v on t(v);
select count(*), min(v), round(sum(r), 2) from t;
update t set r = r + 1 where k % 10 = 0;
delete from t where k % 97 = 0;
select count(*), round(avg(r), 3) from t where v > 'a' or k < 1000;
"""

C_PROGRAM = """
#include <stdio.h>
#include <math.h>
static int answer(int n) { return n * 6; }
int main(void) { printf("hello %d %.3f\\n", answer(7), sqrt(2)); return 0; }
"""

FORK = """
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t children;
static void on_child(int sig) { children += sig == SIGCHLD; }
int main(void) {
  int status;
  sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_child, .sa_flags = SA_RESTART}, NULL);
  if (fork() == 0) {
    puts("child");
    return 3;
  }
  wait(&status);
  printf("child exited %d, heard of %d\\n", WEXITSTATUS(status), (int)children);
}
"""

MAKEFILE = """
PARTS := a b c
all: all.txt
all.txt: $(PARTS:%=%.txt)
\tcat $^ > $@
%.txt:
\techo made $* | tr x y > $@
"""

FORTRAN = """
program table
  implicit none
  integer :: i, unit, n
  real(8) :: x, total
  open(newunit=unit, file='table.txt', status='replace', action='write')
  do i = 1, 1000
    write(unit, '(i6, f12.6)') i, sin(real(i, 8))
  end do
  close(unit)
  total = 0
  open(newunit=unit, file='table.txt', status='old', action='read')
  do i = 1, 1000
    read(unit, *) n, x
    total = total + x
  end do
  close(unit)
  open(newunit=unit, file='raw.bin', form='unformatted', access='stream')
  write(unit) total
  rewind(unit)
  read(unit) x
  close(unit)
  print '(a, f12.6, l2)', 'sum', total, x == total
end program
"""

CXX = r"""
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
int main() {
  std::map<std::string, double> values;
  {
    std::ofstream out("table.txt");
    for (int i = 0; i < 2000; i++) out << "k" << i % 50 << ' ' << i / 7.0 << std::endl;
  }
  std::ifstream in("table.txt");
  std::string key, line;
  while (std::getline(in, line)) {
    double v;
    std::istringstream(line) >> key >> v;
    values[key] += v;
  }
  for (auto &[k, v] : values) std::cout << k << '=' << v << '\n';
  try {
    values.at("none");
  } catch (const std::out_of_range &e) {
    std::cerr << "caught " << e.what() << '\n';
  }
  std::cout << "caught" << std::endl;
}
"""

PYTHON_THREADS = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool: print(list(pool.map(lambda i: i * i, range(4))))
"""

NUMPY = """
import numpy
a = numpy.ones((300, 300)); print("shape", (a @ a).shape)
"""

OPENMP = r"""
#include <omp.h>
#include <stdio.h>
static double a[2][1 << 16];
int main(void) {
  int seen = 0;
  omp_set_num_threads(2);
  a[0][0] = 1;
  for (int t = 0; t < 50; t++) {
#pragma omp parallel for reduction(max : seen)
    for (int i = 1; i < (1 << 16) - 1; i++) {
      a[(t + 1) & 1][i] = (a[t & 1][i - 1] + a[t & 1][i] + a[t & 1][i + 1]) / 3;
      seen = omp_get_num_threads();
    }
  }
  printf("threads %d\n", seen);
}
"""

LARGE_SQL = """
pragma journal_mode=wal;
create table t (k integer primary key, v blob);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 25000)
insert into t select i, zeroblob(4000) from c;
update t set v = cast(printf('%0.4000d', k) as blob) where k % 50 = 0;
select count(*), sum(length(v)) from t;
pragma wal_checkpoint(truncate);
"""

NODE = """
const { Worker } = require("worker_threads");
const code = "require('worker_threads').parentPort.postMessage(6 * 7)";
console.log(require("child_process").execSync("echo from a shell").toString());
require("zlib").gzip("x".repeat(100000), (e, packed) => {
  console.log(packed.length < 1000);
  new Worker(code, { eval: true }).on("message", (m) => console.log("worker", m));
});
"""

FORTRAN_OPENMP = """
program parts
  use omp_lib
  implicit none
  integer :: i, u
  real(8) :: a(100000), s
  character(20) :: name
  s = 0
  !$omp parallel num_threads(3) private(u, name)
  write(name, '(a,i0,a)') 'part', omp_get_thread_num(), '.txt'
  open(newunit=u, file=name)
  !$omp do reduction(+:s)
  do i = 1, 100000
    a(i) = sqrt(real(i, 8))
    s = s + a(i)
    if (mod(i, 1000) == 0) write(u, *) i, a(i)
  end do
  close(u)
  !$omp end parallel
  print '(f11.2)', s
end program
"""

LUA = """
local t = {}
for i = 1, 100000 do t[#t + 1] = (i * 7919) % 100003 end
table.sort(t)
print(t[1], t[#t])
local co = coroutine.wrap(function() for i = 1, 5 do coroutine.yield(i) end end)
print(co(), co())
print(io.popen("echo from lua"):read("a"))
"""

TCL = """
proc fib n {expr {$n < 2 ? $n : [fib [expr $n - 1]] + [fib [expr $n - 2]]}}
puts [fib 18]
puts [exec echo tcl]
after 50 {set x 1}
vwait x
puts [lsort -integer {5 3 1}]
"""

RUBY = """
q = Queue.new
3.times.map { |i| Thread.new { 100.times { |j| q << i * j } } }.each(&:join)
puts q.size
puts `echo from ruby`
pid = fork { exit 3 }
Process.wait pid
puts $?.exitstatus
GC.start
Signal.trap("USR1") { puts "usr1" }
Process.kill("USR1", $$)
sleep 0.01
"""

GO = """
package main

import ("fmt"; "os/exec"; "runtime"; "sync"; "time")

func main() {
	runtime.GOMAXPROCS(2)
	var group sync.WaitGroup
	var lock sync.Mutex
	sum := 0
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			s := 0
			for j := 0; j < 300000; j++ { s += j * i % 7 }
			lock.Lock()
			sum += s
			lock.Unlock()
		}(i)
	}
	group.Wait()
	c := make(chan int)
	go func() { for i := 0; i < 1000; i++ { c <- i }; close(c) }()
	n := 0
	for v := range c { n += v }
	time.Sleep(10 * time.Millisecond)
	out, err := exec.Command("echo", "from go").Output()
	runtime.GC()
	fmt.Println(sum, n, string(out), err)
}
"""

# redis-check-rdb is redis-server under another name; the package redis-server would start one.
REDIS = """
ln -s "$(command -v redis-check-rdb)" redis-server
./redis-server --port 0 --unixsocket r.sock --save '' --appendonly yes --io-threads 2 > log &
until test -S r.sock; do sleep 0.05; done
redis-benchmark -s r.sock -q -n 300 -c 5 -t set,get,lpush | tr '\\r' '\\n' > said
echo tests $(grep -c requests said)
redis-cli -s r.sock shutdown nosave
wait
"""

BOOT = """.code16
.globl _start
_start:
	xor %ax,%ax
	mov %ax,%ds
	mov $msg+0x7c00-_start,%si
	mov $0x3f8,%dx
1:	lodsb
	test %al,%al
	jz 2f
	out %al,%dx
	jmp 1b
2:
	mov $0x0200,%cx
3:	push %cx
	mov $0xffff,%cx
4:	add %cx,%bx
	loop 4b
	pop %cx
	loop 3b
	mov $0x604,%dx
	mov $0x2000,%ax
	out %ax,%dx
5:	hlt
	jmp 5b
msg:	.asciz "hello from the boot sector\\r\\n"
	.org 510
	.word 0xaa55
"""

JAVA = """import java.util.*; import java.util.concurrent.*; import java.util.stream.*;
public class Big {
  static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
  public static void main(String[] a) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    List<Future<Long>> f = new ArrayList<>();
    for (int i = 0; i < 8; i++) { final int k = i; f.add(pool.submit(() -> fib(20 + k % 4))); }
    long s = 0; for (Future<Long> x : f) s += x.get();
    pool.shutdown();
    Map<Integer, List<String>> m = IntStream.range(0, 20000).mapToObj(i -> "s" + (i * 7919 % 1000))
        .collect(Collectors.groupingBy(String::length));
    List<byte[]> keep = new ArrayList<>();
    for (int i = 0; i < 2000; i++) {
      byte[] b = new byte[20000];
      b[i % 100] = 1;
      if (i % 50 == 0) keep.add(b);
    }
    System.gc();
    IntStream all = IntStream.range(0, 30000).parallel();
    long h = all.mapToLong(i -> Integer.toString(i).hashCode()).sum();
    System.out.println(s + " " + m.keySet() + " " + keep.size() + " " + h);
  }
}
"""

LUAJIT = """
local t, s, k = {}, 0, {}
for i=1,200000 do t[i]=(i*7919)%1000 end
for r=1,20 do for i=1,#t do s=s+t[i]*r end end
for i=1,3000 do k[#k+1]=tostring(i*i) end
print(s, #table.concat(k))
"""
