package children

// DefaultPrefix is the prefix of the operator's annotations unless a setting changes it.
const DefaultPrefix = "kopf.zalando.org"

// StatusSuffix follows the name of the field manager in the name of the manager of the parent's conditions.
const StatusSuffix = "-status"

const maxManager = 128 - len(StatusSuffix) // the API server's limit is 128

// Manager returns the field manager of the children of a resource. Two programs with the same manager would remove the fields
// of each other.
func Manager(prefix, resource string) string {
	if prefix == DefaultPrefix {
		prefix = "kopf.dev"
	}
	manager := prefix + "/" + resource
	if len(manager) > maxManager {
		manager = manager[:maxManager-17] + "-" + Checksum(manager)
	}
	return manager
}
