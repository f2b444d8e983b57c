package main

// machineFaults are faults in functions on which the operators of a machine rely: the audit log,
// addresses behind a load balancer, signals, and the coordinator's identity.
var machineFaults = []testedFault{
	{fault{"unaudited-verdict", "the verdict on a round is not in the audit log", []edit{
		around("coordinator/verdict.go", "unaudited-verdict", "\ts.auditVerdict(ask, r.Verdict)\n"),
	}}, "coordinator", "TestAuditLogOfAStudy"},
	{fault{"unaudited-order", "an order is not in the audit log", []edit{
		around("internal/audit/audit.go", "unaudited-order", "\tl.Write(Order, slog.LevelInfo, all...)\n"),
	}}, "coordinator/daemon", "TestAuditLogOfADaemon"},
	{fault{"any-balancer", "everybody can claim an address as a load balancer does", []edit{
		before("transport/balancer.go", "any-balancer", "\thost := at.Addr().Unmap().WithZone(\"\")\n\treturn slices", "\t\treturn true"),
	}}, "coordinator/daemon", "TestAddressBehindALoadBalancer"},
	{fault{"audit-flood", "one host can fill the audit log", []edit{
		{File: "internal/audit/audit.go", Anchor: "c.hosts[host] >= maxPerHost", After: " && !planted.Is(\"audit-flood\")"},
	}}, "internal/audit", "TestFloodIsCounted"},
	{fault{"interrupted-pays", "a client that is ended by a signal charges an answer that it has not computed", []edit{
		around("client/participant.go", "interrupted-pays", "\tif ctx.Err() != nil {\n\t\treturn transport.Item{}, ctx.Err()\n\t}\n"),
	}}, "client", "TestSignalEndsAComputation"},
	{fault{"impostor-retried", "another party at the coordinator's address counts as unreachable", []edit{
		{File: "transport/line.go", Anchor: "\tif foreign(err)", After: " && !planted.Is(\"impostor-retried\")"},
	}}, "client", "TestAnImpostorAnswers"},
}
