// Package kstatus compares the readiness of children with the library kstatus, which the SDK does not import because of the
// library's dependencies. It is a module of its own, so that no other module depends on the library. See docs/decisions/children.md.
package kstatus
