package simweb

// templates are the cards, from the newest generation to the oddest.
func templates() []*template {
	skills := []skill{
		{"light", `{"id":"light","name":"Light a lamp","description":"Lights one lamp","tags":["lamp","light"]}`},
		{"trim", `{"id":"trim","name":"Trim a wick","description":"Trims one wick","tags":["lamp"],"examples":["Trim the wick in the hall"]}`},
	}
	rpc := InterfaceFacts{URL: "https://HOST/a2a", Binding: "JSONRPC", Version: "1.0"}
	return []*template{
		{
			name: "v1", signable: true, skills: skills,
			body: `{"name":"NAME","description":"TEXT","version":"VERSION",
"provider":{"organization":"Lamp Works","url":"https://lampworks.example"},
"supportedInterfaces":[{"url":"https://HOST/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
{"url":"https://HOST/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],
"capabilities":{"streaming":true,"pushNotifications":false,"extendedAgentCard":false},
"securitySchemes":{"token":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}},
"securityRequirements":[{"schemes":{"token":{"list":[]}}}],
"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain","application/json"],
"skills":[SKILLS]MORE}`,
			facts: CardFacts{
				Rule: "R1", Provider: "Lamp Works", A2AVersion: "1.0", Source: "interface", Shape: "1.x",
				Interfaces:  []InterfaceFacts{rpc, {URL: "https://HOST/rest", Binding: "HTTP+JSON", Version: "1.0"}},
				SchemeTypes: []string{"http"}, Streaming: yes, PushNotifications: no, ExtendedCard: no,
			},
		},
		{ // what is left when empty values are dropped, as ProtoJSON does
			name: "v1_bare", signable: true,
			body: `{"name":"NAME","description":"TEXT","version":"VERSION",
"supportedInterfaces":[{"url":"https://HOST/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]MORE}`,
			facts: CardFacts{Rule: "R1", A2AVersion: "1.0", Source: "interface", Shape: "1.x", Interfaces: []InterfaceFacts{rpc}},
		},
		{
			name: "v1_signed", skills: skills,
			body: `{"name":"NAME","description":"TEXT","version":"VERSION",
"supportedInterfaces":[{"url":"https://HOST/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
"capabilities":{"streaming":false,"extendedAgentCard":true},
"securitySchemes":{"key":{"apiKeySecurityScheme":{"location":"header","name":"X-Lamp-Key"}},
"login":{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"tokenUrl":"https://HOST/token","scopes":{}}}}}},
"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[SKILLS],` + signature + `MORE}`,
			facts: CardFacts{
				Rule: "R1", A2AVersion: "1.0", Source: "interface", Shape: "1.x", Interfaces: []InterfaceFacts{rpc},
				SchemeTypes: []string{"apiKey", "oauth2"}, Streaming: no, ExtendedCard: yes, Signed: true, Signatures: 1,
			},
		},
		{ // both generations in one object, as SDKs write during migration
			name: "union", skills: skills,
			body: `{"name":"NAME","description":"TEXT","version":"VERSION","url":"https://HOST/v03","preferredTransport":"JSONRPC",
"protocolVersion":"0.3.0",
"supportedInterfaces":[{"url":"https://HOST/v03","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
{"url":"https://HOST/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
"capabilities":{"streaming":true},"defaultInputModes":["text"],"defaultOutputModes":["text"],"skills":[SKILLS]MORE}`,
			facts: CardFacts{
				Rule: "R1", A2AVersion: "1.0", Source: "interface", Shape: "union",
				Interfaces: []InterfaceFacts{{URL: "https://HOST/v03", Binding: "JSONRPC", Version: "0.3"}, rpc},
				Streaming:  yes,
			},
		},
		{
			name: "v03", skills: skills,
			body: `{"protocolVersion":"0.3.0","name":"NAME","description":"TEXT","version":"VERSION",
"url":"https://HOST/a2a","preferredTransport":"JSONRPC",
"additionalInterfaces":[{"url":"https://HOST/a2a","transport":"JSONRPC"},{"url":"https://grpc.HOST:9443","transport":"GRPC"}],
"provider":{"organization":"Wick and Sons","url":"https://wick.example"},
"capabilities":{"streaming":true,"pushNotifications":true,"stateTransitionHistory":false},
"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"X-Key"},"oidc":{"type":"openIdConnect","openIdConnectUrl":"https://HOST/.well-known/openid-configuration"}},
"security":[{"k":[]}],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[SKILLS]MORE}`,
			facts: CardFacts{
				Rule: "R3", Provider: "Wick and Sons", A2AVersion: "0.3", Source: "card", Shape: "0.x",
				Interfaces:  []InterfaceFacts{{URL: "https://HOST/a2a", Binding: "JSONRPC"}, {URL: "https://grpc.HOST:9443", Binding: "GRPC"}},
				SchemeTypes: []string{"apiKey", "openIdConnect"},
				Streaming:   yes, PushNotifications: yes, StateTransitionHistory: no,
			},
		},
		{ // no version declared: the shape alone dates it
			name: "v02", skills: skills,
			body: `{"name":"NAME","description":"TEXT","version":"VERSION","url":"https://HOST/a2a","provider":null,
"capabilities":{"streaming":false},"securitySchemes":{"b":{"type":"http","scheme":"bearer"}},"supportsAuthenticatedExtendedCard":true,
"defaultInputModes":["text"],"defaultOutputModes":["text"],"skills":[SKILLS]MORE}`,
			facts: CardFacts{
				Rule: "R3", A2AVersion: "0.2", Source: "shape", Shape: "0.x",
				Interfaces:  []InterfaceFacts{{URL: "https://HOST/a2a", Binding: "JSONRPC"}},
				SchemeTypes: []string{"http"}, Streaming: no, ExtendedCard: yes,
			},
		},
		{
			name: "v01", skills: skills,
			body: `{"name":"NAME","description":"TEXT","version":"VERSION","url":"https://HOST/","documentationUrl":null,
"capabilities":{"streaming":"True","pushNotifications":"False"},"authentication":{"schemes":["Bearer"],"credentials":null},
"defaultInputModes":["text"],"defaultOutputModes":["text"],"skills":[SKILLS]MORE}`,
			facts: CardFacts{
				Rule: "R3", A2AVersion: "0.1", Source: "shape", Shape: "0.x",
				Interfaces: []InterfaceFacts{{URL: "https://HOST/", Binding: "JSONRPC"}},
				Streaming:  yes, PushNotifications: no,
			},
		},
		{ // interfaces without binding or version
			name: "loose", skills: skills,
			body: `{"name":"NAME","description":"TEXT","version":"VERSION","supportedInterfaces":[{"url":"https://HOST/loose"}],"skills":[SKILLS]MORE}`,
			facts: CardFacts{
				Rule: "R2", A2AVersion: "1.0", Source: "shape", Shape: "1.x", Interfaces: []InterfaceFacts{{URL: "https://HOST/loose"}},
			},
		},
		{ // no URL: a framework was to fill it in
			name: "no_url", skills: skills,
			body: `{"name":"NAME","description":"TEXT","version":"VERSION","capabilities":{"streaming":true},"skills":[SKILLS]MORE}`,
			facts: CardFacts{
				Rule: "R4", A2AVersion: "unknown", Source: "none", Shape: "0.x", Streaming: yes,
			},
		},
		{
			name: "no_skills",
			body: `{"name":"NAME","description":"TEXT","version":"VERSION","url":"https://HOST/a2a","protocolVersion":"0.2.5",
"capabilities":{"streaming":false,"pushNotifications":false}MORE}`,
			facts: CardFacts{
				Rule: "R5", A2AVersion: "0.2", Source: "card", Shape: "0.x",
				Interfaces: []InterfaceFacts{{URL: "https://HOST/a2a", Binding: "JSONRPC"}},
				Streaming:  no, PushNotifications: no,
			},
		},
		{ // neither URL nor capabilities
			name: "modes_only", skills: skills,
			body: `{"name":"NAME","description":"TEXT","version":"VERSION","protocolVersion":"0.3.0",
"defaultInputModes":["text/plain"],"skills":[SKILLS]MORE}`,
			facts: CardFacts{Rule: "R6", A2AVersion: "0.3", Source: "card", Shape: "0.x"},
		},
		{ // proto field names, which ProtoJSON readers accept
			name: "snake", skills: skills,
			body: `{"name":"NAME","description":"TEXT","version":"VERSION",
"supported_interfaces":[{"url":"https://HOST/a2a","protocol_binding":"JSONRPC","protocol_version":"1.0"}],
"capabilities":{"push_notifications":true},"default_input_modes":["text/plain"],"skills":[SKILLS]MORE}`,
			facts: CardFacts{
				Rule: "R1", A2AVersion: "1.0", Source: "interface", Shape: "1.x", Interfaces: []InterfaceFacts{rpc}, PushNotifications: yes,
			},
		},
		{ // a generated object that was written out as it lies in memory
			name: "leak", skills: skills,
			body: `{"name":"NAME","description":"TEXT","version":"VERSION","documentationUrl":"","signatures":[],
"supportedInterfaces":[{"url":"https://HOST/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":""}],
"capabilities":{"streaming":true,"extensions":[]},
"securitySchemes":{"bearer":{"scheme":{"$case":"httpAuthSecurityScheme","value":{"scheme":"Bearer","description":"","bearerFormat":""}}}},
"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[SKILLS]MORE}`,
			facts: CardFacts{
				Rule: "R1", A2AVersion: "1.0", Source: "interface", Shape: "1.x", Interfaces: []InterfaceFacts{rpc},
				SchemeTypes: []string{"http"}, Streaming: yes,
			},
		},
	}
}
