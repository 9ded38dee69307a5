SELECT client_name FROM dba_autotask_client WHERE status = 'ENABLED'
