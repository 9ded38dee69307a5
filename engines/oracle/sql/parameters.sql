SELECT name, display_value FROM v$parameter WHERE name IN ({names})
