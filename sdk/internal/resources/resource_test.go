package resources

import (
	"testing"
)

var verbs = []string{"get", "list", "watch", "patch"}

func TestResource_Key(t *testing.T) {
	pods := &Resource{Version: "v1", Plural: "pods", Subresources: []string{"status"}}
	jobs := &Resource{Group: "batch", Version: "v1", Plural: "jobs"}
	for _, tt := range []struct{ got, want string }{
		{pods.Key(), "pods.v1"}, {pods.APIVersion(), "v1"}, {pods.GVR().Resource, "pods"},
		{jobs.String(), "jobs.v1.batch"}, {jobs.APIVersion(), "batch/v1"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	if !pods.HasSubresource("status") || jobs.HasSubresource("status") {
		t.Error("got wrong subresources")
	}
}
