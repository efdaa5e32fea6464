package dashboard

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"agentlink/dashboard/view"
)

func isAsset(path string) bool { return strings.HasPrefix(path, "/assets/") }

// serveAsset serves a file whose address changes with its content.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	asset, ok := view.Assets[r.URL.Path]
	if !ok || (r.Method != http.MethodGet && r.Method != http.MethodHead) {
		http.NotFound(w, r)
		return
	}
	data := asset.Data
	h := w.Header()
	if packed := packedAssets()[r.URL.Path]; packed != nil {
		h.Set("Vary", "Accept-Encoding")
		if takesGzip(r) {
			data = packed
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("Content-Type", asset.Type)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	if r.Method == http.MethodGet {
		_, _ = w.Write(data)
	}
}

// takesGzip reads Accept-Encoding as browsers write it.
func takesGzip(r *http.Request) bool {
	for offer := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, weight, weighted := strings.Cut(offer, ";")
		if strings.TrimSpace(coding) == "gzip" {
			return !weighted || strings.Trim(weight, " q=0.") != ""
		}
	}
	return false
}

// packedAssets are the assets that gzip makes smaller, by their addresses.
var packedAssets = sync.OnceValue(func() map[string][]byte {
	all := map[string][]byte{}
	for address, asset := range view.Assets {
		if packed := pack(asset.Data); len(packed) < len(asset.Data) {
			all[address] = packed
		}
	}
	return all
})

// pack writes into memory, which does not fail.
func pack(data []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, _ = w.Write(data)
	_ = w.Close()
	return out.Bytes()
}
