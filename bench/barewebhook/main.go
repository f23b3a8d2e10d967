// Barewebhook answers the same reviews as bench/operator with net/http and encoding/json alone: it has the minimum
// cost of an admission webhook. The figure "admission" compares the two.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    *struct {
		UID    string `json:"uid"`
		Object struct {
			Spec struct {
				Field string `json:"field"`
			} `json:"spec"`
		} `json:"object"`
	} `json:"request,omitempty"`
	Response *response `json:"response,omitempty"`
}

type response struct {
	UID     string `json:"uid"`
	Allowed bool   `json:"allowed"`
	Status  *struct {
		Message string `json:"message"`
		Code    int    `json:"code"`
	} `json:"status,omitempty"`
}

func main() {
	address := flag.String("address", "127.0.0.1:9443", "where to listen")
	cert, key := flag.String("cert", "", "the certificate"), flag.String("key", "", "its key")
	maps := flag.Bool("maps", false, "decode reviews into maps")
	flag.Parse()
	handler := answer
	if *maps {
		handler = answerFromMaps
	}
	server := &http.Server{Addr: *address, Handler: http.HandlerFunc(handler), ReadHeaderTimeout: 10 * time.Second}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServeTLS(*cert, *key); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, "barewebhook:", err)
		os.Exit(1)
	}
}

func answer(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var r review
	if err := json.Unmarshal(body, &r); err != nil || r.Request == nil {
		http.Error(w, "not a review", http.StatusBadRequest)
		return
	}
	r.Response = &response{UID: r.Request.UID, Allowed: r.Request.Object.Spec.Field != "wrong"}
	r.Request = nil
	write(w, r)
}

// answerFromMaps is answer without types.
func answerFromMaps(w http.ResponseWriter, req *http.Request) {
	var tree map[string]any
	if err := json.NewDecoder(req.Body).Decode(&tree); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	field := func(parent any, key string) any {
		m, _ := parent.(map[string]any)
		return m[key]
	}
	text := func(v any) string {
		s, _ := v.(string)
		return s
	}
	request := field(tree, "request")
	write(w, review{
		APIVersion: text(tree["apiVersion"]), Kind: text(tree["kind"]),
		Response: &response{UID: text(field(request, "uid")), Allowed: field(field(field(request, "object"), "spec"), "field") != "wrong"},
	})
}

func write(w http.ResponseWriter, r review) {
	text, err := json.Marshal(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}
