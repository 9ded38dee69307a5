SELECT CONCAT('connection ', id, ' (', user, ' from ', host, ')')
FROM information_schema.processlist
WHERE id = IS_USED_LOCK('openslob')
