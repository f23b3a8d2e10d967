// Package dockertest runs a private Docker engine for tests, with images that stand in for those
// that tests cannot pull. It needs Linux.
package dockertest
