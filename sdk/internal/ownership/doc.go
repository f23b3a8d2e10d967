// Package ownership tests how the API server records the owners of fields in metadata.managedFields. Drift of
// children is judged by these records. The tests hold where that is right, and where it fails.
package ownership
