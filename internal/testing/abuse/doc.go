// Package abuse lists attacks on a federation and the tests that cover them. The comment of a test
// names the case that the test covers and the result of the attack, in a line of this form:
//
//	//abuse:case A04 refused as out of place; the first envelope is kept
//
// The lists of docs/prove/threat-model.md are generated from these lines:
//
//	go test ./internal/testing/abuse -update
package abuse

// A Case is an action of an attacker.
type Case struct {
	ID    string
	Does  string // description of the action
	Named string // advisories and issues that report this action on other platforms; may be empty
}

// A Show is a test that covers a case. Outcome is the result of the attack in it.
type Show struct {
	Case    string
	File    string // path relative to the root of the repository
	Test    string
	Outcome string
}

// Cases are the attacks that the design of this protocol must withstand.
var Cases = []Case{
	{ID: "A01", Does: "The power fails, or the process is killed, before, in or after a commit, or while it sends"},
	{ID: "A02", Does: "The coordinator repeats a plan, or shows an old one"},
	{ID: "A03", Does: "The coordinator returns to an earlier round, or sends a plan for another model"},
	{ID: "A04", Does: "A second answer to one plan is requested, or sent"},
	{ID: "A05", Does: "The coordinator invents releases of participants, or the set of participants shrinks"},
	{ID: "A06", Does: "One party appears under several names, or with the keys of another"},
	{ID: "A07", Does: "The coordinator sends different entries to different clients"},
	{ID: "A08", Does: "An attacker pretends to be a client"},
	{ID: "A09", Does: "An attacker pretends to be the coordinator"},
	{ID: "A10", Does: "A message is used for another study, round, model or purpose than it was signed for"},
	{ID: "A11", Does: "A party is made to use an older protocol, or no encryption"},
	{ID: "A12", Does: "Messages are too large, compressed, nested, endless or too slow"},
	{ID: "A13", Does: "Numbers are not finite, beyond their range, or make a precision negative"},
	{ID: "A14", Does: "A clock jumps by years"},
	{ID: "A15", Does: "The ledger is changed, cut or cannot be written"},
	{ID: "A16", Does: "A state directory is put back to an earlier day, or used twice"},
	{ID: "A17", Does: "Keys, tokens and records are looked for in logs, errors, metrics and files"},
	{ID: "A18", Does: "Values other than the noisy numbers depend on records: counts, losses, norms, durations"},
	{ID: "A19", Does: "An attacker sends false gossip messages, or reads gossip messages"},
	{ID: "A20", Does: "A client sends sealed and signed garbage"},
	{ID: "A21", Does: "The coordinator publishes a false sum or posterior"},
	{ID: "A22", Does: "Clients leave out their share of the noise"},
	{ID: "A23", Does: "Two studies run at once for the last of a budget"},
	{ID: "A24", Does: "Records are renamed, copied or exported anew to get a second budget"},
	{ID: "A25", Does: "Answers come late, twice or in another order; the network falls apart"},
}

// Advisories are kinds of vulnerability that have been published for other federated learning
// platforms.
var Advisories = []Case{
	{ID: "P01", Named: "NVFlare CVE-2022-34668, CVE-2026-24186; FedML CVE-2026-5536; vantage6 CVE-2023-23930", Does: "Deserialising a peer's message runs its code, or exhausts memory"},
	{ID: "P02", Named: "NVFlare CVE-2026-24178", Does: "A request names another party's object, and ownership is not checked"},
	{ID: "P03", Named: "NVFlare CVE-2026-24204", Does: "Fields are negative, huge or not a number"},
	{ID: "P04", Named: "NVFlare #4422", Does: "A handler runs although the caller was refused; a token is valid again; one client ends the study for all clients"},
	{ID: "P05", Named: "NVFlare 650f24e7", Does: "Changed ciphertext is not detected"},
	{ID: "P06", Named: "NVFlare #4879, #5063; Flower #6627", Does: "A name or a link leads out of the state directory"},
	{ID: "P07", Named: "vantage6 GHSA-w9h2-px87-74vx", Does: "A name reaches a shell or the environment"},
	{ID: "P08", Named: "vantage6 GHSA-rjmv-52mp-gjrr", Does: "A message that must be encrypted is accepted without encryption"},
	{ID: "P09", Named: "vantage6 GHSA-vc3v-ppc7-v486", Does: "A changed study runs under the approval of another"},
	{ID: "P10", Named: "vantage6 GHSA-99r4-cjp4-3hmx", Does: "A party is added without the consent of the present parties"},
	{ID: "P11", Named: "vantage6 CVE-2023-23929, GHSA-m3mq-f375-5vgh", Does: "A token is valid for ever, or can be guessed"},
	{ID: "P12", Named: "vantage6 CVE-2022-39228, GHSA-45gq, GHSA-5h3x", Does: "Refusals reveal which parties exist"},
	{ID: "P13", Named: "vantage6 CVE-2023-41881", Does: "Data of a deleted object stay, or data are deleted that must stay"},
	{ID: "P14", Named: "NVFlare #4932", Does: "A log or a command line contains a token"},
	{ID: "P15", Named: "Flower #7522", Does: "Randomness that protects can be predicted"},
	{ID: "P16", Named: "Flower _unmask", Does: "A sum is unmasked twice, or for overlapping sets"},
	{ID: "P17", Named: "Flower's overflow warning; Fed-BioMed #1210", Does: "A sum of encoded numbers wraps around"},
	{ID: "P18", Named: "Flower #7631", Does: "Clipping a zero, a subnormal or an infinite vector gives no number"},
	{ID: "P19", Named: "Huth 2022 on DataSHIELD", Does: "Many harmless queries add up to a record"},
	{ID: "P20", Named: "dsFlower's design note", Does: "An error, or its absence, reveals information about records"},
}
