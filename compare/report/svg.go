package report

import (
	"fmt"
	"html"
	"sort"
	"strings"
	"unicode"
)

// The widths that charts are drawn for, in CSS pixels: text has its full size on a phone as well as on a screen, which one drawing that is scaled
// could not give.
const (
	wideChart   = 760
	narrowChart = 336
)

const chartText = 14 // the size of all text in charts

// chart is one drawing.
type chart struct {
	title, desc   string // for those who cannot see it
	width, height float64
	draw          func(*drawing)
}

// svg renders the chart as an element of the page, whose style sheet has the colours. The id is unique in the page.
func (c chart) svg(id, class string) []byte {
	open := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="%s" viewBox="0 0 %g %g"`, class, c.width, c.height)
	return c.render(open, id, "", func(s shade) string { return "var(--" + s.name + ")" })
}

// file renders the chart as an image file of its own, on its own ground.
func (c chart) file() []byte {
	const margin = 16
	size := fmt.Sprintf(`width="%g" height="%g"`, c.width+2*margin, c.height+2*margin)
	open := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" %s viewBox="%d %d %g %g"`, size, -margin, -margin, c.width+2*margin, c.height+2*margin)
	under := fmt.Sprintf(`<rect x="%d" y="%d" %s rx="8" fill="%s"/>`, -margin, -margin, size, shades[ground].light)
	return c.render(open, "chart", under, func(s shade) string { return s.light })
}

func (c chart) render(open, id, under string, colour func(shade) string) []byte {
	d := &drawing{colour: colour}
	c.draw(d)
	return fmt.Appendf(nil, `%s role="img" aria-labelledby="%[2]s-t %[2]s-d"><title id="%[2]s-t">%[3]s</title><desc id="%[2]s-d">%[4]s</desc>%[5]s`+
		`<g font-family="Liberation Sans,Arial,Helvetica,sans-serif" font-size="%[6]d">%[7]s</g></svg>`+"\n",
		open, id, html.EscapeString(c.title), html.EscapeString(c.desc), under, chartText, d.String())
}

// drawing has the elements of a chart. Its points count from the top left corner.
type drawing struct {
	strings.Builder
	colour func(shade) string
}

type point struct{ x, y float64 }

// stroke is what a line is drawn with.
type stroke struct {
	shade int
	width float64
	dash  string // of SVG, "" for none
}

func (d *drawing) line(s stroke, points ...point) {
	command := "M"
	d.WriteString(`<path d="`)
	for _, p := range points {
		fmt.Fprintf(d, "%s%.2f,%.2f", command, p.x, p.y)
		command = "L"
	}
	fmt.Fprintf(d, `" style="fill:none;stroke:%s;stroke-width:%g`, d.colour(shades[s.shade]), s.width)
	if s.dash != "" {
		fmt.Fprintf(d, ";stroke-dasharray:%s", s.dash)
	}
	d.WriteString(`"/>`)
}

func (d *drawing) bar(shade int, opacity, left, top, right, bottom float64) {
	if right > left && bottom > top {
		fmt.Fprintf(d, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" style="fill:%s;fill-opacity:%g"/>`, left, top, right-left, bottom-top,
			d.colour(shades[shade]), opacity)
	}
}

func (d *drawing) dot(shade int, at point, radius float64) {
	fmt.Fprintf(d, `<circle cx="%.2f" cy="%.2f" r="%g" style="fill:%s"/>`, at.x, at.y, radius, d.colour(shades[shade]))
}

// lettering is how a text is written at a point: start, middle or end of the text is there.
type lettering struct {
	shade  int
	bold   bool
	anchor string
}

// text writes a text with its middle at the height of a point. It gets the width that it was laid out with, as the reader's fonts may be wider.
func (d *drawing) text(l lettering, at point, text string) {
	weight := ""
	if l.bold {
		weight = ";font-weight:bold"
	}
	fmt.Fprintf(d, `<text x="%.2f" y="%.2f" text-anchor="%s" style="fill:%s%s" textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`, at.x, at.y+chartText*0.35,
		l.anchor, d.colour(shades[l.shade]), weight, textWidth(text, l.bold), html.EscapeString(text))
}

// advances are the widths of the letters from space to ~ in Arial, Helvetica and Liberation Sans, in thousandths of the size.
var advances = [...]float64{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
}

// textWidth is the width of a text in a chart. Letters beyond ASCII are taken to be as wide as they may be.
func textWidth(text string, bold bool) float64 {
	sum := 0.0
	for _, r := range text {
		switch i := int(r) - ' '; {
		case i >= 0 && i < len(advances):
			sum += advances[i]
		case r < 0x1100:
			sum += 600
		default:
			sum += 1000
		}
	}
	if bold {
		sum *= 1.07
	}
	return sum * chartText / 1000
}

// label is a text that others wrote, as one that a chart has room for.
func label(text string, bold bool, width float64) string {
	visible := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1 // among them those that turn the direction of writing
		}
		return r
	}, line(text)))
	if textWidth(string(visible), bold) <= width {
		return string(visible)
	}
	n := sort.Search(len(visible), func(n int) bool { return textWidth(string(visible[:n])+"…", bold) > width })
	return string(visible[:max(0, n-1)]) + "…"
}
