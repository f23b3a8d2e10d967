package box

import (
	"slices"
	"strings"
	"testing"
)

func TestEnvironment_HasOnlyAllowedVariables(t *testing.T) {
	got, err := Environment([]string{"PATH=/bin", "KUBECONFIG=/prod", "REGION=x", "TZ=UTC", "LANGUAGE=y", "HTTPS_PROXY=z"}, []string{"REGION"})
	if want := []string{"PATH=/bin", "REGION=x", "TZ=UTC"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestEnvironment_UnsetNamedVariableIsRefused(t *testing.T) {
	if _, err := Environment([]string{"REGIONS=x"}, []string{"REGION"}); err == nil || !strings.Contains(err.Error(), "REGION is not set") {
		t.Error(err)
	}
}
