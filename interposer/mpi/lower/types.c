/* Datatypes: which bytes of upper memory a typed buffer covers. */
#include "real.h"

#define GAP_FACTOR 8   /* log the gaps too while the span is at most this times the data */
#define GAP_FREE 65536 /* or this many bytes */

struct blocks {
	struct block *list;
	unsigned count, room;
};

static void blocks_add(struct blocks *blocks, MPI_Aint offset, MPI_Aint len)
{
	struct block *last = blocks->count ? &blocks->list[blocks->count - 1] : NULL;

	if (len <= 0)
		return;
	if (last && last->offset + last->len == offset) {
		last->len += len;
		return;
	}
	if (blocks->count == blocks->room) {
		blocks->room = blocks->room ? blocks->room * 2 : 16;
		blocks->list = realloc(blocks->list, blocks->room * sizeof(*blocks->list));
		if (!blocks->list)
			host->fatal("out of memory in the MPI boundary");
	}
	blocks->list[blocks->count++] = (struct block){offset, len};
}

static void blocks_of(struct blocks *blocks, MPI_Datatype type, MPI_Aint base);

static void blocks_repeat(struct blocks *blocks, MPI_Datatype type, MPI_Aint base, int64_t count)
{
	MPI_Aint lb, extent;

	PMPI_Type_get_extent(type, &lb, &extent);
	for (int64_t i = 0; i < count; i++)
		blocks_of(blocks, type, base + i * extent);
}

/* The parts of one constructor; integers i and addresses d as MPI_Type_get_contents gives them
 * (MPI 3.1, table in section 4.1.13). */
static void blocks_inside(struct blocks *blocks, int combiner, const int *i, const MPI_Aint *d, const MPI_Datatype *t,
			  MPI_Aint base)
{
	MPI_Aint lb, extent;

	PMPI_Type_get_extent(t[0], &lb, &extent);
	switch (combiner) {
	case MPI_COMBINER_DUP:
	case MPI_COMBINER_RESIZED: blocks_of(blocks, t[0], base); break;
	case MPI_COMBINER_CONTIGUOUS: blocks_repeat(blocks, t[0], base, i[0]); break;
	case MPI_COMBINER_VECTOR:
		for (int k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + k * i[2] * extent, i[1]);
		break;
	case MPI_COMBINER_HVECTOR:
		for (int k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + k * d[0], i[1]);
		break;
	case MPI_COMBINER_INDEXED:
		for (int k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + i[1 + i[0] + k] * extent, i[1 + k]);
		break;
	case MPI_COMBINER_HINDEXED:
		for (int k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + d[k], i[1 + k]);
		break;
	case MPI_COMBINER_INDEXED_BLOCK:
		for (int k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + i[2 + k] * extent, i[1]);
		break;
	case MPI_COMBINER_HINDEXED_BLOCK:
		for (int k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[0], base + d[k], i[1]);
		break;
	case MPI_COMBINER_STRUCT:
		for (int k = 0; k < i[0]; k++)
			blocks_repeat(blocks, t[k], base + d[k], i[1 + k]);
		break;
	}
}

static bool is_named(MPI_Datatype type)
{
	int ni, na, nd, combiner;

	return PMPI_Type_get_envelope(type, &ni, &na, &nd, &combiner) != MPI_SUCCESS || combiner == MPI_COMBINER_NAMED;
}

static void blocks_of(struct blocks *blocks, MPI_Datatype type, MPI_Aint base)
{
	MPI_Aint true_lb = 0, true_extent = 0;
	int ni, na, nd, combiner, size = 0;

	PMPI_Type_size(type, &size);
	PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
	PMPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
	/* A subarray's gaps are all inside one array: its span is memory the program owns. */
	if (true_extent <= (MPI_Aint)size * GAP_FACTOR || combiner == MPI_COMBINER_NAMED ||
	    combiner == MPI_COMBINER_SUBARRAY || combiner == MPI_COMBINER_DARRAY || nd == 0) {
		blocks_add(blocks, base + true_lb, true_extent);
		return;
	}

	int *integers = calloc(ni + 1, sizeof(int));
	MPI_Aint *addresses = calloc(na + 1, sizeof(MPI_Aint));
	MPI_Datatype *types = calloc(nd, sizeof(MPI_Datatype));

	if (!integers || !addresses || !types)
		host->fatal("out of memory in the MPI boundary");
	PMPI_Type_get_contents(type, ni, na, nd, integers, addresses, types);
	blocks_inside(blocks, combiner, integers, addresses, types, base);
	for (int k = 0; k < nd; k++) {
		if (!is_named(types[k]))
			PMPI_Type_free(&types[k]);
	}
	free(integers);
	free(addresses);
	free(types);
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

/* `bytes` were received into room for `count` elements. */
void out_received(void *buf, int64_t bytes, int64_t count, const struct vtype *type)
{
	int64_t elements;

	if (bytes <= 0 || type->size == 0)
		return;
	elements = (bytes + type->size - 1) / type->size;
	if (elements > count)
		elements = count;
	if (type->dense)
		order_out(buf, bytes < elements * type->size ? bytes : elements * type->size);
	else
		out_typed(buf, elements, type);
}
