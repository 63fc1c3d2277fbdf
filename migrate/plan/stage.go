package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/catalog"
)

// stage is steps that do the same to one table after another. They are read together.
type stage struct {
	steps  []int // their numbers, from 1
	phase  string
	what   string // in words, with … where the steps differ
	tables []string
	lock   string // in a word
	rows   int64  // -1 when unknown
	took   time.Duration
}

// numbers returns those of the steps: "3", "3–7", or "3, 5 … 11" where others are in between.
func (s stage) numbers() string {
	first, last := s.steps[0], s.steps[len(s.steps)-1]
	switch {
	case len(s.steps) == 1:
		return fmt.Sprint(first)
	case last-first == len(s.steps)-1:
		return fmt.Sprintf("%d–%d", first, last)
	}
	return fmt.Sprintf("%d, %d … %d", first, s.steps[1], last)
}

// longestTurn is of how many steps a turn may be that comes again for one table after another.
const longestTurn = 3

// stages returns the plan's, in the order of their first steps.
func (p *Plan) stages() []stage {
	titles := make([]title, len(p.Steps))
	shapes := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		titles[i] = p.title(s.Title)
		shapes[i] = strings.Join([]string{s.Phase, string(s.Do.Kind), s.Lock, s.Algorithm, fmt.Sprint(s.Final), titles[i].shape}, "\x00")
	}
	var all []stage
	for at := 0; at < len(p.Steps); {
		turn, times := 1, 1
		for n := 1; n <= longestTurn; n++ {
			again := 1
			for at+(again+1)*n <= len(shapes) && slices.Equal(shapes[at:at+n], shapes[at+again*n:at+(again+1)*n]) {
				again++
			}
			if again > 1 && n*again > turn*times {
				turn, times = n, again
			}
		}
		for first := at; first < at+turn; first++ {
			s := stage{phase: p.Steps[first].Phase, lock: lockWord(p.Steps[first].Lock)}
			var of []title
			for n := first; n < at+turn*times; n += turn {
				s.steps, of = append(s.steps, n+1), append(of, titles[n])
				p.weigh(&s, p.Steps[n])
			}
			s.what = common(of)
			all = append(all, s)
		}
		at += turn * times
	}
	return all
}

// weigh adds a step's tables, rows and time to its stage.
func (p *Plan) weigh(s *stage, step Step) {
	for _, t := range p.tablesOf(step) {
		if !slices.Contains(s.tables, t) {
			s.tables = append(s.tables, t)
		}
	}
	s.rows = sizeOf(s.rows, step.Rows)
	if took := step.expected(); took < 0 || s.took < 0 {
		s.took = -1
	} else {
		s.took += took
	}
}

// title is a step's title with its names apart.
type title struct {
	words []string // or several names in a row
	shape string   // what it has in common with others
}

var afterWord = regexp.MustCompile(`[,:;]+$`)

// title takes the names of tables, columns and foreign keys for what may differ.
func (p *Plan) title(text string) (t title) {
	var shape []string
	goesOn := false // the word before is a name with a comma after it
	for _, word := range strings.Fields(text) {
		bare := afterWord.ReplaceAllString(word, "")
		is := p.names(bare)
		switch {
		case is && goesOn:
			t.words[len(t.words)-1] += " " + word
		case is:
			t.words, shape = append(t.words, word), append(shape, "\x00")
		default:
			t.words, shape = append(t.words, word), append(shape, word)
		}
		goesOn = is && bare != word
	}
	t.shape = strings.Join(shape, " ")
	return t
}

// names tells whether a word is a name: of a table, a column of one, or a foreign key.
func (p *Plan) names(word string) bool {
	table, _, dotted := strings.Cut(word, ".")
	is := func(name string) bool {
		return word == name || dotted && table == name || strings.HasSuffix(word, "."+name)
	}
	return slices.ContainsFunc(p.Tables, is) ||
		slices.ContainsFunc(p.Keys, func(k Key) bool { return word == k.Column }) ||
		slices.ContainsFunc(p.References, func(r Reference) bool { return word == r.Column || r.Name != "" && word == r.Name })
}

// common returns what titles have in common, with … for the rest.
func common(titles []title) string {
	words := slices.Clone(titles[0].words)
	for _, t := range titles[1:] {
		for i := range words {
			if i < len(t.words) && t.words[i] != words[i] {
				words[i] = "…" + afterWord.FindString(words[i])
			}
		}
	}
	return strings.Join(words, " ")
}

