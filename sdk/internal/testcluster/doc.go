// Package testcluster gives tests a real control plane: one embedded process for each test binary,
// which ends with the binary however that ends.
package testcluster
