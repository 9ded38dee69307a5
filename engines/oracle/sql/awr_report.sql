SELECT output
FROM TABLE(DBMS_WORKLOAD_REPOSITORY.{report}(:dbid, :instances, :first_snapshot, :last_snapshot))
