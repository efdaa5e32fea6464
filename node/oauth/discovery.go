package oauth

// ResourceMetadata is RFC 9728: where to get a token for /mcp.
type ResourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	Scopes               []string `json:"scopes_supported"`
	Methods              []string `json:"bearer_methods_supported"`
	Name                 string   `json:"resource_name"`
}

// ServerMetadata is RFC 8414: how to get a token.
type ServerMetadata struct {
	Issuer          string   `json:"issuer"`
	Authorization   string   `json:"authorization_endpoint"`
	Token           string   `json:"token_endpoint"`
	Registration    string   `json:"registration_endpoint"`
	Revocation      string   `json:"revocation_endpoint"`
	ResponseTypes   []string `json:"response_types_supported"`
	ResponseModes   []string `json:"response_modes_supported"`
	GrantTypes      []string `json:"grant_types_supported"`
	Methods         []Method `json:"token_endpoint_auth_methods_supported"`
	RevokeMethods   []Method `json:"revocation_endpoint_auth_methods_supported"`
	Challenges      []string `json:"code_challenge_methods_supported"`
	Scopes          []string `json:"scopes_supported"`
	Documents       bool     `json:"client_id_metadata_document_supported"`
	IssuerInAnswers bool     `json:"authorization_response_iss_parameter_supported"`
}

// ResourceMetadataPath is where ResourceMetadata is found, under each origin.
const ResourceMetadataPath = "/.well-known/oauth-protected-resource" + ResourcePath

// DescribeResource describes /mcp under an origin.
func DescribeResource(origin string) ResourceMetadata {
	return ResourceMetadata{
		Resource: Resource(origin), AuthorizationServers: []string{origin}, Scopes: []string{Scope},
		Methods: []string{"header"}, Name: "AgentLink",
	}
}

// DescribeServer describes the authorization server under an origin.
func DescribeServer(origin string) ServerMetadata {
	methods := []Method{MethodNone, MethodPost, MethodBasic}
	return ServerMetadata{
		Issuer: origin, Authorization: origin + AuthorizePath, Token: origin + TokenPath, Registration: origin + RegisterPath, Revocation: origin + RevokePath,
		ResponseTypes: []string{"code"}, ResponseModes: []string{"query"}, GrantTypes: append([]string{"client_credentials"}, Grants...),
		Methods: methods, RevokeMethods: methods, Challenges: []string{"S256"}, Scopes: []string{Scope},
		Documents: true, IssuerInAnswers: true,
	}
}
