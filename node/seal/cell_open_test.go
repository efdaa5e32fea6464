package seal

import (
	"bytes"
	"testing"
)

// A value of one chunk is opened without age's readers, a longer one by them; both
// open what age opens.
func TestCellOpensWhatAgeOpens(t *testing.T) {
	t.Parallel()
	box := testBox()
	c := &cell{key: box.wrapKey, place: here}
	for size, alone := range map[int]bool{0: true, 1: true, 1 << 10: true, 64<<10 - 1: true, 64 << 10: true, 64<<10 + 1: false, 200 << 10: false} {
		plaintext := bytes.Repeat([]byte("x"), size)
		sealed := mustSeal(t, box, here, plaintext)
		if _, _, ok := parseCell(sealed); ok != alone {
			t.Errorf("%d bytes: opened without age is %v", size, ok)
		}
		for name, open := range map[string]func([]byte) ([]byte, error){"here": c.open, "age": c.openByAge} {
			if opened, err := open(sealed); err != nil || !bytes.Equal(opened, plaintext) {
				t.Errorf("%d bytes, %s: %d bytes, %v", size, name, len(opened), err)
			}
		}
	}
}

func (c *cell) openByAge(sealed []byte) ([]byte, error) {
	return decrypt(c, sealed, int64(len(sealed)))
}

// Neither takes what the other refuses.
func TestCellRefusesWhatAgeRefuses(t *testing.T) {
	t.Parallel()
	box := testBox()
	c := &cell{key: box.wrapKey, place: here}
	sealed := mustSeal(t, box, here, []byte("a table for two"))
	for i := range sealed {
		for bit := range 8 {
			changed := bytes.Clone(sealed)
			changed[i] ^= 1 << bit
			_, ours := c.open(changed)
			_, ages := c.openByAge(changed)
			if ours == nil || ages == nil {
				t.Fatalf("byte %d, bit %d: %v, age %v", i, bit, ours, ages)
			}
		}
	}
	for name, changed := range map[string][]byte{
		"a line break for a character": bytes.Replace(sealed, sealed[45:46], []byte("\n"), 1),
		"lines that end otherwise":     bytes.Replace(sealed, []byte("\n--- "), []byte("\r\n--- "), 1),
		"nothing after the header":     sealed[:nonceStart],
		"no chunk":                     sealed[:chunkStart],
		"a chunk without its end":      sealed[:len(sealed)-16],
	} {
		_, ours := c.open(changed)
		_, ages := c.openByAge(changed)
		if ours == nil || ages == nil {
			t.Errorf("%s: %v, age %v", name, ours, ages)
		}
	}
}
