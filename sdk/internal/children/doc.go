// Package children decides about the children of an object: how a desired child is applied, and whether the API server's
// record of field ownership still covers the child. It also decides whether a child is ready, and whether its change is a
// reason to reconcile the parent. All functions depend on their arguments alone, and send no request.
package children
