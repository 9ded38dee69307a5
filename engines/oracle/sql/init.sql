-- Part 1: parameters of a test database, for its parameter file; restart it afterwards.
-- Not for production: they make reads small and caches useless, which is what a test of I/O needs.
-- # A cache that holds next to nothing, so that each block is read; automatic sizes off.
--   memory_target=0
--   sga_target=0
--   db_cache_size=64M
--   pga_aggregate_target=1G
--   # One block for each read request: no prefetch of blocks that an index leads to.
--   _db_block_prefetch_limit=0
--   _db_block_prefetch_quota=0
--   _db_file_noncontig_mblock_read_count=0
--   # Around the page cache of the operating system, and asynchronously.
--   filesystemio_options=setall
--   disk_asynch_io=true
--   # Redo of many sessions at once waits for the log writer, not for room in its buffer.
--   log_buffer=256M
--   # What UPDATEs undo is needed by nobody for long: the undo tablespace below is used again and again.
--   undo_retention=60
--   # Nothing that gets in between.
--   recyclebin=off
--   resource_manager_plan=''
--   statistics_level=typical
--   # Cursors and what each session keeps there, beside the gigabyte that the instance needs.
--   shared_pool_size={shared_pool_mib}M
{cache_of_blocks}--   # {sessions} sessions (schemas times threads, or streams of the load), and room for the server's own.
--   processes={processes}
-- 
-- Part 2: a tablespace for {schemas} schemas with {blocks} blocks each, {mib} MiB with {block_kib} KiB blocks. Needs OMF
-- (db_create_file_dest); else name files after DATAFILE. Run it in the pluggable database.
CREATE BIGFILE TABLESPACE {tablespace} DATAFILE SIZE {file_mib}M AUTOEXTEND ON NEXT 1G BLOCKSIZE {block_kib}K EXTENT MANAGEMENT LOCAL SEGMENT SPACE MANAGEMENT AUTO;
-- 
-- Part 3: redo logs for tests of updates, three of 4 GiB; then drop the small ones (V$LOG). In the root of a
-- container database; with several instances, three for each: ADD LOGFILE THREAD n.
ALTER DATABASE ADD LOGFILE SIZE 4G;
ALTER DATABASE ADD LOGFILE SIZE 4G;
ALTER DATABASE ADD LOGFILE SIZE 4G;
-- 
-- Part 4: undo for tests of updates, in the pluggable database: REDO_STRESS=HEAVY writes as much undo as rows.
CREATE BIGFILE UNDO TABLESPACE SLOB_UNDO DATAFILE SIZE 8G AUTOEXTEND ON NEXT 1G;
ALTER SYSTEM SET UNDO_TABLESPACE = SLOB_UNDO;
-- 
-- Part 5: tests with short scans (SCAN_PCT). CF2 is NOCACHE, and the server decides for each scan whether it goes
-- through the buffer cache (db file scattered read) or past it (direct path read). So that it is the same in each
-- run, put one of these into the parameter file; a mix is to be read with its scans apart:
--   _serial_direct_read=never    # through the cache, as an OLTP application's short scans
--   _serial_direct_read=always   # past it, as a report's
-- Scans that must find their blocks in the cache whatever SELECTs do there: db_keep_cache_size above the size of all
-- CF2, and then, for each of them: ALTER TABLE SLOB1.CF2 STORAGE (BUFFER_POOL KEEP) CACHE
-- 
-- Part 6: the server's own calibration, as SYSDBA, in quiet hours: it loads the storage for ten minutes.
-- It drives reads of a size and a number of its own past the buffer cache. What it calls MAX_IOPS is what
-- the storage gave it, not what a database's sessions get: no buffer cache, no redo, no writes, no latches
-- and next to no CPU are in it. It knows no working set: arrays serve a part of it from their caches.
-- It needs asynchronous I/O (filesystemio_options, disk_asynch_io). Set the number of disks, and SET SERVEROUTPUT ON.
DECLARE
    latency PLS_INTEGER;
    iops PLS_INTEGER;
    mbps PLS_INTEGER;
BEGIN
    DBMS_RESOURCE_MANAGER.CALIBRATE_IO(
        num_physical_disks => 1,
        max_latency => 20,
        max_iops => iops,
        max_mbps => mbps,
        actual_latency => latency
    );
    DBMS_OUTPUT.PUT_LINE('max_iops ' || iops || ', max_mbps ' || mbps || ', latency ' || latency || ' ms');
END;
/
