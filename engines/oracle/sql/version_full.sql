SELECT version_full FROM product_component_version WHERE product LIKE 'Oracle%'
