package ownership

import (
	"maps"
	"net/http"
	"testing"
)

// applied is an object that we have applied, and the stream of its metadata.
type applied struct {
	*server
	object tree
	path   string
	watch  *stream
	before entries
}

// applyNew applies a new object, with a stream opened before, so that no version is missed.
func (s *server) applyNew(collection string, object tree) *applied {
	s.t.Helper()
	f := form{collection: collection, object: object}
	collection, path := f.paths(s.cluster.Namespace)
	watch := s.watch(collection, text(object, "metadata", "name"))
	created := s.apply(path, clone(object))
	if created.code != http.StatusCreated {
		s.t.Fatalf("apply: %d %v", created.code, created.body)
	}
	return &applied{server: s, object: object, path: path, watch: watch, before: watch.at(created.version())}
}

// lost returns the fields that our entry has lost since the object was applied, in the version of an answer.
func (a *applied) lost(got answer) []string {
	a.t.Helper()
	return lost(a.before.ours(a.t), a.watch.at(got.version()).ours(a.t))
}

// again applies the object once more.
func (a *applied) again(parameters ...string) answer {
	a.t.Helper()
	return a.apply(a.path, clone(a.object), parameters...)
}

// merge sends a merge patch of the others.
func (a *applied) merge(patch tree) answer {
	a.t.Helper()
	return a.must(http.MethodPatch, a.path, merging, patch, "fieldManager", others)
}

// settings applies a ConfigMap of its own for a test.
func settings(t *testing.T) *applied {
	t.Helper()
	return newServer(t).applyNew("/api/v1/namespaces/NAMESPACE/configmaps",
		named("v1", "ConfigMap", "settings", tree{"data": tree{"a": "1", "b": "2"}}))
}

// spec returns the form of a built-in kind.
func builtinForm(name string) form {
	for _, f := range builtin {
		if f.name == name {
			return f
		}
	}
	panic("no form " + name)
}

// bare is an object with nothing but its identity: as an apply, it withdraws all that its manager owns.
func (a *applied) bare(metadata tree) tree {
	identity := tree{"name": text(a.object, "metadata", "name")}
	maps.Copy(identity, metadata)
	return tree{"apiVersion": a.object["apiVersion"], "kind": a.object["kind"], "metadata": identity}
}

func (a *applied) uid() string { return text(a.watch.latest.Object, "metadata", "uid") }
