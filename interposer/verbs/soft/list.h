/* Doubly linked lists whose links are in the members. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define list_entry(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))
/* The body may free the entry. */
#define list_each(type, it, head, member) \
	for (type *it = list_entry((head)->next, type, member), *it##_after; \
	     &it->member != (head) && (it##_after = list_entry(it->member.next, type, member)); it = it##_after)

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_append(struct list *head, struct list *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

/* Does nothing to an initialised link that is in no list. */
static inline void list_remove(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}
