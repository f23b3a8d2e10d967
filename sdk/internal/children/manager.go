package children

// DefaultPrefix is the default prefix of the operator's annotations.
const DefaultPrefix = "kopf.zalando.org"

// StatusSuffix is appended to the result of [Manager] for the field manager of the parent's conditions.
const StatusSuffix = "-status"

const maxManager = 128 - len(StatusSuffix) // the API server's limit is 128

// Manager returns the field manager of the children of a resource's objects. Two programs with the same manager would remove each
// other's fields. The manager of the default prefix begins with kopf.dev.
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
