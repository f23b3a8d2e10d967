// Package binary finds the program of the embedded control plane, and builds it if it is missing.
package binary
