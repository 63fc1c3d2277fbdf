package snowkey_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Limits of pages, in lines: a page is read to its end, or it is two.
const (
	readmeLines = 200
	pageLines   = 165
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} (.*)$`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLength holds the README and the pages to their lengths.
func TestLength(t *testing.T) {
	for _, page := range pages(t) {
		most := pageLines
		if page == "README.md" {
			most = readmeLines
		}
		if n := strings.Count(read(t, page), "\n"); n > most {
			t.Errorf("%s has %d lines, at most %d", page, n, most)
		}
	}
}

// TestLanguages holds code blocks to the languages that are run, or known to be shown only.
func TestLanguages(t *testing.T) {
	for _, page := range pages(t) {
		for _, b := range blocksOf(t, page) {
			if !slices.Contains([]string{"go", "console", "text", "sh", "yaml", "python", "js"}, b.language) {
				t.Errorf("%s has a block of %q:\n%s", page, b.language, b.text)
			}
		}
	}
}

// TestLinks follows every link of the documents to a file, and to a heading in it.
func TestLinks(t *testing.T) {
	for _, page := range append(pages(t), "CHANGELOG.md") {
		for _, to := range linksOf(t, page) {
			path, anchor, _ := strings.Cut(to, "#")
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s: %v", page, to, err)
				continue
			}
			if anchor != "" && strings.HasSuffix(path, ".md") && !slices.Contains(anchorsOf(t, path), anchor) {
				t.Errorf("%s links to %s, and there is no such heading; there are %q", page, to, anchorsOf(t, path))
			}
		}
	}
}

// TestTwoClicks finds each page from the README with two clicks at most.
func TestTwoClicks(t *testing.T) {
	near, last := map[string]bool{"README.md": true}, []string{"README.md"}
	for range 2 {
		var next []string
		for _, page := range last {
			for _, to := range linksOf(t, page) {
				path, _, _ := strings.Cut(to, "#")
				if !near[path] && strings.HasSuffix(path, ".md") {
					near[path], next = true, append(next, path)
				}
			}
		}
		last = next
	}
	for _, page := range pages(t) {
		if !near[page] {
			t.Errorf("%s is more than two clicks away from the README", page)
		}
	}
}

// linksOf returns the page's links within the repository, as paths from its root, with the anchor.
func linksOf(t *testing.T, page string) (found []string) {
	t.Helper()
	text := fence.ReplaceAllString(read(t, page), "")
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		to := m[1]
		switch {
		case strings.Contains(to, "://"):
			continue
		case strings.HasPrefix(to, "#"):
			to = filepath.Base(page) + to // of the page itself
		}
		path, anchor, _ := strings.Cut(to, "#")
		to = filepath.Join(filepath.Dir(page), path)
		if anchor != "" {
			to += "#" + anchor
		}
		found = append(found, to)
	}
	return found
}

// anchorsOf returns the anchors that headings of a page get.
func anchorsOf(t *testing.T, page string) (found []string) {
	t.Helper()
	text := fence.ReplaceAllString(read(t, page), "")
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := noAnchor.ReplaceAllString(strings.ToLower(strings.ReplaceAll(m[1], "`", "")), "")
		found = append(found, strings.ReplaceAll(name, " ", "-"))
	}
	return found
}
