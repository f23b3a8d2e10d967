// Package schema compares Go types with the OpenAPI schemas of resources: a field of a type that the schema lacks is
// always empty, because the API server prunes fields outside of the schema.
package schema
