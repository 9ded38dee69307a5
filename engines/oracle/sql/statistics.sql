BEGIN
    DBMS_STATS.GATHER_TABLE_STATS(
        ownname => '{user}',
        tabname => '{table}',
        estimate_percent => 1,
        block_sample => TRUE,
        method_opt => 'FOR COLUMNS SIZE 1 custid',
        cascade => TRUE
    );
END;
