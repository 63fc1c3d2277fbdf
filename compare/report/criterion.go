package report

import (
	"fmt"

	"github.com/snowkey-go/snowkey/compare/result"
)

// criterion is what a team may want of its keys. Its verdict on a strategy goes by measurements alone.
type criterion struct {
	want string
	// judge says what a strategy's figures mean for the criterion.
	judge func(c *ranking, s result.Strategy) verdict
	// fleet tells that rows come from many processes, so that the figures of a fleet speak for its strategy, where one was measured.
	fleet bool
	// writers tells that the figures are those of several connections that insert at once.
	writers bool // the line is there only where some were measured
	// kills tells that the criterion is about keys issued twice, so that those who did it are the first to be named against.
	kills bool
	// narrow tells that nobody would think of what does not fit.
	narrow bool
	// also is what else a reader has to know who has the wish.
	also string
}

// verdict is what figures mean for a criterion.
type verdict struct {
	fits    bool
	unknown bool   // too little was measured to say
	reason  string // why it fits, does not, or is not known; "" where fitting needs no word
}

func fits(format string, a ...any) verdict {
	return verdict{fits: true, reason: fmt.Sprintf(format, a...)}
}

func unfit(format string, a ...any) verdict { return verdict{reason: fmt.Sprintf(format, a...)} }

func unknown(format string, a ...any) verdict {
	return verdict{unknown: true, reason: fmt.Sprintf(format, a...)}
}

// The bounds of the rules.
const (
	// own is the most nanoseconds of a key that no server was asked for: the slowest code measured takes a tenth of it, and the fastest round
	// trip, over a Unix socket, twice as much.
	own = 10_000
	// chance is how improbable even shards have to be before keys count as uneven: of ten tests of an even strategy, one in a thousand is
	// below it somewhere.
	chance = 0.0001
	// secret is the bits that nobody tries out: at a million keys a second, 2^60 take 36,000 years.
	secret = 60
)

// criteria are the lines of the decision table.
var criteria = []criterion{
	{want: "Fast inserts and small rows, one database", judge: judgeRate},
	{want: "Inserts over several connections at once", judge: judgeWriters, writers: true},
	{want: "Keys made in the application", judge: judgeOwn},
	{want: "Many processes, no node numbers by hand", judge: judgeProcesses, fleet: true},
	{want: "Even shards by key % n", judge: judgeShards},
	{want: "Keys nobody can guess; they may tell the time", judge: judgeSecret},
	{want: "Keys nobody can guess, and that tell nothing", judge: judgeSilent},
	{want: "Numbers that JavaScript reads", judge: judgeJavaScript,
		also: "larger numbers are exact as JSON text, which sqltype.ID writes; the layout js53 makes numbers below 2^53"},
	{want: "Keys of the 128-bit UUID type", judge: judgeUUID, narrow: true},
	{want: "No key twice when the database is killed", judge: judgeCrash, kills: true},
}

// judgeRate takes all strategies whose rate was measured.
func judgeRate(_ *ranking, s result.Strategy) verdict {
	if rate := s.Growth.Overall(); !rate.OK() {
		return unknown("%s", because(rate))
	}
	return fits("")
}

// judgeWriters takes all strategies whose rate over several connections was measured.
func judgeWriters(c *ranking, s result.Strategy) verdict {
	if rate := waysOf(s, c.crowded()).RowsPerSecond; !rate.OK() {
		return unknown("%s", because(rate))
	}
	return fits("")
}

// judgeOwn takes keys that one goroutine makes faster than any server answers.
func judgeOwn(_ *ranking, s result.Strategy) verdict {
	f := speed(s.Generation.Uncapped, 1, 1)
	switch {
	case len(s.Generation.Uncapped) == 0:
		return unknown("making keys was not timed")
	case !f.OK():
		return unfit("%s", because(f))
	case f.Median() > own:
		return unfit("%s a key: each is asked for", span(f.Median()))
	}
	return fits("%s a key in the process", span(f.Median()))
}

