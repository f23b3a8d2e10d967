package kopftest

import "github.com/kopf-dev/kopf/sdk/internal/redact"

// withoutSecrets returns an object without the data of Secrets, and without the fields in the redaction settings of the
// operators. Reports end up in the logs of CI, and golden files in repositories.
func (c *Cluster) withoutSecrets(tree map[string]any) map[string]any {
	var policy redact.Policy
	for _, op := range c.running() {
		settings := op.settings.Load()
		if settings == nil {
			continue // the operator has never run
		}
		for _, path := range settings.Redaction.Fields {
			policy.Fields = append(policy.Fields, path.Keys())
		}
	}
	return policy.Tree(tree)
}
