dprintf p.c:5,"n %d\n",n
dprintf p.c:9,"s\n"
