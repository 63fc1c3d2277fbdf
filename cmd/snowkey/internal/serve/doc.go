// Package serve gives keys to programs in other languages: over HTTP, and over Redis's protocol. Command snowkey serve is its only user.
//
// # What it promises
//
//   - A key that was sent is never sent again: not to another connection, not after a restart or kill -9, and by no other process whose number is from the same
//     store. Each key is taken from the [Source] for one answer. When the answer does not arrive, its keys are lost, and the client's next request has others.
//   - A batch is whole or an error. Where the source fails in the middle, the client gets the error and none of the keys.
//   - Without a grant there are no keys. HTTP answers 503 with Retry-After, Redis's protocol -UNAVAILABLE. What is left of a grant is used while its store is gone.
//   - Nothing on the way keeps keys: Cache-Control is no-store. HEAD makes none.
//   - Who has no token gets no keys, no parts of keys and no metrics. Tokens are compared in constant time.
//   - A client cannot use up the process: connections, keys of a request, bytes of a request, and the times to send a request and to take an answer are bounded.
//   - [Server.Stop] breaks off no request that has arrived in whole, up to the end of its context.
//
// It does not promise that keys of two requests are in the order of their answers, or that a request is made once: a client that has lost an answer
// asks again.
//
// # The states
//
//	          Use               a renewal fails            the grant ends
//	starting ─────▶ ready ───────────────────────▶ losing ────────────────▶ ended
//	                  ▲                               │ renewed               │ renewed, or another number acquired
//	                  └───────────────────────────────┴───────────────────────┘
//	any state ──── Stop ──▶ stopping
//
//	state      /live  /ready  keys
//	starting   200    503     503, -UNAVAILABLE
//	ready      200    200     yes
//	losing     200    200     yes, until the grant ends
//	ended      200    503     503, -UNAVAILABLE; a request has the grant renewed and waits for one attempt, unless the last one has failed
//	stopping   200    503     yes, on connections that are open; new ones too until the drain has passed
//
// # Faults
//
//   - The store does not answer: losing, then ended. When it answers again, the keeper renews the grant or acquires another number: ready.
//   - The store has forgotten the grant: the keeper acquires another number, see package grant. Nothing is seen here.
//   - kill -9: connections break. The number comes free at its grant's end, and the next grant begins there or later.
//   - A client that sends no whole request, or takes no answer: it is cut off after ten seconds. One that sends nothing, after [Config.Idle].
//   - More connections than [Config.MaxConnections]: the new one gets an error and is closed.
package serve
