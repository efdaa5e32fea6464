package dashboard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/boombuler/barcode/qr"
)

// TestDrawQR fills in what the path draws and compares it, module by module, with
// the code.
func TestDrawQR(t *testing.T) {
	t.Parallel()
	link := "https://node.example:7411/#scout@node.example:7411/" + strings.Repeat("a2", 26) + "/" + strings.Repeat("Zz", 11)
	drawn, err := drawQR(link)
	if err != nil {
		t.Fatal(err)
	}
	code, err := qr.Encode(link, qr.M, qr.Unicode)
	if err != nil {
		t.Fatal(err)
	}
	if want := code.Bounds().Dx() + 8; drawn.Size != want {
		t.Errorf("%d modules a side, want %d with the margin", drawn.Size, want)
	}
	dark := map[[2]int]bool{}
	for run := range strings.SplitSeq(strings.TrimSuffix(drawn.Path, "z"), "z") {
		var x, y, length, back int
		if _, err := fmt.Sscanf(run, "M%d %dh%dv1h-%d", &x, &y, &length, &back); err != nil || length != back {
			t.Fatalf("the path has %q: %v", run, err)
		}
		for i := range length {
			dark[[2]int{x + i - 4, y - 4}] = true
		}
	}
	for y := range code.Bounds().Dy() {
		for x := range code.Bounds().Dx() {
			shade, _, _, _ := code.At(x, y).RGBA()
			if dark[[2]int{x, y}] != (shade == 0) {
				t.Fatalf("the module at %d, %d is wrong", x, y)
			}
			delete(dark, [2]int{x, y})
		}
	}
	if len(dark) > 0 {
		t.Errorf("%d modules lie outside of the code", len(dark))
	}
}
