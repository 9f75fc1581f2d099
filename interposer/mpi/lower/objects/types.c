/* Datatypes: which bytes of upper memory a typed buffer covers. */
#include "lower/objects/large.h"

#define GAP_FACTOR 8   /* gaps are logged, too, while the span is at most so many times the data */
#define GAP_FREE 65536 /* or at most so many bytes */

struct blocks {
	struct block *list;
	unsigned count, room;
	bool exact; /* without any gap: `list` has the newest block only, `parts` those before */
	struct rdb_blocks *parts;
	unsigned part_count, part_room;
};

static void *more(void *list, unsigned count, unsigned *room, size_t size)
{
	if (count < *room)
		return list;
	*room = *room ? *room * 2 : 16;
	list = needed(realloc(list, *room * size));
	return list;
}

/* The newest block is complete: adds it to the last part if length and distance are the same, or begins a new part. */
static void part_add(struct blocks *blocks)
{
	const struct block *block = blocks->list;
	struct rdb_blocks *last = blocks->part_count ? &blocks->parts[blocks->part_count - 1] : NULL;

	if (!blocks->count)
		return;
	if (last && last->len == (uint64_t)block->len &&
	    (last->count == 1 || last->offset + (int64_t)last->count * last->stride == block->offset)) {
		if (last->count++ == 1)
			last->stride = block->offset - last->offset;
		return;
	}
	blocks->parts = more(blocks->parts, blocks->part_count, &blocks->part_room, sizeof(*blocks->parts));
	blocks->parts[blocks->part_count++] = (struct rdb_blocks){block->offset, 0, (uint64_t)block->len, 1};
}

static void blocks_add(struct blocks *blocks, MPI_Aint offset, MPI_Aint len)
{
	struct block *last = blocks->count ? &blocks->list[blocks->count - 1] : NULL;

	if (len <= 0)
		return;
	if (last && last->offset + last->len == offset) {
		last->len += len;
		return;
	}
	if (blocks->exact) {
		part_add(blocks);
		blocks->count = 0;
	}
	blocks->list = more(blocks->list, blocks->count, &blocks->room, sizeof(*blocks->list));
	blocks->list[blocks->count++] = (struct block){offset, len};
}

static void blocks_of(struct blocks *blocks, MPI_Datatype type, MPI_Aint base);

static void blocks_repeat(struct blocks *blocks, MPI_Datatype type, MPI_Aint base, int64_t count)
{
	MPI_Aint lb, extent, true_lb, true_extent;
	MPI_Count size;

	PMPI_Type_get_extent(type, &lb, &extent);
	PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
	PMPI_Type_size_x(type, &size);
	if (size == extent && size == true_extent) {
		blocks_add(blocks, base + true_lb, count * extent);
		return;
	}
	for (int64_t i = 0; i < count; i++)
		blocks_of(blocks, type, base + i * extent);
}

/* Arguments of a type constructor, from MPI_Type_get_contents or MPI_Type_get_contents_c. */
struct contents {
	int combiner;
	MPI_Count n[4]; /* integers, addresses, large counts, datatypes */
	MPI_Count *i, *d;
	MPI_Datatype *t;
};

static void *zeros(MPI_Count n, size_t size)
{
	void *room = needed(calloc((size_t)n + 1, size));

	return room;
}

static void envelope(MPI_Datatype type, struct contents *c)
{
#if LARGE_COUNTS
	PMPI_Type_get_envelope_c(type, &c->n[0], &c->n[1], &c->n[2], &c->n[3], &c->combiner);
#else
	int ni = 0, na = 0, nd = 0;

	PMPI_Type_get_envelope(type, &ni, &na, &nd, &c->combiner);
	c->n[0] = ni;
	c->n[1] = na;
	c->n[3] = nd;
#endif
}

/* Number of the integers that come before the large counts, as MPI_Type_get_contents without large counts has them in
 * one array (MPI-4.0, 5.1.13). */
static MPI_Count before_large(const struct contents *c)
{
	return c->combiner == MPI_COMBINER_SUBARRAY ? 1 : c->combiner == MPI_COMBINER_DARRAY ? 3 : c->n[0];
}

/* Place of the first displacement in bytes in an array of large counts. */
static MPI_Count first_displacement(const struct contents *c, const MPI_Count *large)
{
	switch (c->combiner) {
	case MPI_COMBINER_HVECTOR:
	case MPI_COMBINER_HINDEXED_BLOCK: return 2;
	case MPI_COMBINER_HINDEXED:
	case MPI_COMBINER_STRUCT: return 1 + large[0];
	default: return c->n[2];
	}
}

