package kube

import (
	"net/http"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

func TestIdentify_KeyDependsOnCredentials(t *testing.T) {
	a, _ := Identify(&rest.Config{Host: "http://x", BearerToken: "a"})
	b, _ := Identify(&rest.Config{Host: "http://x", BearerToken: "b"})
	again, renewable := Identify(&rest.Config{Host: "http://x", BearerToken: "a"})
	if a == b || a != again || renewable {
		t.Error(a, b, again, renewable)
	}
	if key, _ := Identify(&rest.Config{Host: "http://x", WrapTransport: func(rt http.RoundTripper) http.RoundTripper { return rt }}); key != "" {
		t.Error("nothing is known of what a function does")
	}
	file, renewable := Identify(&rest.Config{Host: "http://x", BearerToken: "a", BearerTokenFile: "/f"})
	if other, _ := Identify(&rest.Config{Host: "http://x", BearerToken: "b", BearerTokenFile: "/f"}); other != file || !renewable {
		t.Error("the token of a file is only what it was when it was read")
	}
}

func TestIdentify_KeyDependsOnProxy(t *testing.T) {
	through := func(address string) string {
		proxy, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		key, _ := Identify(&rest.Config{Host: "https://x", BearerToken: "a", Proxy: http.ProxyURL(proxy)})
		return key
	}
	direct, _ := Identify(&rest.Config{Host: "https://x", BearerToken: "a"})
	one, same, other := through("http://p"), through("http://p"), through("http://q")
	if one == "" || one != same || one == other || one == direct {
		t.Error(one, same, other, direct)
	}
}
