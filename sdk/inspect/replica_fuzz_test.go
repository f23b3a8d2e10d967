package inspect

import (
	"bytes"
	"testing"
)

func FuzzReplica(f *testing.F) {
	f.Add([]byte(`{"revision":1,"snapshot":{"version":1,"objects":[{"resource":"pods.v1","name":"a","uid":"1"},{"resource":"pods.v1","name":"a","uid":"1"}]}}
{"revision":2,"more":true,"objects":[{"resource":"pods.v1","name":"b","uid":"2","cause":{"diff":[{"old":1e400}]}}]}
{"revision":3,"gone":[{"resource":"pods.v1","name":"a","uid":"1"},{"resource":"x","name":"y","uid":""}],"log":[{"message":"m"}]}
{"revision":4,"bye":"done"}`))
	f.Add([]byte(`{"gone":[{}],"objects":[{}],"log":[{}],"operator":{"started":"0000-01-01T00:00:00Z"}}`))
	f.Add([]byte(`{"snapshot":{"objects":[null]},"objects":[null]}`))
	f.Add([]byte(`{"snapshot":null,"handlers":[],"served":{"resources":null},"indices":[]}`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var replica Replica
		messages := decoder(bytes.NewReader(stream))
		for {
			var m Message
			if messages.Decode(&m) != nil {
				return
			}
			before := replica.Snapshot()
			kept := len(before.Objects)
			replica.Apply(m)
			snapshot := replica.Snapshot()
			if len(before.Objects) != kept {
				t.Fatalf("%q changed a former snapshot", stream)
			}
			seen := make(map[Ref]bool)
			for _, o := range snapshot.Objects {
				if seen[o.Ref] {
					t.Fatalf("%q: %+v is there twice", stream, o.Ref)
				}
				seen[o.Ref] = true
			}
			for _, ref := range m.Gone {
				if gone := !seen[ref]; !gone && m.Objects == nil {
					t.Fatalf("%q: %+v is not gone", stream, ref)
				}
			}
		}
	})
}

func FuzzAddress(f *testing.F) {
	for _, address := range []string{"unix:/tmp/s", "tcp:127.0.0.1:80", "tcp:[::1]:80", "tcp:0.0.0.0:80", "tcp:localhost", "unix:", "x", "tcp:[::1%eth0]:80", "tcp:127.1:80"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		network, where, err := ParseAddress(address)
		if err == nil && (where == "" || network != "unix" && network != "tcp") {
			t.Errorf("%q is %q at %q", address, network, where)
		}
	})
}
