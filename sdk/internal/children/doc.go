// Package children has the decisions about children. It encodes desired children, detects drift by the API server's record of
// field ownership, and judges the readiness of a child. It also decides whether a change of a child needs a pass of its parent.
// All functions depend only on their arguments, and send no requests.
package children
