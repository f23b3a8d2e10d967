package devcluster

import (
	"errors"
	"strings"
	"testing"
)

func TestChoose_FollowsOptionsAndKnownClusters(t *testing.T) {
	detached := func(name string) Info { return Info{Name: name, Provider: Embedded, State: Running, PID: 100} }
	child := func(name string) Info {
		return Info{Name: name, Provider: Embedded, State: Running, PID: 200, Owner: 199}
	}
	stopped := func(name string) Info { return Info{Name: name, Provider: Embedded, State: Stopped} }
	of := func(project string, i Info) Info { i.Project = project; return i }
	k3d := func(name string, state State) Info { return Info{Name: name, Provider: K3d, State: state} }
	const answers, none = "a Docker engine answers", "no Docker engine can be used"
	stuck := func(name string) Info { return Info{Name: name, Provider: Embedded, State: Unreachable, PID: 300} }

	for _, test := range []struct {
		title    string
		options  Options
		known    []Info
		engine   bool   // a Docker engine answers
		probed   string // the reason; empty if the program has no backend
		provider string
		name     string
		reused   bool
		reason   string
		err      error
	}{
		{title: "by default, dev is created", provider: Embedded, name: "dev", reason: "no cluster was running"},
		{title: "a stopped dev is started again", known: []Info{stopped("dev")}, provider: Embedded, name: "dev", reason: "no cluster was running"},
		{title: "a detached dev is used", known: []Info{detached("a"), detached("dev")}, provider: Embedded, name: "dev", reused: true, reason: "already running"},
		{title: "another detached one is used rather than starting dev", known: []Info{stopped("dev"), detached("lab")}, provider: Embedded, name: "lab", reused: true, reason: "already running"},
		{title: "one that is starting is used", known: []Info{{Name: "dev", Provider: Embedded, State: Starting, PID: 1}}, provider: Embedded, name: "dev", reused: true, reason: "already running"},
		{title: "a child of another process is not used", known: []Info{child("dev")}, provider: Embedded, name: "dev-2", reason: `"dev" belongs to process 199`},
		{title: "the next free number is taken", known: []Info{child("dev"), child("dev-2"), stopped("dev-3")}, provider: Embedded, name: "dev-3", reason: "belongs to"},
		{title: "an unreachable one is skipped", known: []Info{stuck("dev")}, provider: Embedded, name: "dev-2", reason: `"dev" is used by process 300`},
		{title: "an ephemeral one is not shared", known: []Info{{Name: "ephemeral", State: Running, PID: 1, Ephemeral: true}}, provider: Embedded, name: "dev", reason: "no cluster"},

		{title: "a project's is named after its folder", options: Options{Project: "/src/Hello_World"}, known: []Info{detached("dev")}, provider: Embedded, name: "hello-world", reason: "no cluster was running; project /src/Hello_World"},
		{title: "a project's that was stopped is started again", options: Options{Project: "/src/a"}, known: []Info{of("/src/a", stopped("a"))}, provider: Embedded, name: "a", reason: "no cluster was running"},
		{title: "a project's that runs is used", options: Options{Project: "/src/a"}, known: []Info{of("/src/a", detached("a")), detached("dev")}, provider: Embedded, name: "a", reused: true, reason: "already running; project /src/a"},
		{title: "a project's second one that runs is used", options: Options{Project: "/src/a"}, known: []Info{of("/src/a", stopped("a")), of("/src/a", detached("a-2"))}, provider: Embedded, name: "a-2", reused: true, reason: "already running"},
		{title: "another project's is not used", options: Options{Project: "/src/a"}, known: []Info{of("/src/b", detached("b"))}, provider: Embedded, name: "a", reason: "no cluster was running"},
		{title: "another project's of the same folder name is not used", options: Options{Project: "/src/a"}, known: []Info{of("/old/a", detached("a"))}, provider: Embedded, name: "a-3213ad", reason: "no cluster was running"},
		{title: "a cluster that was created by this name is not used", options: Options{Project: "/src/a"}, known: []Info{detached("a")}, provider: Embedded, name: "a-3213ad", reason: "no cluster was running"},
		{title: "a name with a hash is kept", options: Options{Project: "/src/a"}, known: []Info{of("/src/a", stopped("a-3213ad"))}, provider: Embedded, name: "a-3213ad", reason: "no cluster was running"},
		{title: "a project's that another process has is not used", options: Options{Project: "/src/a"}, known: []Info{of("/src/a", child("a")), of("/src/b", stopped("a-2"))}, provider: Embedded, name: "a-3", reason: `"a" belongs to process 199; project /src/a`},
		{title: "no project is named as a provider", options: Options{Project: "/src/context"}, provider: Embedded, name: "context-746117", reason: "no cluster"},
		{title: "a name as that of a provider is refused", options: Options{Name: "auto"}, err: ErrInvalid},

		{title: "an unknown name is created", options: Options{Name: "lab"}, known: []Info{detached("dev")}, provider: Embedded, name: "lab", reason: "did not exist"},
		{title: "a stopped name is started", options: Options{Name: "lab"}, known: []Info{stopped("lab")}, provider: Embedded, name: "lab", reason: "was stopped"},
		{title: "a running name is used", options: Options{Name: "lab"}, known: []Info{detached("lab")}, provider: Embedded, name: "lab", reused: true, reason: "already running"},
		{title: "the name of a child of another process is refused", options: Options{Name: "dev"}, known: []Info{child("dev")}, err: ErrInUse},
		{title: "the name of an unreachable one is refused", options: Options{Name: "dev"}, known: []Info{stuck("dev")}, err: ErrUnreachable},
		{title: "an invalid name is refused", options: Options{Name: "../x"}, err: ErrInvalid},

		{title: "an ephemeral one is new", options: Options{Ephemeral: true}, known: []Info{detached("dev")}, provider: Embedded, name: "ephemeral", reason: "new and ephemeral"},
		{title: "an ephemeral one takes a free name", options: Options{Ephemeral: true}, known: []Info{stopped("ephemeral")}, provider: Embedded, name: "ephemeral-2", reason: "new and ephemeral"},
		{title: "an ephemeral one can be named", options: Options{Ephemeral: true, Name: "lab"}, provider: Embedded, name: "lab", reason: "new and ephemeral"},
		{title: "an ephemeral one does not take data", options: Options{Ephemeral: true, Name: "lab"}, known: []Info{stopped("lab")}, err: ErrExists},

		{title: "a new one is of k3d if an engine answers", options: Options{Project: "/src/a"}, engine: true, probed: answers, provider: K3d, name: "a", reason: "no cluster was running, and a Docker engine answers; project /src/a"},
		{title: "a new one is embedded if no engine answers", engine: false, probed: none, provider: Embedded, name: "dev", reason: "no cluster was running, and no Docker engine can be used"},
		{title: "a stopped embedded one is preferred to a new one", known: []Info{stopped("dev")}, engine: true, probed: answers, provider: Embedded, name: "dev", reason: "no cluster was running"},
		{title: "a stopped one of k3d is started again", known: []Info{k3d("dev", Stopped)}, engine: true, probed: answers, provider: K3d, name: "dev", reason: "no cluster was running"},
		{title: "a running one of k3d is used", known: []Info{k3d("dev", Running)}, provider: K3d, name: "dev", reused: true, reason: "already running"},
		{title: "without its engine, one of k3d is skipped", known: []Info{k3d("dev", Unreachable)}, probed: none, provider: Embedded, name: "dev-2", reason: `"dev" does not answer, and no Docker engine can be used`},
		{title: "an unknown name becomes one of k3d if an engine answers", options: Options{Name: "lab"}, engine: true, probed: answers, provider: K3d, name: "lab", reason: "it did not exist, and a Docker engine answers"},
		{title: "a name of k3d that does not answer is started, which says why", options: Options{Name: "lab"}, known: []Info{k3d("lab", Unreachable)}, provider: K3d, name: "lab", reason: "created before"},
		{title: "k3d can be asked for, whatever answers", options: Options{Provider: K3d}, probed: none, provider: K3d, name: "dev", reason: "no cluster was running"},
		{title: "embedded can be asked for", options: Options{Provider: Embedded}, engine: true, probed: answers, provider: Embedded, name: "dev", reason: "no cluster was running"},
		{title: "a running one of another provider is not used", options: Options{Provider: K3d}, known: []Info{detached("dev")}, provider: K3d, name: "dev-2", reason: `"dev" has the provider embedded`},
		{title: "a name of another provider is refused", options: Options{Provider: K3d, Name: "dev"}, known: []Info{detached("dev")}, err: ErrExists},
		{title: "an ephemeral one is embedded", options: Options{Ephemeral: true}, engine: true, probed: answers, provider: Embedded, name: "ephemeral", reason: "new and ephemeral"},
		{title: "one of k3d cannot be ephemeral", options: Options{Provider: K3d, Ephemeral: true}, err: ErrInvalid},
		{title: "k3d does not go with a context", options: Options{Provider: K3d, Context: "kind-x"}, err: ErrInvalid},
		{title: "an embedded one has no registry", options: Options{Provider: Embedded, K3d: K3dOptions{Registry: true}}, err: ErrInvalid},

		{title: "one with feature gates is embedded", options: Options{FeatureGates: "A=true"}, known: []Info{k3d("dev", Running)}, engine: true, probed: answers, provider: Embedded, name: "dev-2", reason: `"dev" has the provider k3d`},
		{title: "one of k3d has no feature gates", options: Options{Provider: K3d, FeatureGates: "A=true"}, err: ErrInvalid},
		{title: "a copy is ephemeral", options: Options{Provider: Embedded, Copy: true}, err: ErrInvalid},
		{title: "a copy is no context", options: Options{Context: "kind-x", Ephemeral: true, Copy: true}, err: ErrInvalid},
		{title: "a context has no feature gates", options: Options{Context: "kind-x", FeatureGates: "A=true"}, err: ErrInvalid},

		{title: "a context implies its provider", options: Options{Context: "kind-x"}, known: []Info{detached("dev")}, provider: Context, name: "kind-x", reason: "was given"},
		{title: "a kubeconfig implies its provider", options: Options{Kubeconfig: "f"}, provider: Context, reason: "was given"},
		{title: "the current context can be asked for", options: Options{Provider: Context}, provider: Context, reason: "requested"},
		{title: "embedded does not go with a context", options: Options{Provider: Embedded, Context: "kind-x"}, err: ErrInvalid},
		{title: "a context cannot be ephemeral", options: Options{Context: "kind-x", Ephemeral: true}, err: ErrInvalid},
		{title: "a context excludes a name", options: Options{Context: "kind-x", Name: "dev"}, err: ErrInvalid},
		{title: "an unknown provider is refused", options: Options{Provider: "cloud"}, err: ErrInvalid},
	} {
		t.Run(test.title, func(t *testing.T) {
			c, err := choose(test.options, test.known, func() (bool, string) { return test.engine, test.probed })
			if !errors.Is(err, test.err) || (err != nil) != (test.err != nil) {
				t.Fatalf("the error is %v", err)
			}
			if err != nil {
				return
			}
			if c.provider != test.provider || c.name != test.name || c.reuses() != test.reused {
				t.Errorf("the choice is %+v", c)
			}
			if !strings.Contains(c.reason, test.reason) {
				t.Errorf("the reason is %q", c.reason)
			}
		})
	}
}

func TestCheckName_AcceptsFolderNames(t *testing.T) {
	for name, good := range map[string]bool{
		"dev": true, "dev-2": true, "0": true, strings.Repeat("a", 40): true,
		"": false, "Dev": false, "-dev": false, "dev-": false, "a/b": false, "..": false, strings.Repeat("a", 41): false,
	} {
		if err := checkName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
