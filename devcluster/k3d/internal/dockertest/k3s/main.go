// Command k3s stands in for K3s in tests, which cannot pull its image. It does what k3d and kopf
// rely on, with the embedded control plane of kopf: so the API server is real, and the node is
// simulated. Only the pods of relays really run.
//
// It is installed as k3s, kubectl and ctr in the image of a node.
package main

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

const (
	// dataDir is where K3s keeps its data, which is a volume.
	dataDir = "/var/lib/rancher/k3s/server"
	// readyFile exists while the cluster is usable.
	readyFile = "/run/k3s-ready"
	// importsFile lists the entries of the images that were imported.
	importsFile = "/var/log/imported"
	// crashFile makes the server fail, if an image has it.
	crashFile = "/crash"
)

// coredns is the manifest in which k3d looks for the hosts of the cluster.
const coredns = `apiVersion: v1
kind: ConfigMap
metadata:
  name: coredns
  namespace: kube-system
data:
  Corefile: |
    .:53 {
        hosts /etc/coredns/NodeHosts
    }
`

func main() {
	var err error
	switch name := filepath.Base(os.Args[0]); {
	case name == "ctr":
		err = importImages(os.Stdin)
	case name == "kubectl":
		// k3d's entrypoint uncordons the node until that succeeds, and drains it at the end.
		if _, err := os.Stat(readyFile); err != nil {
			fmt.Fprintln(os.Stderr, "the server is not ready")
			os.Exit(1)
		}
	case len(os.Args) > 1 && os.Args[1] == "server":
		err = serve()
	default:
		err = fmt.Errorf("unknown command %q", os.Args)
	}
	if err != nil {
		logf("fatal", "%v", err)
		os.Exit(1)
	}
}

// logf prints a line in the format of K3s.
func logf(level, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "time=%q level=%s msg=%q\n", time.Now().UTC().Format(time.RFC3339), level, fmt.Sprintf(format, args...))
}

// serve runs the control plane until it is asked to stop.
func serve() error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if os.Getenv("K3S_TOKEN") == "" {
		return errors.New("K3S_TOKEN is not set")
	}
	if _, err := os.Stat(crashFile); err == nil {
		return errors.New("starting kubernetes: preparing server: this image always fails")
	}
	if err := os.MkdirAll(dataDir+"/manifests", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(dataDir+"/manifests/coredns.yaml", []byte(coredns), 0o600); err != nil {
		return err
	}
	plane := exec.Command("/bin/controlplane", "--data-dir", dataDir+"/db", "--context", "default")
	plane.Stderr = os.Stderr
	output, err := plane.StdoutPipe()
	if err != nil {
		return err
	}
	if err := plane.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return fmt.Errorf("wait for the control plane: %w", err)
	}
	var ready struct{ Kubeconfig, Error string }
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.Error != "" {
		return fmt.Errorf("the control plane: %s, %w", ready.Error, err)
	}
	if err := startKubelet(ready.Kubeconfig); err != nil {
		return fmt.Errorf("start the kubelet: %w", err)
	}
	if err := publish(ready.Kubeconfig); err != nil {
		return err
	}
	logf("info", "Cluster dns configmap has been set successfully")
	logf("info", "k3s is up and running")
	if err := os.WriteFile(readyFile, nil, 0o600); err != nil {
		return err
	}
	<-signals
	if err := plane.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return plane.Wait()
}

// publish serves the API server at port 6443 of the node, and writes the kubeconfig as K3s does.
func publish(path string) error {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return err
	}
	if err := api.FlattenConfig(config); err != nil {
		return err
	}
	used := config.Contexts[config.CurrentContext]
	cluster := config.Clusters[used.Cluster]
	_, address, err := net.SplitHostPort(cluster.Server[len("https://"):])
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", ":6443")
	if err != nil {
		return err
	}
	go forward(listener, net.JoinHostPort("127.0.0.1", address))
	cluster.Server = "https://127.0.0.1:6443"
	body, err := clientcmd.Write(api.Config{
		CurrentContext: "default",
		Contexts:       map[string]*api.Context{"default": {Cluster: "default", AuthInfo: "default"}},
		Clusters:       map[string]*api.Cluster{"default": cluster},
		AuthInfos:      map[string]*api.AuthInfo{"default": config.AuthInfos[used.AuthInfo]},
	})
	if err != nil {
		return err
	}
	out := os.Getenv("K3S_KUBECONFIG_OUTPUT")
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, body, 0o600)
}

// forward connects the clients of a listener with another address.
func forward(listener net.Listener, address string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			server, err := net.Dial("tcp", address)
			if err != nil {
				logf("error", "connect to the API server: %v", err)
				return
			}
			defer server.Close()
			done := make(chan struct{}, 2)
			pipe := func(to, from net.Conn) {
				_, _ = io.Copy(to, from) // either side may end the connection
				done <- struct{}{}
			}
			go pipe(server, client)
			go pipe(client, server)
			<-done
		}()
	}
}

// importImages reads an archive of images to its end, and records the names of its entries.
func importImages(archive io.Reader) error {
	file, err := os.OpenFile(importsFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return file.Close()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("ctr: unrecognized image format: %w", err), file.Close())
		}
		fmt.Fprintln(file, header.Name)
	}
}
