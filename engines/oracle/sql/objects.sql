SELECT COUNT(*) AS objects FROM user_objects
