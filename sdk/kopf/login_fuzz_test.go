package kopf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

func FuzzKubeconfig(f *testing.F) {
	const file = "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: u, namespace: n}}]\n" +
		"clusters: [{name: a, cluster: {server: 'https://u:s3cret-1@127.0.0.1:1', proxy-url: 'http://u:s3cret-2@proxy'}}]\n" +
		"users: [{name: u, user: {token: t}}]\n"
	f.Add([]byte(file), "")
	f.Add([]byte(strings.ReplaceAll(file, "http://", "ftp://")), "a")
	f.Add([]byte(strings.ReplaceAll(file, "u:s3cret-", "u:%zzs3cret-")), "b")
	f.Add([]byte("{"), "")
	f.Add([]byte("apiVersion: v2\nkind: Config\ncontexts: {}"), "")
	f.Add([]byte("current-context: a\ncontexts: [{name: a, context: null}]\nusers: [{name: u, user: {auth-provider: {name: x, config: {access-token: y}}}}]"), "")
	f.Fuzz(func(t *testing.T, text []byte, contextName string) {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := readKubeconfig(path, contextName)
		if err != nil {
			// The error may quote text of an invalid kubeconfig, but not the passwords of URLs.
			for _, secret := range []string{":s3cret-1@", ":s3cret-2@"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q: %v", text, err)
				}
			}
			return
		}
		if info == nil {
			return
		}
		session, err := kube.NewSession(info.Config, 0)
		if err != nil {
			return
		}
		defer session.Close()
		if strings.Contains(session.Server(), "s3cret") {
			t.Errorf("%q: %s", text, session.Server())
		}
	})
}
