// Values that functions return: in rax, rdx, xmm0 and xmm1, through copies, calls and locals.
#include <unistd.h>

#include <string>

#define OWN __attribute__((noinline, noclone))

struct Mixed {
  double a;
  long b;
};

struct Two {
  double x, y;
};

struct Large {
  double of[5];
};

struct Box {
  double held = 0;
  OWN double get() const {
    return held;  // get
  }
  OWN bool full() const {
    return held > 3;  // full
  }
};

struct Results {
  int whole, outer, pid, here, copied;
  double real, kept, got, large;
  float single;
  char *pointer;
  bool full;
  Two two;
  Mixed mixed;
};

Results results;
Box box;
char text[100];

OWN int whole(int n) {
  int result = n * 3 + 1;  // whole
  return result;
}

OWN int outer(int n) { return whole(n + 40); }

OWN double real(double x) {
  return x * 2.5 + 1;  // real
}

OWN float single(float x) {
  return x / 3;  // single
}

OWN char *pointer(char *p, int n) {
  return p + n;  // pointer
}

OWN Two two(double x) {
  return {x + 1, x * 7};  // two
}

OWN Mixed mixed(double x, long n) {
  return {x * 3, n * 9};  // mixed
}

OWN double kept(double x) {
  std::string held("longer than what a string holds in itself");
  double sum = x * 11 + (double)held.size();  // kept
  return sum;
}

OWN Large large(double x) {
  Large made = {};
  made.of[3] = x * 5;  // large
  return made;
}

OWN int id(int n) {
  return n ? getppid() : 0;  // id
}

int main() {
  for (int n = 0; n < 3; n++) {
    box.held = n * 1.5 + 1;  // held
    results.whole = whole(n);
    results.outer = outer(n);
    results.real = real(n);
    results.single = single((float)n);
    results.pointer = pointer(text, n);
    results.two = two(n);
    results.mixed = mixed(n, n);
    results.kept = kept(n);
    results.got = box.get();
    results.full = box.full();
    results.large = large(n).of[3];
    results.here = n + 5;  // here
    results.copied = results.here;
    results.pid = id(n);
    usleep(1);
  }
  return 0;
}