// tablesOf returns the tables of the plan that a step reads or changes.
func (p *Plan) tablesOf(s Step) (tables []string) {
	add := func(name catalog.Name) {
		for _, t := range p.Tables {
			known, err := catalog.Parse(t)
			if err == nil && known.Name == name.Name && (known.Schema == name.Schema || known.Schema == "" || name.Schema == "") && !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		}
	}
	if name, err := catalog.Parse(s.Do.Table); err == nil {
		add(name)
	}
	for _, statement := range s.Do.SQL {
		for _, name := range tablesIn(statement) {
			add(name)
		}
	}
	if len(tables) > 0 {
		return tables
	}
	for _, word := range strings.Fields(s.Title) {
		word = afterWord.ReplaceAllString(word, "")
		for _, t := range p.Tables {
			if (word == t || strings.HasPrefix(word, t+".") || strings.HasSuffix(word, "."+t)) && !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		}
	}
	return tables
}

var beforeTable = regexp.MustCompile(`^(?:FROM|JOIN|UPDATE|INTO|TABLE|STRAIGHT_JOIN|ON|ANALYZE|EXISTS|ONLY|,)$`)

// tablesIn returns the names in quotes that stand where a table does.
func tablesIn(statement string) (names []catalog.Name) {
	last, lists := "", strings.Contains(statement, "LOCK TABLE") || strings.HasPrefix(statement, "ANALYZE")
	tokens := sqlToken.FindAllString(statement, -1)
	for i := 0; i < len(tokens); i++ {
		token := tokens[i]
		if strings.TrimSpace(token) == "" {
			continue
		}
		if strings.ContainsAny(token[:1], "\"`") && beforeTable.MatchString(last) && (last != "," || lists) {
			name := catalog.Name{Name: unquoted(token)}
			if i+2 < len(tokens) && tokens[i+1] == "." && strings.ContainsAny(tokens[i+2][:1], "\"`") {
				name = catalog.Name{Schema: name.Name, Name: unquoted(tokens[i+2])}
				i += 2
			}
			names = append(names, name)
		}
		last = token
	}
	return names
}

func unquoted(token string) string {
	quote := token[:1]
	return strings.ReplaceAll(token[1:len(token)-1], quote+quote, quote)
}

// lockWord says in a word who waits for a step.
func lockWord(lock string) string {
	word := "other"
	switch has := func(text string) bool { return strings.Contains(lock, text) }; {
	case lock == "" || strings.HasPrefix(lock, "none"):
		return "none"
	case has("rows of a batch"):
		return "rows"
	case has("reads and writes") || has("nobody else uses") || has("everything"):
		word = "all"
	case has("changes of the table"):
		word = "changes of definitions"
	case has("writes") || has("writers"):
		word = "writes"
	}
	if strings.Contains(lock, "moment") {
		word += ", briefly"
	}
	return word
}

// What is taken for how many rows and bytes are done in a second, where a step's time is estimated.
const (
	countRate   = 1_000_000
	digestRate  = 100_000
	mapRate     = 50_000
	batchRate   = 30_000
	indexRate   = 500_000
	rewriteRate = 200_000
	byteRate    = 50_000_000 // of what is written anew
)

const rates = "rows a second: 30,000 in batches, 50,000 into maps, 100,000 into digests, 200,000 written anew (and 50 MB), 500,000 into indexes, 1,000,000 counted"

// expected returns for how long a step is expected to take, -1 when that is not known. A hold takes as long as people do.
func (s Step) expected() time.Duration {
	per := func(rate float64) time.Duration {
		if s.Rows < 0 {
			return -1
		}
		return time.Duration(float64(s.Rows) / rate * float64(time.Second))
	}
	switch s.Do.Kind {
	case Steady:
		return s.Do.Window
	case Count, Expect:
		return per(countRate)
	case Digest:
		return per(digestRate)
	case Map:
		return per(mapRate)
	case Batch:
		return per(batchRate)
	case Together, Apart:
		switch {
		case s.Algorithm == "rewrite" || s.Algorithm == "COPY":
			if s.Bytes < 0 {
				return -1
			}
			return max(per(rewriteRate), time.Duration(float64(s.Bytes)/byteRate*float64(time.Second)))
		case s.Rows != 0 && s.Algorithm != "catalog only" && s.Algorithm != "INSTANT":
			return per(indexRate)
		}
	}
	return 0
}
