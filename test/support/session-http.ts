/** Sends HTTP requests of sessions of 2025-03-26 to 2025-11-25, for tests of how a POST is answered. */

const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

/** @param session the `Mcp-Session-Id`; `initialize` needs none */
export const postMessage = (url: URL, message: object, session?: string, token?: string): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: {
      ...headers,
      ...(session !== undefined && { 'Mcp-Session-Id': session }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })

/** Sends `initialize`, as a client without capabilities. */
export async function initializeSession<Result = object>(
  url: URL,
  revision: string,
): Promise<{ session: string; result: Result }> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const response = await postMessage(url, { id: 0, method: 'initialize', params })
  const { result } = (await response.json()) as { result: Result }
  return { session: response.headers.get('Mcp-Session-Id') as string, result }
}
