SELECT version FROM product_component_version WHERE product LIKE 'Oracle%'
