// Package binary finds the program of the embedded control plane, and builds it where there is none.
package binary
