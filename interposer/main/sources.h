/* Fills the tables by which folders call those above them: what the boundary leads to, who may run, and so on. */
#ifndef RDB_SOURCES_H
#define RDB_SOURCES_H
void sources_set(void);

#endif
