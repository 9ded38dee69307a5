BEGIN
    rdsadmin.rdsadmin_util.checkpoint;
END;
