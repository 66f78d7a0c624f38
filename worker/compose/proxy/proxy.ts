import { discover } from '../engine/methods/discover.ts'
import type { Asked, Method } from '../engine/methods/method.ts'
import { callTool, listTools } from '../engine/methods/tools.ts'
import { McpError } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { Principal } from '../protocol/principal.ts'
import type { InputRequest, Params, Result, ToolItem } from '../protocol/types.ts'
import type { Context } from '../server/context.ts'
import type { Module } from '../server/server.ts'
import { Remote, type RemoteCall } from './remote.ts'

export type ProxyOptions = {
  /** Goes before the names of its tools. Default: nothing; what this server declares comes first. */
  prefix?: string
  /** Sent with each request: credentials of this server, or of whoever calls. A caller's own token is not passed on. */
  headers?: (principal: Principal | undefined) => Readonly<Record<string, string>>
  /** Milliseconds that it may take. Default 60,000. */
  timeout?: number
}

/** Pages of a list that are read. */
const mostPages = 20

/**
 * The tools of a server elsewhere, as a part of this one: listed with its own, and called there. What it asks, whoever calls is
 * asked, as far as it speaks 2026-07-28; one that has sessions only is told that nobody can be asked.
 *
 * @param url its endpoint
 * @example
 * server.use(proxy('https://weather.example/mcp', { prefix: 'weather_' }))
 */
export function proxy(url: string, { prefix = '', headers = () => ({}), timeout = 60_000 }: ProxyOptions = {}): Module {
  const remote = new Remote(url)
  return ({ registry }) => {
    const [list, call] = [
      registry.methods.get('tools/list') ?? listTools,
      registry.methods.get('tools/call') ?? callTool,
    ]
    const methods: Record<string, Method> = {
      'tools/list': { ...(list as Method), offered: () => true, answer: (asked) => listed(asked, list as Method) },
      'tools/call': {
        ...(call as Method),
        offered: () => true,
        answer: (asked) => called(asked, call as Method).catch((thrown) => told(asked, thrown)),
      },
    }
    for (const [name, method] of Object.entries(methods)) registry.methods.set(name, method)
    // It has tools, whether it declares any itself or not.
    const { capabilities } = registry
    const own = () => (registry.tools.size > 0 ? {} : { tools: {} })
    registry.capabilities = async (...asked) => ({ ...own(), ...(await capabilities?.(...asked)) })
    registry.methods.set('server/discover', {
      ...discover,
      async answer(asked) {
        const result = await discover.answer(asked)
        return { ...result, capabilities: { ...own(), ...(result.capabilities as Params) } }
      },
    } satisfies Method)
  }

  async function listed(asked: Asked, own: Method): Promise<Result> {
    const first = own.offered(asked.server.registry, asked.world) ? await own.answer(asked) : { tools: [] as Params[] }
    if (first.nextCursor !== undefined) return first
    const tools = await everyTool(asked).catch((problem) => {
      if (!(problem instanceof McpError && problem.kind === 'unavailable')) throw problem
      // What others have is not missed for it.
      asked.world.report(problem)
      return []
    })
    const names = new Set((first.tools as ToolItem[]).map(({ name }) => name))
    const others = tools.filter(({ name }) => !names.has(name))
    return { ...first, tools: [...(first.tools as ToolItem[]), ...others], ttlMs: 0, cacheScope: 'private' }
  }

  async function everyTool(asked: Asked): Promise<ToolItem[]> {
    const tools: ToolItem[] = []
    let cursor: unknown
    for (let page = 0; page < mostPages && (page === 0 || cursor !== undefined); page += 1) {
      const result = await remote.request(callOf(asked, 'tools/list', cursor === undefined ? {} : { cursor }))
      tools.push(...(result.tools as ToolItem[]).map((tool) => ({ ...tool, name: prefix + tool.name })))
      cursor = result.nextCursor
    }
    return tools
  }

  async function called(asked: Asked, own: Method): Promise<Result> {
    const { name } = asked.call.params
    if (typeof name !== 'string' || !name.startsWith(prefix) || asked.server.registry.tools.has(name))
      return own.answer(asked)
    const { inputResponses: _i, requestState: _r, task: _t, _meta, ...params } = asked.call.params
    const there = { ...params, name: name.slice(prefix.length) }
    let result = await once(asked.context, 1, callOf(asked, 'tools/call', there))
    for (let round = 1; result.resultType === 'input_required'; round += 1) {
      const answers = answersTo(asked.context, round, result.inputRequests as Record<string, InputRequest>)
      if (!answers) return asked.context.ask(keyed(round, result.inputRequests as Record<string, InputRequest>))
      const more = { inputResponses: answers, requestState: result.requestState }
      result = await once(asked.context, round + 1, callOf(asked, 'tools/call', { ...there, ...more }))
    }
    return result
  }

  /** Each round of the call there is made once, however often the call here goes on. */
  function once(context: Context, round: number, call: RemoteCall): Promise<Result> {
    return context.once(`\0remote ${round}`, () => remote.request(call))
  }

  function callOf({ call, context }: Asked, method: string, params: Params): RemoteCall {
    const { roots, sampling, elicitation } = call.capabilities
    const { traceparent, tracestate, baggage } = isObject(call.params._meta) ? call.params._meta : {}
    return {
      method,
      params: { ...params, _meta: { traceparent, tracestate, baggage } },
      capabilities: { roots, sampling, elicitation } as RemoteCall['capabilities'],
      headers: headers(call.principal),
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(timeout)]),
    }
  }
}

/** In a session the model is told what its client cannot do, as it is by tools that are declared here. */
function told({ call }: Asked, thrown: unknown): Result {
  const isTold = thrown instanceof McpError && thrown.kind === 'missing_client_capability' && !call.revision.stateless
  if (!isTold) throw thrown
  return { content: [{ type: 'text', text: thrown.message }], isError: true }
}

/** The same questions under keys that no other round has. */
const keyed = (round: number, requests: Readonly<Record<string, InputRequest>>) =>
  Object.fromEntries(Object.entries(requests).map(([key, request]) => [`${round} ${key}`, request]))

/** What was answered to them; `undefined` when nothing has been asked yet. */
function answersTo(
  context: Context,
  round: number,
  requests: Readonly<Record<string, InputRequest>>,
): Params | undefined {
  const answers = Object.keys(requests).map((key) => [key, context.input(`${round} ${key}`)] as const)
  return answers.some(([, answer]) => answer === undefined) ? undefined : Object.fromEntries(answers)
}
