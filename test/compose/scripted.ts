/** An upstream in this process whose answers a test writes, for `nodeProxy`. */

type Json = Record<string, unknown>

export type ScriptedRequest = {
  readonly method: string | undefined
  readonly params: Json
  readonly id: unknown
  readonly http: string
  readonly headers: Headers
  readonly signal: AbortSignal | null
}

/** A result as an object, or a whole response. `undefined`: method not found. */
type Answer = Json | Response | undefined | Promise<Json | Response | undefined>
export type Answers = Readonly<Record<string, Json | ((request: ScriptedRequest) => Answer)>>

export const described = (capabilities: Json = { tools: {}, prompts: {}, resources: {}, completions: {} }): Json => ({
  supportedVersions: ['2026-07-28'],
  capabilities,
})

export const rpcError = (id: unknown, code: number, message: string, status = 200): Response =>
  Response.json({ jsonrpc: '2.0', id, error: { code, message } }, { status })

/** @param answers by method, those of notifications and HTTP methods included; it speaks 2026-07-28 unless they say otherwise */
export function scripted(answers: Answers) {
  const requests: ScriptedRequest[] = []
  const fetch = async (_: string, init: RequestInit): Promise<Response> => {
    const { id, method, params = {} } = init.body ? JSON.parse(String(init.body)) : {}
    const http = init.method ?? 'GET'
    const signal = init.signal ?? null
    const request = { id, method, params, http, headers: new Headers(init.headers), signal }
    requests.push(request)
    const all: Answers = { 'server/discover': described(), DELETE: () => new Response(null), ...answers }
    const answer = all[method ?? http]
    const value = typeof answer === 'function' ? await answer(request) : answer
    if (value instanceof Response) return value
    if (method?.startsWith('notifications/')) return new Response(null, { status: 202 })
    return value ? Response.json({ jsonrpc: '2.0', id, result: value }) : rpcError(id, -32601, 'Method not found')
  }
  const asked = (method: string) => requests.filter((request) => request.method === method)
  return { fetch, requests, asked }
}
