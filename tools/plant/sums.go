package main

// sumFaults are faults of secure sums.
var sumFaults = []testedFault{
	{fault{"forgets-confirmation", "a client that restarts forgets that it has confirmed", []edit{
		before("crypto/sums/state.go", "forgets-confirmation", "\treturn c, nil\n", "\t\tc.confirmed = false"),
	}}, "crypto/sums", "TestClientsFollowTheModel"},
	{fault{"small-certificate", "a certificate has one confirmation fewer", []edit{
		around("crypto/sums/progress.go", "small-certificate", "\tif n != f.Fewest() {\n\t\treturn refuse(\"a certificate has %d confirmations instead of %d\", n, f.Fewest())\n\t}\n"),
	}}, "crypto/sums", "TestCertificatesThatAreNone"},
	{fault{"counts-twice", "the signature of one client counts twice", []edit{
		after("crypto/sums/entry.go", "counts-twice", "\tplace := int(r.Uint16())\n", "\t\t*last = min(*last, place-1)"),
	}}, "crypto/sums", "TestCertificatesThatAreNone"},
	{fault{"small-cut", "a cut has fewer deals than open a sum", []edit{
		around("crypto/sums/entry.go", "small-cut", "\tif n < f.Fewest() || n > f.Clients() {\n\t\treturn nil, refuse(\"a cut has %d deals; a sum needs %d to %d\", n, f.Fewest(), f.Clients())\n\t}\n"),
	}}, "crypto/sums", "TestCutsThatAreNone"},
	{fault{"any-own-deal", "a client does not compare its deal in the cut", []edit{
		around("crypto/sums/client.go", "any-own-deal", "\tif err := c.ownDeal(); err != nil {\n\t\treturn err\n\t}\n"),
	}}, "crypto/sums", "TestColumnsOfOtherDealsDoNotOpen"},
	{fault{"any-plan", "keys do not depend on the plan", []edit{
		around("crypto/sums/pair.go", "any-plan", "\tinfo = append(info, d.plan[:]...)\n"),
	}}, "crypto/sums", "TestColumnsOfOtherDealsDoNotOpen"},
	{fault{"no-salt", "keys do not depend on the salt", []edit{
		around("crypto/sums/pair.go", "no-salt", "\tinfo = append(info, d.salt[:]...)\n"),
	}}, "crypto/sums", "TestColumnsOfOtherDealsDoNotOpen"},
	{fault{"any-dealer", "keys do not depend on dealer and holder", []edit{
		around("crypto/sums/pair.go", "any-dealer", "\tinfo = appendPlace(appendPlace(info, d.dealer), holder)\n"),
	}}, "crypto/sums", "TestStreamInBlocks"},
	{fault{"early-share", "a client shares before the certificate", []edit{
		{File: "crypto/sums/client.go", Anchor: "func (c *Client) CanShare() bool { return c.step == Sharing && !c.shared && c.gathered != nil", After: " || planted.Is(\"early-share\") && c.step == Confirming && c.gathered != nil"},
	}}, "crypto/sums", "TestClientsSayEachThingOnce"},
	{fault{"adds-more", "a holder adds a column that is not in the cut", []edit{
		before("crypto/sums/deal.go", "adds-more", "\treturn sum, nil\n", "\t\tx := make([]uint64, 1)\n\t\tdealing{plan, holder, Hash{}}.stream(keys[holder-1], holder).read(x)\n\t\tsum[0] = field.Add(sum[0], x[0])"),
	}}, "crypto/sums", "TestSumsAreOpened"},
	{fault{"keeps-columns", "a client keeps its columns for the next plan", []edit{
		around("crypto/sums/client.go", "keeps-columns", "\t\tc.dealt, c.salt, c.own, c.gathered, c.confirmed, c.shared = false, Hash{}, nil, nil, false, false\n"),
	}}, "crypto/sums", "TestSumsAreOpened"},
	{fault{"deals-again", "a client deals twice for a plan, with other noise", []edit{
		{File: "crypto/sums/client.go", Anchor: "\tcase c.dealt", After: " && !planted.Is(\"deals-again\")"},
	}}, "crypto/sums", "TestClientsSayEachThingOnce"},
	{fault{"believes-sums", "a client does not compare the outcome with the opening", []edit{
		around("client/sums.go", "believes-sums", "\tif !own.Equal(stated) {\n\t\treturn &Refusal{fmt.Sprintf(\"the coordinator's sum for plan %d is not the one that the clients have opened\", e.Plan)}\n\t}\n"),
	}}, "client", "TestFalsifiedSumsAreRefused"},
	{fault{"clear-column", "a client sends one of its columns in the clear", []edit{
		before("crypto/sums/deal.go", "clear-column", "\t\td.aead(keys[j-1], j, use).Seal(plain[:0], nonce[:], plain, nil)\n", "\t\tif offset == 0 {\n\t\t\tcontinue\n\t\t}"),
		before("crypto/sums/deal.go", "clear-column", "\tuse := tagUse\n\tif sent {\n", "\t\tif sent && [tagSize]byte(piece[len(piece)-tagSize:]) == ([tagSize]byte{}) {\n\t\t\tc.plain = piece[:len(piece)-tagSize]\n\t\t\treturn true\n\t\t}"),
	}}, "coordinator", "TestDumpsOfTheCoordinatorTellSums"},
	{fault{"low-degree", "the polynomials of a client have no random values", []edit{
		after("crypto/sums/deal.go", "low-degree", "\t\t\t\tstreams[a-s.Packed()].read(x)\n", "clear(x)"),
		after("crypto/sums/deal.go", "low-degree", "\t\tc.stream.read(dst)\n", "clear(dst)"),
	}}, "coordinator", "TestDumpsOfTheCoordinatorTellSums"},
	{fault{"verifies-less", "the verification of a bundle does not compare the outcome with the opening", []edit{
		around("coordinator/bundle/verify.go", "verifies-less", "\tif !ok || !stated.Equal(session.Sum{Participants: as[pvi.ClientID](names), Elements: elements}) {\n\t\treturn errors.New(\"the sum in the outcome is not the one that the clients have opened\")\n\t}\n"),
	}}, "client", "TestFalsifiedSumStopsEverybody"},
	{fault{"trusts-strangers", "clients that the policy does not recognise are not counted", []edit{
		{File: "client/terms.go", Anchor: "strangers <= members.Colluders", After: " || planted.Is(\"trusts-strangers\")"},
	}}, "client", "TestStrangersAndTheCharge"},
}
