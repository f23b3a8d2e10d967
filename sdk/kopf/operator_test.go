package kopf_test

import (
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestOperator_WholeClusterMustBeAskedFor(t *testing.T) {
	for want, operator := range map[string]*kopf.Operator{
		"name some in Namespaces, or set AllNamespaces": {},
		"AllNamespaces excludes Namespaces":             {AllNamespaces: true, Namespaces: []string{"a"}},
		"has an empty name; name it, or set":            {Namespaces: []string{""}},
	} {
		operator.Registry = &kopf.Registry{}
		if err := operator.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
