package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// bar shows how far a run is, on a terminal; elsewhere it shows nothing.
type bar struct {
	*progressbar.ProgressBar
	terminal int
	shown    time.Time
}

const (
	barSteps = 1000                   // how finely the bar is divided
	barPause = 100 * time.Millisecond // from one drawing to the next, at least
	barWidth = 20
	barRest  = 12 // what the bar has around it, at most
)

func newBar(w io.Writer) *bar {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &bar{}
	}
	return &bar{terminal: int(file.Fd()), ProgressBar: progressbar.NewOptions64(barSteps,
		progressbar.OptionSetWriter(w), progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(barWidth))}
}

// show draws the bar, of which a part from 0 to 1 is done, with a text behind it.
func (b *bar) show(done float64, text string) {
	if b.ProgressBar == nil || time.Since(b.shown) < barPause {
		return
	}
	b.shown = time.Now()
	columns, _, err := term.GetSize(b.terminal)
	if err != nil || columns <= 0 {
		columns = 80
	}
	_ = b.Set(min(int(done*barSteps), barSteps-1)) // a bar that cannot be drawn is no reason to stop
	// A line that is wrapped could not be drawn over.
	b.Describe(cut(text, columns-barWidth-barRest))
}

func (b *bar) end() {
	if b.ProgressBar != nil {
		_ = b.Clear()
	}
}

// describe says what is being done, and for how long there is more to do.
func describe(left time.Duration, doing string) string {
	rounded := left.Round(time.Second)
	if rounded > 90*time.Second {
		rounded = left.Round(10 * time.Second)
	}
	return fmt.Sprintf("%v left  %s", rounded, doing)
}

// cut shortens a text to so many characters, the last of them a mark.
func cut(text string, most int) string {
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	return string(letters[:max(most-1, 0)]) + "…"
}
