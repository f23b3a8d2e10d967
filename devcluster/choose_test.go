package devcluster

import (
	"errors"
	"strings"
	"testing"
)

func TestTheChoiceOfACluster(t *testing.T) {
	detached := func(name string) Info { return Info{Name: name, Provider: Embedded, State: Running, PID: 100} }
	child := func(name string) Info {
		return Info{Name: name, Provider: Embedded, State: Running, PID: 200, Owner: 199}
	}
	stopped := func(name string) Info { return Info{Name: name, Provider: Embedded, State: Stopped} }
	stuck := func(name string) Info { return Info{Name: name, Provider: Embedded, State: Unreachable, PID: 300} }

	for _, test := range []struct {
		title    string
		options  Options
		known    []Info
		provider string
		name     string
		reused   bool
		reason   string
		err      error
	}{
		{title: "without anything, dev is made", provider: Embedded, name: "dev", reason: "no cluster was running"},
		{title: "a stopped dev is started again", known: []Info{stopped("dev")}, provider: Embedded, name: "dev", reason: "no cluster was running"},
		{title: "a detached dev is used", known: []Info{detached("a"), detached("dev")}, provider: Embedded, name: "dev", reused: true, reason: "running already"},
		{title: "another detached one is used rather than starting dev", known: []Info{stopped("dev"), detached("lab")}, provider: Embedded, name: "lab", reused: true, reason: "running already"},
		{title: "one that is just being started is waited for", known: []Info{{Name: "dev", State: Starting, PID: 1}}, provider: Embedded, name: "dev", reused: true, reason: "running already"},
		{title: "a child of somebody else is left alone", known: []Info{child("dev")}, provider: Embedded, name: "dev-2", reason: `"dev" belongs to the process 199`},
		{title: "the next free number is taken", known: []Info{child("dev"), child("dev-2"), stopped("dev-3")}, provider: Embedded, name: "dev-3", reason: "belongs to"},
		{title: "one that does not answer is passed over", known: []Info{stuck("dev")}, provider: Embedded, name: "dev-2", reason: `"dev" is used by the process 300`},
		{title: "an ephemeral one is not shared", known: []Info{{Name: "ephemeral", State: Running, PID: 1, Ephemeral: true}}, provider: Embedded, name: "dev", reason: "no cluster"},

		{title: "a name that does not exist is made", options: Options{Name: "lab"}, known: []Info{detached("dev")}, provider: Embedded, name: "lab", reason: "did not exist"},
		{title: "a stopped name is started", options: Options{Name: "lab"}, known: []Info{stopped("lab")}, provider: Embedded, name: "lab", reason: "was stopped"},
		{title: "a running name is used", options: Options{Name: "lab"}, known: []Info{detached("lab")}, provider: Embedded, name: "lab", reused: true, reason: "running already"},
		{title: "a name that belongs to somebody is refused", options: Options{Name: "dev"}, known: []Info{child("dev")}, err: ErrInUse},
		{title: "a name that does not answer is refused", options: Options{Name: "dev"}, known: []Info{stuck("dev")}, err: ErrUnreachable},
		{title: "an impossible name is refused", options: Options{Name: "../x"}, err: ErrInvalid},

		{title: "an ephemeral one is new", options: Options{Ephemeral: true}, known: []Info{detached("dev")}, provider: Embedded, name: "ephemeral", reason: "a new one"},
		{title: "an ephemeral one takes a free name", options: Options{Ephemeral: true}, known: []Info{stopped("ephemeral")}, provider: Embedded, name: "ephemeral-2", reason: "a new one"},
		{title: "an ephemeral one can be named", options: Options{Ephemeral: true, Name: "lab"}, provider: Embedded, name: "lab", reason: "a new one"},
		{title: "an ephemeral one does not take data", options: Options{Ephemeral: true, Name: "lab"}, known: []Info{stopped("lab")}, err: ErrExists},

		{title: "a context implies its provider", options: Options{Context: "kind-x"}, known: []Info{detached("dev")}, provider: Context, name: "kind-x", reason: "was given"},
		{title: "a kubeconfig implies its provider", options: Options{Kubeconfig: "f"}, provider: Context, reason: "was given"},
		{title: "the current context can be asked for", options: Options{Provider: Context}, provider: Context, reason: "asked for"},
		{title: "embedded does not go with a context", options: Options{Provider: Embedded, Context: "kind-x"}, err: ErrInvalid},
		{title: "a context cannot be ephemeral", options: Options{Context: "kind-x", Ephemeral: true}, err: ErrInvalid},
		{title: "a context has no name of ours", options: Options{Context: "kind-x", Name: "dev"}, err: ErrInvalid},
		{title: "an unknown provider is refused", options: Options{Provider: "cloud"}, err: ErrInvalid},
	} {
		t.Run(test.title, func(t *testing.T) {
			c, err := choose(test.options, test.known)
			if !errors.Is(err, test.err) || (err != nil) != (test.err != nil) {
				t.Fatalf("the error is %v", err)
			}
			if err != nil {
				return
			}
			if c.provider != test.provider || c.name != test.name || (c.reuse != nil) != test.reused {
				t.Errorf("chosen is %+v", c)
			}
			if !strings.Contains(c.reason, test.reason) {
				t.Errorf("the reason is %q", c.reason)
			}
		})
	}
}

func TestNamesOfClusters(t *testing.T) {
	for name, good := range map[string]bool{
		"dev": true, "dev-2": true, "0": true, strings.Repeat("a", 40): true,
		"": false, "Dev": false, "-dev": false, "dev-": false, "a/b": false, "..": false, strings.Repeat("a", 41): false,
	} {
		if err := checkName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestWhatLooksLikeADevelopmentCluster(t *testing.T) {
	for _, test := range []struct {
		context, server string
		want            bool
	}{
		{"kind-x", "https://10.1.2.3:6443", true},
		{"k3d-x", "https://0.0.0.0:6443", true},
		{"kopf-dev", "https://10.1.2.3", true},
		{"minikube", "https://192.168.49.2:8443", true},
		{"docker-desktop", "https://kubernetes.docker.internal:6443", true},
		{"rancher-desktop", "https://10.1.2.3", true},
		{"anything", "https://127.0.0.1:6443", true},
		{"anything", "https://[::1]:6443", true},
		{"anything", "https://localhost:6443", true},
		{"anything", "https://api.localhost:6443", true},
		{"production", "https://10.1.2.3:6443", false},
		{"production", "https://localhost.example.com", false},
		{"minikubernetes", "https://example.com", false},
		{"unkind-x", "https://example.com", false},
		{"production", "%", false},
	} {
		if got := looksLikeDevelopment(test.context, test.server); got != test.want {
			t.Errorf("%s at %s: %v", test.context, test.server, got)
		}
	}
}
