/* Fills the tables by which folders call those above them: what the boundary leads to, who may run, and so on. */
#pragma once
void sources_set(void);
