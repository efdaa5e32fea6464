// Package composetest checks docker-compose.yml and the Dockerfile without a
// Docker engine: what Compose itself makes of the file, and that the names in it
// are ones that the node knows.
package composetest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func load(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")},
		cli.WithWorkingDirectory(root), cli.WithProfiles(profiles))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatalf("Compose does not take the file: %v", err)
	}
	return project
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		profile string
		want    []string
	}{
		{"", []string{"node", "postgres"}},
		{"demo", []string{"ada", "ben", "node", "postgres"}},
	}
	for _, test := range tests {
		t.Run(test.profile, func(t *testing.T) {
			t.Parallel()
			names := load(t, test.profile).ServiceNames()
			slices.Sort(names)
			if diff := cmp.Diff(test.want, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNodes holds each of our containers to what the README says of it.
func TestNodes(t *testing.T) {
	t.Parallel()
	project := load(t, "demo")
	known := settings(t)
	for _, name := range []string{"node", "ada", "ben"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := project.Services[name]
			if !service.ReadOnly || !slices.Contains(service.CapDrop, "ALL") || !slices.Contains(service.SecurityOpt, "no-new-privileges:true") || service.Privileged {
				t.Error("the container may do more than it needs")
			}
			if service.HealthCheck == nil || !slices.Equal(service.HealthCheck.Test, []string{"CMD", "agentlink", "status"}) {
				t.Errorf("health is asked with %v", service.HealthCheck)
			}
			if len(service.Volumes) != 1 || service.Volumes[0].Type != types.VolumeTypeVolume || service.Volumes[0].Target != "/data" {
				t.Errorf("the data is kept in %v", service.Volumes)
			}
			for _, port := range service.Ports {
				if port.HostIP != "127.0.0.1" {
					t.Errorf("port %s is open to the network", port.Published)
				}
			}
			for variable := range service.Environment {
				if !slices.Contains(known, variable) {
					t.Errorf("the node knows no setting %s", variable)
				}
			}
		})
	}
}

// TestPeersReachOneAnother: the two nodes of the demo know each other's network,
// which the filter of outgoing connections would otherwise refuse.
func TestPeersReachOneAnother(t *testing.T) {
	t.Parallel()
	project := load(t, "demo")
	subnet := project.Networks["peers"].Ipam.Config[0].Subnet
	for _, name := range []string{"ada", "ben"} {
		service := project.Services[name]
		if value := service.Environment["AGENTLINK_ALLOW_PEER_NETWORKS"]; value == nil || *value != subnet {
			t.Errorf("%s does not let its peers be in %s", name, subnet)
		}
		if value := service.Environment["AGENTLINK_PUBLIC_URL"]; value == nil || *value != "http://"+name+":7411" {
			t.Errorf("%s is known by another name than its own", name)
		}
		if _, joined := service.Networks["peers"]; !joined {
			t.Errorf("%s is not in the peers' network", name)
		}
	}
}

// TestSecretsComeFromFiles: no value that a listing of processes or an
// inspection of the container would show.
func TestSecretsComeFromFiles(t *testing.T) {
	t.Parallel()
	project := load(t, "demo")
	secret := regexp.MustCompile(`(?i)password|secret|passphrase|token|(^|_)key$`)
	for name, service := range project.Services {
		for variable, value := range service.Environment {
			if secret.MatchString(variable) && !strings.HasSuffix(variable, "_FILE") {
				t.Errorf("%s: %s is no file", name, variable)
			}
			if value != nil && strings.Contains(*value, "://") && regexp.MustCompile(`://[^/@]*:[^/@]*@`).MatchString(*value) {
				t.Errorf("%s: %s holds a password", name, variable)
			}
		}
		for _, mounted := range service.Secrets {
			source, ok := project.Secrets[mounted.Source]
			if !ok || source.File == "" {
				t.Errorf("%s: the secret %s comes from no file", name, mounted.Source)
			}
		}
	}
	ignored := read(t, ".gitignore")
	if !strings.Contains(ignored, "/secrets/\n") || !strings.Contains(read(t, ".dockerignore"), "secrets\n") {
		t.Error("git or the build could take the folder of secrets")
	}
}

// TestDockerfile reads what an engine would be told.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	file := read(t, "Dockerfile")
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	if goVersion == nil || !strings.Contains(file, "FROM golang:"+goVersion[1]+"-") {
		t.Errorf("the image is not built with the Go of go.mod, %v", goVersion)
	}
	_, last, found := strings.Cut(file, "\nFROM scratch\n")
	if !found || strings.Contains(last, "\nRUN ") {
		t.Fatal("the last stage is not an empty one")
	}
	if user := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(last); user == nil || user[1] == "0" {
		t.Error("the container runs as root")
	}
	for _, line := range []string{"VOLUME /data", "HEALTHCHECK", `ENTRYPOINT ["agentlink"]`, `CMD ["serve"]`, "ca-certificates.crt", "zoneinfo.zip"} {
		if !strings.Contains(last, line) {
			t.Errorf("the last stage lacks %s", line)
		}
	}
	known := settings(t)
	for _, variable := range regexp.MustCompile(`AGENTLINK_[A-Z_]+`).FindAllString(last, -1) {
		if !slices.Contains(known, variable) {
			t.Errorf("the node knows no setting %s", variable)
		}
	}
}

// settings lists the variables that the node's configuration reads.
func settings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "node", "config", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, regexp.MustCompile(`AGENTLINK_[A-Z_]+`).FindAllString(string(content), -1)...)
	}
	if len(known) == 0 {
		t.Fatal("node/config names no setting")
	}
	return known
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
