// Package indexing keeps indices in memory: for each key, the values that objects have
// given for it. Each object's values are replaced and removed together.
package indexing