/* Gets integers and displacements. */
static void contents(MPI_Datatype type, struct contents *c)
{
	int *integers = zeros(c->n[0], sizeof(*integers));
	MPI_Aint *addresses = zeros(c->n[1], sizeof(*addresses));
	MPI_Count *large = zeros(c->n[2], sizeof(*large));

	c->t = zeros(c->n[3], sizeof(MPI_Datatype));
	c->i = zeros(c->n[0] + c->n[2], sizeof(MPI_Count));
	c->d = zeros(c->n[1] + c->n[2], sizeof(MPI_Count));
#if LARGE_COUNTS
	PMPI_Type_get_contents_c(type, c->n[0], c->n[1], c->n[2], c->n[3], integers, addresses, large, c->t);
#else
	PMPI_Type_get_contents(type, (int)c->n[0], (int)c->n[1], (int)c->n[3], integers, addresses, c->t);
#endif
	const MPI_Count before = before_large(c), first = first_displacement(c, large);

	for (MPI_Count k = 0; k < c->n[0]; k++)
		c->i[k < before ? k : k + c->n[2]] = integers[k];
	memcpy(c->i + before, large, (size_t)c->n[2] * sizeof(*large));
	for (MPI_Count k = 0; k < c->n[1]; k++)
		c->d[k] = addresses[k];
	for (MPI_Count k = first; k < c->n[2]; k++)
		c->d[k - first] = large[k];
	free(integers);
	free(addresses);
	free(large);
}

/* i: dims, sizes, subsizes, starts (each `dims`), order.  Recursive, beginning with the dimension of the largest
 * stride; done: dimensions handled so far. */
static void blocks_subarray(struct blocks *blocks, MPI_Datatype type, MPI_Aint base, const MPI_Count *i, int done)
{
	MPI_Aint lb, extent;
	const int dims = (int)i[0];
	const bool c_order = i[1 + 3 * dims] == MPI_ORDER_C;
	const int dim = c_order ? done : dims - 1 - done;
	const MPI_Count sub = i[1 + dims + dim], start = i[1 + 2 * dims + dim];

	PMPI_Type_get_extent(type, &lb, &extent);
	for (int inner = done + 1; inner < dims; inner++)
		extent *= i[1 + (c_order ? inner : dims - 1 - inner)];
	if (done == dims - 1)
		blocks_repeat(blocks, type, base + start * extent, sub);
	else
		for (MPI_Count k = 0; k < sub; k++)
			blocks_subarray(blocks, type, base + (start + k) * extent, i, done + 1);
}

/* i: size, rank, dims, global sizes, distributions, their arguments, processes (each `dims`), order.  The processes are
 * a grid in C order whatever the order of the array is (MPI-4.0, 5.1.4).  A block distribution is handled as a cyclic
 * one with a single cycle. */
static void blocks_darray(struct blocks *blocks, MPI_Datatype type, MPI_Aint base, const MPI_Count *i, int done)
{
	MPI_Aint lb, extent;
	const int dims = (int)i[2];
	const MPI_Count *sizes = i + 3, *kinds = sizes + dims, *dargs = kinds + dims, *grid = dargs + dims;
	const bool c_order = grid[dims] == MPI_ORDER_C;
	const int dim = c_order ? done : dims - 1 - done;
	MPI_Count each = dargs[dim], place = i[1];

	PMPI_Type_get_extent(type, &lb, &extent);
	for (int inner = done + 1; inner < dims; inner++)
		extent *= sizes[c_order ? inner : dims - 1 - inner];
	for (int k = dims - 1; k > dim; k--)
		place /= grid[k];
	place %= grid[dim];
	if (kinds[dim] == MPI_DISTRIBUTE_NONE)
		each = sizes[dim];
	else if (each == MPI_DISTRIBUTE_DFLT_DARG)
		each = kinds[dim] == MPI_DISTRIBUTE_BLOCK ? (sizes[dim] + grid[dim] - 1) / grid[dim] : 1;
	for (MPI_Count start = place * each; start < sizes[dim]; start += grid[dim] * each) {
		const MPI_Count n = start + each < sizes[dim] ? each : sizes[dim] - start;

		if (done == dims - 1)
			blocks_repeat(blocks, type, base + start * extent, n);
		else
			for (MPI_Count k = start; k < start + n; k++)
				blocks_darray(blocks, type, base + k * extent, i, done + 1);
	}
}

/* The blocks of one constructor; integers i and addresses d are those of MPI_Type_get_contents (MPI-3.1, table in
 * section 4.1.13). */
static void blocks_inside(struct blocks *blocks, const struct contents *c, MPI_Aint base)
{
	const MPI_Count *i = c->i, *d = c->d;
	const MPI_Datatype *t = c->t;
	MPI_Aint lb, extent;

	PMPI_Type_get_extent(t[0], &lb, &extent);
	switch (c->combiner) {
	case MPI_COMBINER_DUP:
	case MPI_COMBINER_RESIZED: blocks_of(blocks, t[0], base); break;
	case MPI_COMBINER_CONTIGUOUS: blocks_repeat(blocks, t[0], base, i[0]); break;
	case MPI_COMBINER_VECTOR:
		for (MPI_Count k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + k * i[2] * extent, i[1]);
		break;
	case MPI_COMBINER_HVECTOR:
		for (MPI_Count k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + k * d[0], i[1]);
		break;
	case MPI_COMBINER_INDEXED:
		for (MPI_Count k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + i[1 + i[0] + k] * extent, i[1 + k]);
		break;
	case MPI_COMBINER_HINDEXED:
		for (MPI_Count k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + d[k], i[1 + k]);
		break;
	case MPI_COMBINER_INDEXED_BLOCK:
		for (MPI_Count k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + i[2 + k] * extent, i[1]);
		break;
	case MPI_COMBINER_HINDEXED_BLOCK:
		for (MPI_Count k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + d[k], i[1]);
		break;
	case MPI_COMBINER_STRUCT:
		for (MPI_Count k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[k], base + d[k], i[1 + k]);
		break;
	case MPI_COMBINER_SUBARRAY: blocks_subarray(blocks, t[0], base, i, 0); break;
	case MPI_COMBINER_DARRAY: blocks_darray(blocks, t[0], base, i, 0); break;
	}
}

