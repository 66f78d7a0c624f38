/** What a client of 2026-07-28 sends with every request. @param name of what it is about, where it is about something */
export const statelessHeaders = (method: string, name?: string): Record<string, string> => ({
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': method,
  ...(name !== undefined && { 'Mcp-Name': name }),
})
