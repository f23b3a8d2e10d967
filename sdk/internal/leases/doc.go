// Package leases shares the shards of an operator's objects among its replicas by means of Leases.
package leases