static bool is_named(MPI_Datatype type)
{
	struct contents c = {.combiner = MPI_COMBINER_NAMED};

	envelope(type, &c);
	return c.combiner == MPI_COMBINER_NAMED;
}

static void blocks_of(struct blocks *blocks, MPI_Datatype type, MPI_Aint base)
{
	MPI_Aint true_lb = 0, true_extent = 0;
	struct contents c = {.combiner = MPI_COMBINER_NAMED};
	MPI_Count size = 0;

	PMPI_Type_size_x(type, &size);
	PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
	envelope(type, &c);
	/* The gaps of a subarray are inside one array, so its whole span is memory of the program. */
	if (true_extent <= (blocks->exact ? size : (MPI_Aint)size * GAP_FACTOR) || c.combiner == MPI_COMBINER_NAMED ||
	    ((c.combiner == MPI_COMBINER_SUBARRAY || c.combiner == MPI_COMBINER_DARRAY) && !blocks->exact) ||
	    c.n[3] == 0) {
		blocks_add(blocks, base + true_lb, true_extent);
		return;
	}
	contents(type, &c);
	blocks_inside(blocks, &c, base);
	for (MPI_Count k = 0; k < c.n[3]; k++) {
		if (!is_named(c.t[k]))
			PMPI_Type_free(&c.t[k]);
	}
	free(c.i);
	free(c.d);
	free(c.t);
}

void type_describe(struct vtype *type)
{
	MPI_Datatype real = type->o.real;
	MPI_Aint lb = 0;
	MPI_Count size = 0;

	PMPI_Type_size_x(real, &size);
	PMPI_Type_get_extent(real, &lb, &type->extent);
	PMPI_Type_get_true_extent(real, &type->true_lb, &type->true_extent);
	type->size = size;
	type->dense = type->true_lb == 0 && size == type->extent && size == type->true_extent;
	if (type->true_extent > GAP_FREE && type->true_extent > size * GAP_FACTOR) {
		struct blocks blocks = {0};

		blocks_of(&blocks, real, 0);
		type->blocks = blocks.list;
		type->block_count = blocks.count;
	}
}

void type_parts(struct vtype *type)
{
	struct blocks blocks = {.exact = true};

	blocks_of(&blocks, type->o.real, 0);
	part_add(&blocks);
	free(blocks.list);
	type->parts = blocks.parts;
	type->part_count = blocks.part_count;
}

void out_typed(void *buf, int64_t count, const struct vtype *type)
{
	MPI_Aint rest = (count - 1) * type->extent;
	MPI_Aint first = type->true_lb + (rest < 0 ? rest : 0);

	if (count <= 0 || type->size == 0)
		return;
	if (!type->blocks) {
		order_out((char *)buf + first, (rest < 0 ? -rest : rest) + type->true_extent);
		return;
	}
	for (int64_t i = 0; i < count; i++) {
		for (unsigned k = 0; k < type->block_count; k++)
			order_out((char *)buf + i * type->extent + type->blocks[k].offset, type->blocks[k].len);
	}
}

/* The beginning of an element: behind it the program may have no memory.  Inside a block the order of the data may be
 * another one, so a block counts as a whole. */
static void out_begun(char *element, int64_t bytes, struct vtype *type)
{
	char *from = element, *to = element;

	if (!type->parts)
		type_parts(type);
	for (unsigned i = 0; i < type->part_count; i++) {
		const struct rdb_blocks *part = &type->parts[i];

		for (uint64_t k = 0; k < part->count && bytes > 0; k++) {
			char *block = element + part->offset + (int64_t)k * part->stride;

			if (from == to || block < to || block - to > (int64_t)part->len * GAP_FACTOR) {
				order_out(from, to - from);
				from = block;
			}
			to = block + part->len;
			bytes -= (int64_t)part->len;
		}
	}
	order_out(from, to - from);
}

/* `bytes` were received into room for `count` elements. */
void out_received(void *buf, int64_t bytes, int64_t count, struct vtype *type)
{
	if (bytes <= 0 || type->size == 0)
		return;
	if (bytes > count * type->size)
		bytes = count * type->size;
	if (type->dense) {
		order_out(buf, bytes);
		return;
	}
	out_typed(buf, bytes / type->size, type);
	if (bytes % type->size)
		out_begun((char *)buf + bytes / type->size * type->extent, bytes % type->size, type);
}