// judgeProcesses takes keys made in the application that were unique over simulated processes, whose nodes need no hand.
func judgeProcesses(c *ranking, s result.Strategy) verdict {
	if v := judgeOwn(c, s); !v.fits {
		return v
	}
	if effort(s.Coordination) == byHand {
		return unfit("its processes have to agree upon %s", line(s.Coordination))
	}
	for _, check := range s.Verify.Checks {
		if check.Name == "unique: processes" && check.State == result.Passed {
			return fits("%s keys of several processes all differ; these agree upon %s", count(check.Keys), agreed(s.Coordination))
		}
	}
	return unknown("keys of several processes were not looked at")
}

// judgeShards takes keys that are known before the row is stored and whose χ² no number of shards makes improbable.
func judgeShards(_ *ranking, s result.Strategy) verdict {
	if f := speed(s.Generation.Uncapped, 1, 1); len(s.Generation.Uncapped) == 0 {
		return unknown("making keys was not timed")
	} else if !f.OK() {
		return unfit("its keys are not known before the row is stored: %s", because(f))
	}
	if len(s.Shards.Chi) == 0 {
		return unknown("%s", because(result.Missing(s.Shards.Why)))
	}
	worst := s.Shards.Chi[0]
	for _, chi := range s.Shards.Chi {
		if chi.P < worst.P {
			worst = chi
		}
	}
	if worst.P < chance {
		return unfit("uneven: χ² = %s for %d shards, where even ones give %d or so (p %s)", result.Short(worst.Value), worst.Shards, worst.Shards-1, chanceText(worst.P))
	}
	return fits("even over %d to %d shards (χ², p %s at the least)", s.Shards.Chi[0].Shards, s.Shards.Chi[len(s.Shards.Chi)-1].Shards, chanceText(worst.P))
}

// judgeSecret takes keys whose neighbours are too far off to be tried out.
func judgeSecret(_ *ranking, s result.Strategy) verdict {
	f := s.Key.Gap
	switch {
	case !f.OK():
		return unknown("%s", because(f))
	case f.Median() < secret:
		return unfit("%s", distance(f.Median()))
	}
	return fits("%s; %s", distance(f.Median()), tells(s.Decodes))
}

// judgeSilent takes those of them that tell nothing of their rows, by what is known of the strategy.
func judgeSilent(c *ranking, s result.Strategy) verdict {
	v := judgeSecret(c, s)
	if v.fits && line(s.Decodes) != silent {
		return unfit("%s", tells(s.Decodes))
	}
	return v
}

// judgeJavaScript takes numbers below 2^53.
func judgeJavaScript(_ *ranking, s result.Strategy) verdict {
	switch {
	case s.Key.Column == "" && s.Key.Text == 0:
		return unknown("its keys were not looked at")
	case !s.Key.Numeric:
		return unfit("text there, of %d characters", s.Key.Text)
	case !s.Key.JSSafe:
		return unfit("numbers of %d digits, not exact above 2^53", s.Key.Text)
	}
	return fits("numbers of %d digits in this run, below 2^53", s.Key.Text)
}

// judgeUUID takes 16 bytes whose text is that of a UUID, and the same as text.
func judgeUUID(_ *ranking, s result.Strategy) verdict {
	switch {
	case s.Key.Bytes == 0 && s.Key.Text == 0:
		return unknown("its keys were not looked at")
	case s.Key.Numeric || s.Key.Text != 36 || s.Key.Bytes != 16 && s.Key.Bytes != 36:
		return unfit("%d bytes, %d characters", s.Key.Bytes, s.Key.Text)
	}
	return fits("%d bytes as %s", s.Key.Bytes, line(s.Key.Column))
}

// judgeCrash takes keys that no kill made the database give out again, and keys that the database does not give out, as the document says
// why they were not counted. It says so only where kills were measured at all.
func judgeCrash(c *ranking, s result.Strategy) verdict {
	f := s.Crash.Twice
	switch {
	case f.OK(): // all 0, as others are out before any criterion
		return fits("%s kills, 0 keys issued twice", count(len(f.Samples)))
	case !c.kills:
		return unknown("%s", because(f))
	case judgeOwn(c, s).fits:
		return fits("%s, %s a key", because(f), span(speed(s.Generation.Uncapped, 1, 1).Median()))
	}
	return unknown("%s", because(f))
}
