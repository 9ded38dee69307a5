SELECT format('max_connections is %s, of which %s are reserved for superusers; %s are in use: raise max_connections, or use fewer schemas or threads',
              current_setting('max_connections'), current_setting('superuser_reserved_connections'),
              (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'))
