// Package shards divides objects into shards by a hash, and the shards among the replicas of an operator.
package shards
