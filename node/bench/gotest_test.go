package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// benchmarks runs Go benchmarks of a package and gives their nanoseconds by name,
// the median of so many runs.
func benchmarks(t *testing.T, folder, pattern string, runs int) map[string]float64 {
	t.Helper()
	command := exec.Command("go", "test", "-run", "^$", "-bench", pattern, "-benchtime", size("1x", "300ms"), "-count", strconv.Itoa(size(1, runs)), ".")
	command.Dir, command.Stderr = filepath.Join(root, folder), os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", folder, err, output)
	}
	taken := map[string]sample{}
	for _, match := range benchmarkLine.FindAllSubmatch(output, -1) {
		ns, err := strconv.ParseFloat(string(match[2]), 64)
		if err != nil {
			t.Fatal(err)
		}
		taken[string(match[1])] = append(taken[string(match[1])], duration(ns))
	}
	medians := map[string]float64{}
	for name, times := range taken {
		medians[name] = times.row("", "").Value
	}
	return medians
}

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op`)

// policyRows are questions about rules: the node's answer, and those of others.
func policyRows(t *testing.T, table *table) {
	sizes := size([]int{10}, []int{10, 100, 1000, 10_000, 100_000})
	pattern := size("/grants=10$", "/grants=")
	ours := benchmarks(t, "policy/engine", "^BenchmarkDecide$/"+pattern, 5)
	others := benchmarks(t, "node/bench/peers", "."+pattern, 1) // some take seconds
	for _, n := range sizes {
		of := func(from map[string]float64, name string) float64 {
			value, found := from[fmt.Sprint(name, "/grants=", n)]
			if !found {
				t.Errorf("no benchmark %s with %d grants", name, n)
			}
			return value
		}
		label := fmt.Sprintf("%d grants", n)
		add := func(name string, value float64) row {
			return row{Name: name, Size: label, Unit: "ns", Value: value}
		}
		table.add(add("six capabilities, cold", of(ours, "Decide/cold")).over(of(ours, "Decide/opa"), "OPA alone").atMost(1.7))
		table.add(add("six capabilities, warm", of(ours, "Decide/warm")).over(of(ours, "Decide/floor"), "plain Go"))
		table.add(add("the same in cedar-go", of(others, "Cedar")).over(of(ours, "Decide/floor"), "plain Go"))
		table.add(add("the same in casbin", of(others, "Casbin")).over(of(ours, "Decide/floor"), "plain Go"))
	}
}

// sealRows are 1 KiB at rest and for a peer.
func sealRows(t *testing.T, table *table) {
	taken := benchmarks(t, "node/seal", "1KiB$", 5)
	for _, r := range []struct{ name, bench, floor, floorName string }{
		{"seal a value at rest", "Seal1KiB", "FloorSeal1KiB", "AES-256-GCM"},
		{"open a value at rest", "Open1KiB", "FloorOpen1KiB", "AES-256-GCM"},
		{"seal for a peer", "ToRecipient1KiB", "FloorToRecipient1KiB", "two X25519"},
		{"open from a peer", "FromIdentity1KiB", "FloorFromIdentity1KiB", "one X25519"},
	} {
		if taken[r.bench] == 0 || taken[r.floor] == 0 {
			t.Errorf("no benchmark %s or %s", r.bench, r.floor)
		}
		table.add(row{Name: r.name, Size: "1 KiB", Unit: "ns", Value: taken[r.bench]}.over(taken[r.floor], r.floorName))
	}
}
