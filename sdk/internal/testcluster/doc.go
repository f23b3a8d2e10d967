// Package testcluster provides tests with a real control plane: an embedded process for each test
// binary, which ends with the binary, even if that is killed.
package testcluster
