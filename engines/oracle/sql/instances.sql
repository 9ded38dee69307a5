SELECT COUNT(*) AS instances FROM gv$instance
