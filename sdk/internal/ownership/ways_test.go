package ownership

import "net/http"

// way is a kind of request by which others change a field.
type way struct {
	name   string
	taker  string // manager and operation of the entry that has a changed field afterwards
	sets   bool   // it can only set values
	custom bool   // custom resources have it
	send   func(s *server, path string, c change) answer
}

// ways are all ways in which others change an object. A client that sends no managedFields leaves them to the server.
var ways = []way{
	{name: "update", taker: others + "/Update", custom: true, send: func(s *server, path string, c change) answer {
		return s.update(path, func(live tree) { set(live, c.path, c.value) })
	}},
	{name: "update without managedFields", taker: others + "/Update", custom: true, send: func(s *server, path string, c change) answer {
		return s.update(path, func(live tree) {
			set(live, c.path, c.value)
			delete(live["metadata"].(tree), "managedFields")
		})
	}},
	{name: "merge patch", taker: others + "/Update", custom: true, send: func(s *server, path string, c change) answer {
		return s.must(http.MethodPatch, path, merging, mergePatch(s.get(path), c.path, c.value), "fieldManager", others)
	}},
	{name: "JSON patch", taker: others + "/Update", custom: true, send: func(s *server, path string, c change) answer {
		operation := tree{"op": "add", "path": pointer(s.get(path), c.path), "value": c.value}
		switch _, item := c.path[len(c.path)-1].(tree); {
		case c.value == nil:
			operation = tree{"op": "remove", "path": operation["path"]}
		case item:
			operation["op"] = "replace"
		}
		return s.must(http.MethodPatch, path, patching, []any{operation}, "fieldManager", others)
	}},
	{name: "strategic merge patch", taker: others + "/Update", send: func(s *server, path string, c change) answer {
		return s.must(http.MethodPatch, path, strategic, partial(c.path, c.value), "fieldManager", others)
	}},
	{name: "merge patch under our name", taker: ours + "/Update", custom: true, send: func(s *server, path string, c change) answer {
		return s.must(http.MethodPatch, path, merging, mergePatch(s.get(path), c.path, c.value), "fieldManager", ours)
	}},
	{name: "apply with force", taker: others + "/Apply", sets: true, custom: true, send: func(s *server, path string, c change) answer {
		object := partial(c.path, c.value).(tree)
		live := s.get(path)
		object["apiVersion"], object["kind"] = live["apiVersion"], live["kind"]
		return s.must(http.MethodPatch, path, applying, object, "fieldManager", others, "force", "true")
	}},
}

// update changes the newest version of an object, also while controllers make further ones.
func (s *server) update(path string, change func(live tree), parameters ...string) answer {
	s.t.Helper()
	for {
		live := s.get(path)
		change(live)
		got := s.send(http.MethodPut, path, updating, live, append([]string{"fieldManager", others}, parameters...)...)
		if got.code != http.StatusConflict {
			if got.code != http.StatusOK {
				s.t.Fatalf("PUT %s: %d %v", path, got.code, got.body)
			}
			return got
		}
	}
}
