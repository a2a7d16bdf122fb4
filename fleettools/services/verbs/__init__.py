"""What leads do with the fleet, one file a verb: the commands and the MCP tools are two ways to ask for the same."""
