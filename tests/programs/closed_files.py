"""Changes files by name in rounds, says what is there, and waits for the file `gate-N`."""

import os
import shelve
import sqlite3
import subprocess
import sys
import time


def write(path, text, mode="w"):
    with open(path, mode) as file:
        file.write(text)


def read(path):
    with open(path) as file:
        return file.read()


def step(number, base):
    count = int(read("counter"))
    write("counter", str(count + 1))
    write("log", f"step {number} {count}\n", "a")
    write("tmp", f"state {number} {count}")
    os.rename("tmp", "state")
    base.execute("insert into t values (?)", (count,))
    base.commit()
    with shelve.open("shelf") as shelf:
        shelf[str(count)] = number
        shelf["last"] = count
    write(f"out-{count}", f"o{count}")


def begin():
    for name in ("counter", "gone", "moved", "cut", "mode", "linked", "twice"):
        write(name, "0" if name == "counter" else f"old {name}" * 3)
    write("log", "")
    write("empty", "")
    os.mkdir("folder")
    write("folder/inner", "inner")
    os.mkdir("stays", 0o700)
    write("stays/inner", "as ever")
    os.symlink("cut", "link")
    os.link("counter", "../counter")


def change(number):
    without_name = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.link(f"/proc/self/fd/{without_name}", f"named-{number}", src_dir_fd=without_name)
    os.close(without_name)
    os.makedirs("stays", exist_ok=True)
    if number == 1:
        os.remove("gone")
        os.rename("moved", "moved-2")
        write("moved", "another one")
        os.truncate("cut", 5)
        os.mkdir("made")
        write("made/inner", "x")
        os.chmod("mode", 0o600)
        os.link("linked", "linked-2")
        write("linked-2", "by its other name")
        write("empty", "no more")
        os.rename("folder", "folder-2")
        write("folder-2/inner", "changed")
        os.remove("link")
        os.symlink("counter", "link")
        subprocess.run("echo child >> log; mv moved-2 moved-3; rm twice", shell=True, check=True)
    else:
        os.remove("moved")
        os.rename("moved-3", "moved")
        write("twice", f"again {number}")
        os.rename("folder-2", "folder")
        os.rmdir(os.path.join("folder", "below")) if number > 2 else os.mkdir("folder/below")


def show():
    for folder, below, names in sorted(os.walk(".")):
        below.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.startswith(("gate", "data", "shelf")):
                mode = oct(os.lstat(path).st_mode)
                print(path, mode, repr(read(path)), os.path.islink(path))
        print(folder, below)
    print(oct(os.stat("stays").st_mode))
    with sqlite3.connect("data") as base:
        print(base.execute("select count(*), sum(x) from t").fetchall())
    with shelve.open("shelf") as shelf:
        print(sorted(shelf.items()))


def main():
    os.chdir(sys.argv[1])
    begin()
    base = sqlite3.connect("data")
    base.execute("create table t (x)")
    for number in range(3):
        for turn in range(3):
            step(3 * number + turn, base)
        if number:
            change(number)
        base.close()
        show()
        print("at", number + 1, flush=True)
        while not os.path.exists(f"../gate-{number + 1}"):
            time.sleep(0.002)
        base = sqlite3.connect("data")


main()
