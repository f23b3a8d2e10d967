package kopf

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

func TestMain_ExitCodeAndMessage(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() {
		slog.SetDefault(before)
		klog.ClearLogger()
		rest.SetDefaultWarningHandler(rest.WarningLogger{})
	})
	broken := errors.New("no database")
	tests := map[string]struct {
		args     []string
		register func(*Registry)
		code     int
		says     string
	}{
		"failing startup": {
			[]string{"-A"}, func(r *Registry) {
				OnStartup(r, func(context.Context, *Activity) error { return broken }, ID("connect"), ErrorsPermanent)
			}, 1, `op: the operator does not start: the startup handler "connect" has failed: no database` + "\n",
		},
		"failing cleanup after a failed login": {
			[]string{"-A", "--kubeconfig=/does/not/exist"}, func(r *Registry) {
				OnCleanup(r, func(context.Context, *Activity) error { return broken }, ID("c"), ErrorsPermanent)
			}, 1, `the cleanup handler "c" has failed: no database` + "\n",
		},
		"a panic in Register": {
			[]string{"-A"}, func(r *Registry) {
				OnStartup(r, func(context.Context, *Activity) error { return nil }, ID("a"))
				panic("no configuration")
			}, 1, "op: register handlers: panic: no configuration at kopf/main_exit_test.go:",
		},
		"a missing Register": {[]string{"-A"}, nil, 1, "op: register handlers: panic: runtime error: invalid memory address"},
		"failing login": {
			[]string{"-A", "--kubeconfig=/does/not/exist"}, func(*Registry) {}, 1, "cannot log in to the cluster",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(append([]string{"/bin/op", "--log-format=none"}, tt.args...), strings.NewReader(""), &out, &errs, tt.register)
			if code != tt.code || !strings.Contains(errs.String(), tt.says) {
				t.Errorf("%d: %s", code, errs.String())
			}
		})
	}
}
