SELECT block_size FROM dba_tablespaces WHERE tablespace_name = :name
