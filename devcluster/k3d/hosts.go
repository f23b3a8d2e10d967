package k3d

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	k3ddocker "github.com/k3d-io/k3d/v5/pkg/runtimes/docker"
	runtimetypes "github.com/k3d-io/k3d/v5/pkg/runtimes/types"
	k3dtypes "github.com/k3d-io/k3d/v5/pkg/types"
)

// environment returns the k3d library's information about the engine, and the address of this machine as seen from
// the cluster's containers. (The library finds it out with a container of one more image.)
func (e *engine) environment(ctx context.Context, network, image string) (*k3dtypes.EnvironmentInfo, error) {
	info, err := e.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the engine about itself: %w", err)
	}
	address := func() (netip.Addr, error) { return docker.GetHostIP(ctx, network) } // the gateway
	if runtime.GOOS != "linux" || k3ddocker.IsDockerDesktop(info.OperatingSystem) || info.Name == "colima" {
		// The engine is in a virtual machine, so that the gateway is that machine.
		address = func() (netip.Addr, error) { return e.hostGateway(ctx, network, image) }
	}
	ip, err := address()
	if err != nil {
		return nil, fmt.Errorf("find the address of this machine: %w", err)
	}
	return &k3dtypes.EnvironmentInfo{
		HostGateway: ip,
		RuntimeInfo: runtimetypes.RuntimeInfo{
			Name: docker.ID(), Endpoint: docker.GetRuntimePath(), Version: info.ServerVersion,
			OS: info.OperatingSystem, OSType: info.OSType, Arch: info.Architecture,
			CgroupVersion: info.CgroupVersion, CgroupDriver: info.CgroupDriver, InfoName: info.Name,
		},
	}, nil
}

// hostGateway returns the address of this machine according to the engine, which only containers can read. The image
// must have a shell. The container is labelled with the network of the cluster.
func (e *engine) hostGateway(ctx context.Context, network, image string) (_ netip.Addr, err error) {
	const alias = "host.kopf.internal"
	created, err := e.ContainerCreate(ctx,
		&container.Config{Image: image, Entrypoint: []string{"sh", "-c", "cat /etc/hosts"}, Labels: map[string]string{probeLabel: network}},
		&container.HostConfig{ExtraHosts: []string{alias + ":host-gateway"}}, nil, nil, "")
	if err != nil {
		return netip.Addr{}, fmt.Errorf("create a container: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		err = errors.Join(err, e.ContainerRemove(ctx, created.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}))
	}()
	if err := e.ContainerStart(ctx, created.ID, container.StartOptions{}); err != nil {
		return netip.Addr{}, fmt.Errorf("start a container: %w", err)
	}
	exited, failed := e.ContainerWait(ctx, created.ID, container.WaitConditionNotRunning)
	select {
	case err := <-failed:
		return netip.Addr{}, fmt.Errorf("wait for a container: %w", err)
	case <-exited:
	}
	hosts, err := e.log(ctx, created.ID, "")
	if err != nil {
		return netip.Addr{}, err
	}
	for line := range strings.Lines(hosts) {
		if names(line, alias) {
			return netip.ParseAddr(strings.Fields(line)[0])
		}
	}
	return netip.Addr{}, fmt.Errorf("the engine does not tell it to containers: %s", lastLine(hosts))
}

// removeProbes deletes the containers of hostGateway that a killed process has left.
func (e *engine) removeProbes(ctx context.Context, network string) error {
	left, err := e.containers(ctx, probeLabel, network)
	if err != nil {
		return err
	}
	for _, c := range left {
		if err := e.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}); err != nil && !cerrdefs.IsNotFound(err) {
			return fmt.Errorf("delete the container %s: %w", c.ID[:12], err)
		}
	}
	return nil
}

// hostsEntry returns the argument that makes the engine itself write the alias of this machine
// into /etc/hosts of the node, at each start. The k3d library writes it only after a start by
// k3d, so that a restart of the engine would lose it.
func hostsEntry(ip string) string { return k3dtypes.DefaultK3dInternalHostRecord + ":" + ip }

// repairHostAlias makes sure that the node knows this machine as host.k3d.internal.
func (e *engine) repairHostAlias(ctx context.Context, node *container.InspectResponse, ip string) (repaired bool, err error) {
	hosts, err := e.exec(ctx, node.ID, nil, "cat", "/etc/hosts")
	if err != nil {
		return false, fmt.Errorf("read /etc/hosts of the node: %w", err)
	}
	if resolves(hosts, k3dtypes.DefaultK3dInternalHostRecord, ip) {
		return false, nil
	}
	var kept []string
	for line := range strings.Lines(hosts) {
		if !names(line, k3dtypes.DefaultK3dInternalHostRecord) {
			kept = append(kept, strings.TrimRight(line, "\r\n"))
		}
	}
	kept = append(kept, ip+"\t"+k3dtypes.DefaultK3dInternalHostRecord, "")
	// The file is a mount: it can be overwritten, but not replaced.
	if _, err := e.exec(ctx, node.ID, strings.NewReader(strings.Join(kept, "\n")), "sh", "-c", "cat > /etc/hosts"); err != nil {
		return false, fmt.Errorf("write /etc/hosts of the node: %w", err)
	}
	return true, nil
}

// resolves reports whether a hosts file resolves the name to the address: its first entry counts.
func resolves(hosts, name, ip string) bool {
	for line := range strings.Lines(hosts) {
		if names(line, name) {
			return strings.Fields(line)[0] == ip
		}
	}
	return false
}

// names reports whether a line of a hosts file is about the name.
func names(line, name string) bool {
	line, _, _ = strings.Cut(line, "#")
	fields := strings.Fields(line)
	for n := 1; n < len(fields); n++ {
		if fields[n] == name {
			return true
		}
	}
	return false
}

// removeHostsFiles deletes the temporary hosts files that the k3d library has left since a time.
// They are recognised by the name of the node.
func removeHostsFiles(name string, since time.Time) error {
	files, err := filepath.Glob(filepath.Join(os.TempDir(), "k3d-hostsfile-*"))
	if err != nil {
		return fmt.Errorf("find temporary files of k3d: %w", err)
	}
	for _, path := range files {
		info, statErr := os.Stat(path)
		if statErr != nil || info.ModTime().Before(since.Add(-time.Second)) {
			continue
		}
		body, readErr := os.ReadFile(path)
		if readErr == nil && strings.Contains(string(body), serverName(name)) {
			err = errors.Join(err, os.Remove(path))
		}
	}
	if err != nil {
		return fmt.Errorf("delete temporary files of k3d: %w", err)
	}
	return nil
}
