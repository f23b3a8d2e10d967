package kopftest

import "github.com/kopf-dev/kopf/sdk/internal/redact"

// withoutSecrets returns an object without the data of Secrets, and without the fields that the settings of
// the operators name: reports end up in the logs of CI, and golden files in repositories.
func (c *Cluster) withoutSecrets(tree map[string]any) map[string]any {
	var policy redact.Policy
	for _, op := range c.running() {
		for _, path := range op.redacted {
			policy.Fields = append(policy.Fields, path.Keys())
		}
	}
	return policy.Tree(tree)
}
