package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

// noClusterText is the answer to all requests of a program that describes its operators.
const noClusterText = "there is no cluster while kopf reads which handlers the operator has; send requests from handlers, not from Register or main"

// noCluster is a server that replaces the cluster for programs that describe their operators. It rejects all requests.
type noCluster struct {
	server *http.Server
	served chan error
}

// newNoCluster starts the server, and writes the kubeconfig that leads to it.
func newNoCluster(kubeconfig string) (*noCluster, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("describe the operator: %w", err)
	}
	const name = "no-cluster"
	type object = map[string]any
	body, err := json.Marshal(object{ // JSON is YAML
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []object{{"name": name, "cluster": object{"server": "http://" + listener.Addr().String()}}},
		"users":    []object{{"name": name, "user": object{}}},
		"contexts": []object{{"name": name, "context": object{"cluster": name, "user": name}}},
	})
	if err != nil {
		panic(err) // cannot happen: the value has only maps, slices and strings
	}
	if err := os.WriteFile(kubeconfig, body, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("describe the operator: %w", err), listener.Close())
	}
	n := &noCluster{
		server: &http.Server{
			Handler: http.HandlerFunc(refuse), ReadHeaderTimeout: 10 * time.Second,
			ErrorLog: log.New(io.Discard, "", 0), // discards errors about connections that the program closes
		},
		served: make(chan error, 1),
	}
	go func() { n.served <- n.server.Serve(listener) }()
	return n, nil
}

// close stops the server.
func (n *noCluster) close() error {
	err := n.server.Close()
	if served := <-n.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// refuse responds like an API server that rejects the request, so that clients show the text and do not retry.
func refuse(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	// An error means that the program has ended.
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": http.StatusForbidden, "message": noClusterText,
	})
}
