COMMENT ON TABLE {user}.slob_load IS '{comment}'
