package browsertest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
)

// screens is where the pictures of the pages are kept.
const screens = "../view/testdata/screens"

// widths are those of a phone and of a laptop.
var widths = []int64{390, 1280}

// tallest is how much of a long page a picture shows.
const tallest = 1500

// TestEveryPageHasPictures: pictures of the pages in both widths and themes are
// kept. The other tests write them with -update.
func TestEveryPageHasPictures(t *testing.T) {
	t.Parallel()
	if *update {
		t.Skip("the pictures are just being written")
	}
	for _, route := range routes(t) {
		if isPart(route) || isFile(route) || isEarly(route) {
			continue
		}
		for _, width := range widths {
			for _, theme := range themes {
				if _, err := os.Stat(picture(pictureOf(route), width, theme)); err != nil {
					t.Errorf("%v (write it with -update)", err)
				}
			}
		}
	}
}

func picture(name string, width int64, theme string) string {
	return filepath.Join(screens, fmt.Sprintf("%s-%d-%s.png", name, width, theme))
}

// pictureOf makes a name of a route: /tasks/:uid/cancel is task-cancel.
func pictureOf(route string) string {
	if route == "/" {
		return "home"
	}
	return strings.ReplaceAll(strings.ReplaceAll(strings.Trim(route, "/"), "/", "-"), ":", "")
}

// picturesOf is of how many pages of a route pictures are kept: an approval that
// waits looks unlike one that was used.
func picturesOf(route string) int {
	if strings.Count(route, ":") == 1 && strings.Count(route, "/") == 2 {
		return 2
	}
	return 1
}

func numbered(name string, before int) string {
	if before == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, before+1)
}

// clearPictures takes the old ones away.
func clearPictures() error {
	if err := os.RemoveAll(screens); err != nil {
		return err
	}
	return os.MkdirAll(screens, 0o750)
}

// pictures takes the open page in each width and theme, with -update.
func (b *tab) pictures(name string) {
	b.t.Helper()
	if !*update {
		return
	}
	for _, width := range widths {
		for _, theme := range themes {
			b.theme(theme)
			b.size(width, 844)
			b.until("the fonts are there", `document.fonts.status === "loaded"`)
			height := min(tallest, max(844, eval[int64](b, "document.documentElement.scrollHeight")))
			b.size(width, height)
			shot := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{})
			b.must(os.WriteFile(picture(name, width, theme), smaller(b, shot.Data), 0o600))
		}
	}
	b.size(1280, 900)
}

// smaller writes a picture with few colours: pages have few.
func smaller(b *tab, data []byte) []byte {
	b.t.Helper()
	full, err := png.Decode(bytes.NewReader(data))
	b.must(err)
	bounds := full.Bounds()
	count := map[color.RGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[colourAt(full, x, y)]++
		}
	}
	palette := few(count, 224)
	small, near := image.NewPaletted(bounds, palette), map[color.RGBA]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := colourAt(full, x, y)
			index, known := near[c]
			if !known {
				index = uint8(palette.Index(c))
				near[c] = index
			}
			small.SetColorIndex(x, y, index)
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	b.must(encoder.Encode(&out, small))
	return out.Bytes()
}

func colourAt(picture image.Image, x, y int) color.RGBA {
	return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)
}

// few is the commonest colour of each kind, so that a small red dot stays red, and
// then the commonest of all.
func few(count map[color.RGBA]int, limit int) color.Palette {
	all := make([]color.RGBA, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		if d := count[b] - count[a]; d != 0 {
			return d
		}
		return int(a.R)<<16 + int(a.G)<<8 + int(a.B) - (int(b.R)<<16 + int(b.G)<<8 + int(b.B))
	})
	palette := color.Palette{}
	taken, kinds := map[color.RGBA]bool{}, map[color.RGBA]bool{}
	take := func(c color.RGBA) {
		if !taken[c] && len(palette) < limit {
			taken[c] = true
			palette = append(palette, c)
		}
	}
	for _, c := range all {
		if kind := (color.RGBA{c.R >> 5, c.G >> 5, c.B >> 5, 0}); !kinds[kind] {
			kinds[kind] = true
			take(c)
		}
	}
	for _, c := range all {
		take(c)
	}
	return palette
}
