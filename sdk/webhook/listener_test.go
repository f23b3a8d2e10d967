package webhook

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestServer_ServesListenerOfCaller(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := "https://" + listener.Addr().String() + "/way"
	config := serve(t, &Server{Listener: listener, URL: at}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path)
	})
	if config.URL != at {
		t.Errorf("it announces %s", config.URL)
	}
	response, err := client(t, config).Post(at+"/one", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "/way/one" {
		t.Errorf("%s, %v", body, err)
	}
}

func TestServer_ListenerNeedsAddressForCluster(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for want, s := range map[string]*Server{
		"the cluster needs an address":      {Listener: listener},
		"both Listener and Address are set": {Listener: listener, Address: ":1", URL: "https://x"},
	} {
		err := s.Serve(context.Background(), http.NotFoundHandler(), func(ClientConfig) { t.Error("it serves") })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v", err)
		}
	}
}
