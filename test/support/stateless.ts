/** The headers of every request of a 2026-07-28 client. @param name the value of Mcp-Name, if the method needs one */
export const statelessHeaders = (method: string, name?: string): Record<string, string> => ({
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': method,
  ...(name !== undefined && { 'Mcp-Name': name }),
})
