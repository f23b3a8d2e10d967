// Package resources describes the resource kinds a cluster serves, their URLs, and the selectors and
// namespace patterns that choose among them.
package resources
