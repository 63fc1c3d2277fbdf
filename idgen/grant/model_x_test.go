package grant
import ("testing"; "fmt")
func TestX(t *testing.T) {
	tm := terms{first: 1, length: 2, end: 6}
	for i, m := range []rules{
		{terms: tm, faults: faults{losses: 1, restarts: 1}, strict: true},
		{terms: tm, faults: faults{losses: 1, restarts: 1}, strict: true, withoutCount: true},
		{terms: tm, faults: faults{losses: 1, restarts: 1}, strict: true, withoutMark: true},
		{terms: tm, faults: faults{copies: 1, restores: 1, restarts: 1}, strict: true, ended: true},
		{terms: tm, faults: faults{copies: 1, restores: 1, restarts: 1}, strict: true, ended: true, begins: 1},
		{terms: tm, faults: faults{copies: 1, restores: 1, restarts: 1}, strict: true, ended: true, skew: 1},
		{terms: terms{first: 1, length: 2, end: 6, lead: 1}, faults: faults{copies: 1, restores: 1, restarts: 1}, strict: true, ended: true},
		{terms: terms{first: 1, length: 2, end: 6, lead: 1}, faults: faults{copies: 1, restores: 1, restarts: 1}, strict: true, ended: true, begins: 1},
		{terms: tm, faults: faults{copies: 1, restores: 1}},
		{terms: tm, faults: faults{copies: 1, restores: 1, restarts: 1}},
		{terms: tm, faults: faults{copies: 1, restores: 1, restarts: 1}, withoutIdentity: true},
		{terms: tm, faults: faults{copies: 1, restores: 1, restarts: 1}, withoutDoubt: true},
		{terms: tm, faults: faults{copies: 1, restores: 1, restarts: 1}, calls: true},
		{terms: tm, faults: faults{copies: 1, restores: 1, restarts: 1}, calls: true, shortDoubt: true},
		{terms: tm, faults: faults{clones: 1}},
		{terms: tm, faults: faults{clones: 1, restarts: 1}},
		{terms: tm, faults: faults{clones: 1}, withoutMemory: true},
		{terms: tm, faults: faults{moves: 1, restarts: 1}, strict: true},
		{terms: tm, faults: faults{moves: 1, restarts: 1}, strict: true, withoutRefusal: true},
		{terms: tm, faults: faults{moves: 1, restarts: 1}, strict: true, withoutPlace: true},
		{terms: tm, faults: faults{moves: 1, restarts: 1}, strict: true, withoutPlace: true, withoutIdentity: true},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			n, f, tr := m.exploration().explore(400_000)
			if len(tr) > 0 { f += "\n" + lines(tr) }
			t.Logf("%d states %s\n%+v", n, f, m)
		})
	}
}
