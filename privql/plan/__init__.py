"""From a typed query to kernel terms, mechanisms and a price."""
