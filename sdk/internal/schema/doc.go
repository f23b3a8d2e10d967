// Package schema compares Go types with the OpenAPI schemas of resources: a field of a type that the
// schema does not have is always empty, since Kubernetes drops what is not in the schema.
package schema
