SELECT value AS pack_access FROM v$parameter WHERE name = 'control_management_pack_access'
