SELECT operation, options FROM plan_table WHERE statement_id = :id ORDER BY id
