"""The verbs as tools for an MCP client: what each takes and gives, how a refusal is told, and the server on stdio."""
