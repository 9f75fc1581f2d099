/* Infos, and the tables of groups, datatypes, operations and infos. */
#include "lower/checkpoint/coordinated_state.h"

void put_info(struct bytes *out, MPI_Info info)
{
	char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
	int n = 0, len, flag;

	PMPI_Info_get_nkeys(info, &n);
	put_number(out, n);
	for (int i = 0; i < n; i++) {
		PMPI_Info_get_nthkey(info, i, key);
		value[0] = 0;
		PMPI_Info_get_valuelen(info, key, &len, &flag);
		PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
		put_text(out, key);
		put_text(out, value);
	}
}

MPI_Info get_info(struct bytes *in)
{
	char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
	MPI_Info info;

	PMPI_Info_create(&info);
	for (int64_t n = get_number(in); n > 0 && !in->bad; n--) {
		get_text(in, key, sizeof(key));
		get_text(in, value, sizeof(value));
		if (!in->bad)
			PMPI_Info_set(info, key, value);
	}
	return info;
}

void put_others(struct bytes *out)
{
	struct vobject *one;
	struct vtype *type;
	char name[MPI_MAX_OBJECT_NAME];
	int len, commute;

	EACH_PLAIN(RDB_GROUP, one)
	{
		put_number(out, one->id);
		put_group(out, REAL(MPI_Group, one->real));
	}
	put_number(out, 0);
	EACH(RDB_TYPE, type)
	{
		put_number(out, type->o.id);
		put_type(out, REAL(MPI_Datatype, type->o.real));
		name[0] = 0;
		PMPI_Type_get_name(REAL(MPI_Datatype, type->o.real), name, &len);
		put_text(out, name);
	}
	put_number(out, 0);
	EACH_PLAIN(RDB_OP, one)
	{
		void *function, *caller;

		op_functions(one, &function, &caller);
		PMPI_Op_commutative(REAL(MPI_Op, one->real), &commute);
		put_number(out, one->id);
		put_number(out, commute);
		put_number(out, (int64_t)function);
		put_number(out, (int64_t)caller);
	}
	put_number(out, 0);
	EACH_PLAIN(RDB_INFO, one)
	{
		put_number(out, one->id);
		put_info(out, REAL(MPI_Info, one->real));
	}
	put_number(out, 0);
}

void get_others(struct bytes *in)
{
	char name[MPI_MAX_OBJECT_NAME];
	uint32_t id;
	bool own;

	while ((id = (uint32_t)get_number(in)) && !in->bad)
		object_at(RDB_GROUP, id, BITS(get_group(in)));
	while ((id = (uint32_t)get_number(in)) && !in->bad) {
		MPI_Datatype real = get_type(in, &own);

		get_text(in, name, sizeof(name));
		if (in->bad)
			return;
		if (*name)
			PMPI_Type_set_name(real, name);
		type_describe((struct vtype *)object_at(RDB_TYPE, id, BITS(real)));
	}
	while ((id = (uint32_t)get_number(in)) && !in->bad) {
		int commute = (int)get_number(in);
		void *function = (void *)get_number(in), *caller = (void *)get_number(in);
		struct vobject *op = object_at(RDB_OP, id, NULL);

		in->bad |= op_again(op, function, caller, commute) != MPI_SUCCESS;
	}
	while ((id = (uint32_t)get_number(in)) && !in->bad)
		object_at(RDB_INFO, id, BITS(get_info(in)));
}
