/* The least that PostgreSQL can do for the same work: one loop of index rescans, heap fetches, a column and a clock. */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(floor_loop);

/* floor_loop(cf1 oid, i_cf1 oid, seconds int, scale bigint, unit int) returns the rows seen. */
Datum
floor_loop(PG_FUNCTION_ARGS)
{
	Relation	heap = table_open(PG_GETARG_OID(0), AccessShareLock);
	Relation	index = index_open(PG_GETARG_OID(1), AccessShareLock);
	TimestampTz end = GetCurrentTimestamp() + PG_GETARG_INT32(2) * USECS_PER_SEC;
	int64		scale = PG_GETARG_INT64(3);
	int32		unit = PG_GETARG_INT32(4);
	AttrNumber	column = get_attnum(RelationGetRelid(heap), "c2");
	TupleTableSlot *slot = table_slot_create(heap, NULL);
#if PG_VERSION_NUM >= 180000
	IndexScanDesc scan = index_beginscan(heap, index, GetActiveSnapshot(), NULL, 2, 0);
#else
	IndexScanDesc scan = index_beginscan(heap, index, GetActiveSnapshot(), 2, 0);
#endif
	uint64		random = MyProcPid * UINT64CONST(0x9E3779B97F4A7C15);
	int64		seen = 0;

	do
	{
		ScanKeyData keys[2];
		int64		first;
		bool		is_null;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		first = 1 + random % (scale - unit + 1);
		ScanKeyInit(&keys[0], 1, BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(first));
		ScanKeyInit(&keys[1], 1, BTLessStrategyNumber, F_INT8LT, Int64GetDatum(first + unit));
		index_rescan(scan, keys, 2, NULL, 0);
		while (index_getnext_slot(scan, ForwardScanDirection, slot))
		{
			slot_getattr(slot, column, &is_null);
			seen += !is_null;
		}
		CHECK_FOR_INTERRUPTS();
	} while (GetCurrentTimestamp() < end);
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	PG_RETURN_INT64(seen);
}
