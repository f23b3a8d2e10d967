package k3d

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/devcluster"
)

func TestNodeImage_FollowsVersionAndMirror(t *testing.T) {
	for _, test := range []struct{ mirror, version, want string }{
		{"", "", "docker.io/rancher/k3s:v1.32.5-k3s1"},
		{"", "v1.31.1-k3s1", "docker.io/rancher/k3s:v1.31.1-k3s1"},
		{"", "v1.31.1+k3s1", "docker.io/rancher/k3s:v1.31.1-k3s1"},
		{"mirror.test:5000/k3s", "", "mirror.test:5000/k3s:v1.32.5-k3s1"},
		{"mirror.test:5000/k3s:mine", "", "mirror.test:5000/k3s:mine"},
		{"mirror.test:5000/k3s:mine", "v1.31.1-k3s1", "mirror.test:5000/k3s:v1.31.1-k3s1"},
	} {
		t.Setenv(imageVariable, test.mirror)
		if got, err := nodeImage(test.version); got != test.want || err != nil {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
	if _, err := nodeImage("rancher/k3s:v1"); !errors.Is(err, devcluster.ErrInvalid) {
		t.Errorf("an image as a version: %v", err)
	}
}

func TestPullProgress_SumsLayersAndReportsFailure(t *testing.T) {
	stream := `{"status":"Pulling from rancher/k3s","id":"v1"}
{"status":"Downloading","progressDetail":{"current":1048576,"total":4194304},"id":"a"}
{"status":"Downloading","progressDetail":{"current":1048576,"total":2097152},"id":"b"}
{"status":"Download complete","progressDetail":{},"id":"a"}
{"status":"Extracting","progressDetail":{"current":1,"total":4194304},"id":"a"}
`
	var done, total int
	count := func(d, t int) { done, total = d, t }
	if err := pullProgress(strings.NewReader(stream), count); err != nil || done != 5 || total != 6 {
		t.Errorf("%d of %d MB, %v", done, total, err)
	}
	failed := stream + `{"errorDetail":{"message":"manifest unknown"},"error":"manifest unknown"}`
	if err := pullProgress(strings.NewReader(failed), count); err == nil || err.Error() != "manifest unknown" {
		t.Errorf("the error is %v", err)
	}
	if err := pullProgress(strings.NewReader(`{"status":`), count); err == nil {
		t.Error("a stream that breaks off is a success")
	}
}
