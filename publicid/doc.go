// Package publicid shows the keys of a database to the world under other names, which give nothing away: ord_JYZTXD6H1EXM9 for the key 152249823437717504.
//
//	keys, err := publicid.FromFile("/run/secrets/public-id-keys") // made by the command: snowkey secret
//	ids, err := publicid.New(keys, publicid.Accept(publicid.MadeBy(idgen.Snowkey.Layout)))
//	text, err := ids.Encode("ord", order.ID.Int64())
//	id, err := ids.Decode("ord", text)
//
// The database keeps its numbers. Names are made from them and read again without asking anybody.
//
// # What it protects from
//
// Who has names and no key cannot read from them the number, the time, the node, the order or the count of rows, nor tell which name is the next one: of two
// names of one prefix it can be seen that they differ, and no more. A name of one prefix is none of another.
//
// # What it does not
//
//   - It is no permission. Who has a name can ask for its row, as with any id: check who asks.
//   - A guess finds some row's name with the chance of rows to 2^63, which is that of a UUID only where there are few rows or attempts. [Accept] refuses most
//     guesses before the database is asked, [Versions] those of UUIDs.
//   - The key that is lost or published takes all protection with it, for the names of the past too. Names cannot be read without the key any more.
//
// # How it works
//
// Numbers go through FF1 of NIST SP 800-38G with AES-256: a keyed permutation of 64 bits, a Feistel network of ten rounds; no attack is published that does better
// than trying keys on a domain of this size. UUIDs go through AES-256 itself, whose block they are. Each prefix has a key of its own, the HMAC-SHA256
// of the prefix under the secret. A name is 13 digits of Crockford's base 32 for the 64 bits, and a 65th on top that says which of two keys it was made with;
// of a UUID 26 digits. Names have one text: small letters and what looks alike is refused.
//
// # Another key
//
// Keys are numbered: 1, 2, 3. The greatest one makes names, and the one before it goes on reading its own. Give all programs "2:…" beside "1:…" before one makes
// names of it: that is [ReadOnly] first. A third key ends the names of the first one.
package publicid
