package report

import (
	"bytes"
	_ "embed" // for the page's template and style
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/snowkey-go/snowkey/compare/result"
)

var (
	//go:embed page.html.tmpl
	pageTemplate string
	//go:embed page.css
	pageStyle string
)

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"line": line, "count": count[int], "check": checkText, "taken": taken,
	"few": func(all []string) []string { return all[:min(len(all), few)] },
	// cut parts a figure from the interval behind it; words stay whole.
	"cut": func(text string, words bool) []string {
		if words {
			return []string{text, ""}
		}
		figure, interval, _ := strings.Cut(text, " (")
		return []string{figure, strings.TrimSuffix(interval, ")")}
	},
}).Parse(pageTemplate))

// HTML writes the result as one page that asks for nothing else: style and charts are in it, there are no scripts, and it forbids the browser
// to load anything. It goes by the reader's choice of light or dark and by the width of the screen. Texts of the document are shown as texts,
// whatever they hold. Its errors are those of w.
func HTML(w io.Writer, r result.Document) error {
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, "page", newPage(r)); err != nil {
		return fmt.Errorf("compare: writing the page: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// style is the style sheet: the shades of charts and text for both grounds, and the rest.
func style() template.CSS {
	var light, dark strings.Builder
	for _, s := range shades {
		fmt.Fprintf(&light, "--%s:%s;", s.name, s.light)
		fmt.Fprintf(&dark, "--%s:%s;", s.name, s.dark)
	}
	return template.CSS(fmt.Sprintf(":root{color-scheme:light dark;%s}\n@media(prefers-color-scheme:dark){:root{%s}}\n%s", light.String(), dark.String(), pageStyle))
}
