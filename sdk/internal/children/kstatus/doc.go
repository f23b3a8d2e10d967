// Package kstatus compares the rules of readiness with the library kstatus. It is a separate module, so that no other module
// depends on the library and its dependencies. See docs/decisions/children.md.
package kstatus
