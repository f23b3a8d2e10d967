package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSurroundings_LeadToTheChosenClusterOnly(t *testing.T) {
	environ := []string{
		"PATH=/bin", "HOME=/home/me", "KUBECONFIG=/home/me/other", "KUBERNETES_MASTER=https://other", "KUBERNETES_SERVICE_HOST=10.0.0.1",
		"KUBERNETES_SERVICE_PORT=443", "KUBERNETES_SERVICE_PORT_HTTPS=443", "KUBERNETES_PORT=tcp://10.0.0.1:443", "KUBERNETES_PORT_443_TCP=x",
		"HTTPS_PROXY=http://proxy", "https_proxy=http://proxy", "http_proxy=http://proxy", "No_Proxy=here", "ALL_PROXY=socks5://proxy", "PROXY_COLOUR=blue",
	}
	for _, test := range []struct {
		kubeconfig string
		proxies    bool
		want       []string
	}{
		{"/private", false, []string{"PATH=/bin", "HOME=/home/me", "PROXY_COLOUR=blue", "KUBECONFIG=/private"}},
		{"", false, []string{"PATH=/bin", "HOME=/home/me", "PROXY_COLOUR=blue", "KUBECONFIG=/dev/null"}},
		{"/private", true, []string{
			"PATH=/bin", "HOME=/home/me", "HTTPS_PROXY=http://proxy", "https_proxy=http://proxy", "http_proxy=http://proxy", "No_Proxy=here",
			"ALL_PROXY=socks5://proxy", "PROXY_COLOUR=blue", "KUBECONFIG=/private",
		}},
	} {
		if diff := cmp.Diff(test.want, surroundings(environ, test.kubeconfig, test.proxies)); diff != "" {
			t.Errorf("%q, %t: %s", test.kubeconfig, test.proxies, diff)
		}
	}
}
