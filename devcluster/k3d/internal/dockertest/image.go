package dockertest

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
)

// Rootfs is the content of an image: the paths in the image, and the files of this machine, or
// "-> target" for a symbolic link.
type Rootfs map[string]string

// NodeRootfs returns the content of an image that k3d can start as a node. The programs are the package k3s, the
// embedded control plane, and kopf, which runs in the pods of relays.
func NodeRootfs(k3s, controlplane, kopf string) (Rootfs, error) {
	root := Rootfs{"bin/k3s": k3s, "bin/kubectl": "-> k3s", "bin/ctr": "-> k3s", "bin/controlplane": controlplane, "bin/kopf": kopf}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return nil, err
	}
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("list the applets of busybox: %w", err)
	}
	root["bin/busybox"] = busybox
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			root["bin/"+applet] = "-> busybox"
		}
	}
	return root, errors.Join(root.addIPTables(), root.addLibraries(kopf))
}

// library matches the files of libraries in the output of ldd.
var library = regexp.MustCompile(`(/\S+) \(0x`)

// addIPTables adds the programs with which k3d's entrypoint redirects DNS.
func (r Rootfs) addIPTables() error {
	const program = "/usr/sbin/xtables-nft-multi"
	r["sbin/xtables-nft-multi"] = program
	for _, name := range []string{"iptables", "iptables-save", "iptables-restore"} {
		r["sbin/"+name] = "-> xtables-nft-multi"
	}
	if err := r.addLibraries(program); err != nil {
		return err
	}
	modules, err := filepath.Glob("/usr/lib/*/xtables/lib*.so")
	if err != nil {
		return err
	}
	for _, module := range modules {
		r[module[1:]] = module
	}
	return nil
}

// addLibraries adds the libraries of a program, if it has some.
func (r Rootfs) addLibraries(program string) error {
	out, err := exec.Command("ldd", program).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "not a dynamic executable") {
		return fmt.Errorf("find the libraries of %s: %w: %s", program, err, out)
	}
	for _, match := range library.FindAllStringSubmatch(string(out), -1) {
		r[match[1][1:]] = match[1]
	}
	return nil
}

// Import makes an image of the content, with this entrypoint.
func (r Rootfs) Import(ctx context.Context, api client.APIClient, tag, entrypoint string) error {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(r.write(writer)) }()
	answer, err := api.ImageImport(ctx, image.ImportSource{Source: reader, SourceName: "-"}, tag, image.ImportOptions{
		Changes: []string{fmt.Sprintf("ENTRYPOINT [%q]", entrypoint), "ENV PATH=/bin:/sbin:/usr/bin:/usr/sbin", `VOLUME ["/var/lib/rancher/k3s"]`},
	})
	if err != nil {
		return fmt.Errorf("import the image %s: %w", tag, err)
	}
	_, err = io.Copy(io.Discard, answer)
	return errors.Join(err, answer.Close())
}

// write writes the content as an archive.
func (r Rootfs) write(w io.Writer) error {
	archive := tar.NewWriter(w)
	folders := map[string]bool{".": true}
	folder := func(name string) error {
		if folders[name] {
			return nil
		}
		folders[name] = true
		return archive.WriteHeader(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755})
	}
	for _, name := range []string{"etc", "tmp", "proc", "sys", "dev", "run", "root", "output", "var", "var/log", "var/lib"} {
		if err := folder(name); err != nil {
			return err
		}
	}
	for name, source := range r {
		for n := range name {
			if name[n] == '/' {
				if err := folder(name[:n]); err != nil {
					return err
				}
			}
		}
		if err := add(archive, path.Clean(name), source); err != nil {
			return fmt.Errorf("add %s: %w", name, err)
		}
	}
	return archive.Close()
}

func add(archive *tar.Writer, name, source string) error {
	if target, ok := strings.CutPrefix(source, "-> "); ok {
		return archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777})
	}
	file, err := os.Open(source)
	if err != nil {
		return err
	}
	defer file.Close() // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}
