/** The requests to the servers that are compared, and the responses that all of them must give. */
import { deepStrictEqual } from 'node:assert/strict'
import {
  bought,
  convert,
  converted,
  countedOf,
  defaultSizes,
  greetersOf,
  type Offer,
  readme,
  type Sizes,
} from '../servers/offer.ts'
import { serverInfo, tools } from '../servers/wire.ts'
import type { Answer, Client } from './client.ts'

export type Scenario = {
  readonly key: string
  readonly name: string
  /** The tools that the servers must have. */
  readonly offer: Offer
  /** `stateless`: without a session if a server supports that; `session`: with sessions only. */
  readonly lane: 'stateless' | 'session'
  /** The number of open sessions, if the server has sessions. */
  readonly sessions: number
  /** Default: `defaultSizes`. */
  readonly sizes?: Partial<Sizes>
  /** Milliseconds for which the client stops reading after each part of a body. Default: 0. */
  readonly readPauseMs?: number
  /** Operations of a round, all at once, where one takes seconds. Default: five turns of about 100 ms, 16 operations at a time. */
  readonly operations?: number | undefined
  /** Servers that mostly wait take their turns together, and the operations of a turn start within one second. */
  readonly isIdle?: boolean
  /** @throws Error for a wrong response */
  run(client: Client, number: number): Promise<void>
}

/**
 * @param only keys. Default: all
 * @throws Error for a key that does not exist
 */
export function choose<T extends { readonly key: string }>(all: readonly T[], only?: readonly string[]): readonly T[] {
  const unknown = only?.find((key) => !all.some((one) => one.key === key))
  if (unknown !== undefined) throw new Error(`There is no "${unknown}", but ${all.map(({ key }) => key).join(', ')}`)
  return all.filter(({ key }) => only?.includes(key) ?? true)
}

const plain = { offer: 'plain', lane: 'stateless', sessions: 1 } as const

/** Differs for each operation, so that a response cannot belong to another request. */
const textOf = (number: number) => `message ${number}`

export async function echo(
  client: Client,
  number: number,
  session?: number | Record<string, string>,
  padding = '',
): Promise<void> {
  const text = `${textOf(number)}${padding}`
  says(client, await client.call('tools/call', { name: 'echo', arguments: { text } }, session), text)
}

/** @param count the number of tools in total */
export function list(count: number): Scenario['run'] {
  const greeters = greetersOf(count).map((greeter) => ({ ...tools.greet, ...greeter }))
  const expected = [...Object.values(tools), ...greeters].map(essenceOfTool)
  return async (client) => {
    const { result } = await client.call('tools/list', {})
    isComplete(client, result)
    deepStrictEqual((result.tools as (typeof tools.echo)[]).map(essenceOfTool), expected)
  }
}

const structured: Scenario['run'] = async (client, number) => {
  const given = { readings: [20 + (number % 7), 12, 15.5].map((celsius, at) => ({ place: `place ${at}`, celsius })) }
  const { result } = await client.call('tools/call', { name: convert.name, arguments: given })
  isComplete(client, result)
  const expected = converted(given)
  deepStrictEqual(result.structuredContent, expected)
  const [{ text } = { text: '' }] = result.content as { text: string }[]
  deepStrictEqual(JSON.parse(text), expected)
}

/** Counts, and checks each progress notification. */
export async function counting(
  client: Client,
  number: number,
  session?: number,
  sizes: Partial<Sizes> = {},
): Promise<void> {
  const { steps, resultCharacters } = { ...defaultSizes, ...sizes }
  const progressToken = `token ${number}`
  const params = { name: 'count', arguments: {}, _meta: { progressToken } }
  const answer = await client.call('tools/call', params, session)
  says(client, answer, countedOf(resultCharacters))
  deepStrictEqual(
    answer.heard.map(({ method, params }) => [method, params?.progressToken, params?.progress]),
    Array.from({ length: steps }, (_, step) => ['notifications/progress', progressToken, step + 1]),
  )
}

const buying = (number: number) => ({ name: 'buy', arguments: { item: `thing ${number}` } })

export const scenarios: readonly Scenario[] = [
  {
    ...plain,
    key: 'discover',
    name: 'the first request: `server/discover`, or `initialize`',
    async run(client) {
      const isEnveloped = client.way.kind === 'enveloped'
      const { result } = isEnveloped ? await client.call('server/discover', {}) : await client.initialize()
      isComplete(client, result)
      const { capabilities, serverInfo: told, _meta } = result as Record<string, Record<string, unknown> | undefined>
      deepStrictEqual(Object.keys(capabilities ?? {}).includes('tools'), true)
      const info = (told ?? _meta?.['io.modelcontextprotocol/serverInfo']) as typeof serverInfo | undefined
      deepStrictEqual(info?.name, serverInfo.name)
    },
  },
  { ...plain, key: 'list3', name: '`tools/list`, 3 tools', run: list(3) },
  { ...plain, key: 'list50', name: '`tools/list`, 50 tools', offer: 'many', run: list(50) },
  { ...plain, key: 'echo', name: '`tools/call`: echo', run: (client, number) => echo(client, number) },
  { ...plain, key: 'zod', name: 'structured output, zod', offer: 'zod', run: structured },
  { ...plain, key: 'valibot', name: 'structured output, valibot', offer: 'valibot', run: structured },
  { ...plain, key: 'json', name: 'structured output, JSON Schema', offer: 'json', run: structured },
  {
    ...plain,
    key: 'read',
    name: '`resources/read`',
    async run(client) {
      const { result } = await client.call('resources/read', { uri: readme.uri })
      isComplete(client, result)
      const contents = (result.contents as (typeof readme)[]).map(({ uri, mimeType, text }) => ({
        uri,
        mimeType,
        text,
      }))
      deepStrictEqual(contents, [{ uri: readme.uri, mimeType: readme.mimeType, text: readme.text }])
    },
  },
  {
    ...plain,
    key: 'progress',
    name: 'progress over SSE, 5 events',
    offer: 'talking',
    run: (client, number) => counting(client, number),
  },
  {
    ...plain,
    key: 'ask',
    name: 'a question and its answer, stateless',
    offer: 'talking',
    async run(client, number) {
      const params = buying(number)
      const { result: asked } = await client.call('tools/call', params)
      deepStrictEqual(asked.resultType, 'input_required')
      const answer = { action: 'accept', content: { sure: true } }
      const inputResponses = Object.fromEntries(Object.keys(asked.inputRequests as object).map((key) => [key, answer]))
      const { requestState } = asked
      const again = { ...params, inputResponses, ...(requestState !== undefined && { requestState }) }
      says(client, await client.call('tools/call', again), bought(params.arguments.item, true))
    },
  },
  {
    ...plain,
    key: 'sessions',
    name: 'echo, 200 sessions in turn',
    lane: 'session',
    sessions: 200,
    run: (client, number) => echo(client, number, number),
  },
  {
    ...plain,
    key: 'progressSession',
    name: 'progress over SSE, 5 events, 200 sessions in turn',
    offer: 'talking',
    lane: 'session',
    sessions: 200,
    run: (client, number) => counting(client, number, number),
  },
  {
    ...plain,
    key: 'create',
    name: 'a new session and its first call',
    lane: 'session',
    async run(client, number) {
      await echo(client, number, await client.openSession())
    },
  },
  {
    ...plain,
    key: 'askSession',
    name: 'a question and its answer, 200 sessions in turn',
    offer: 'talking',
    lane: 'session',
    sessions: 200,
    async run(client, number) {
      const params = buying(number)
      const answer = await client.call('tools/call', params, number)
      says(client, answer, bought(params.arguments.item, true))
      deepStrictEqual(
        answer.heard.map(({ method }) => method),
        ['elicitation/create'],
      )
    },
  },
]

function says(client: Client, { result }: Answer, text: string): void {
  isComplete(client, result)
  deepStrictEqual(
    { content: result.content, isError: result.isError ?? false },
    {
      content: [{ type: 'text', text }],
      isError: false,
    },
  )
}

function isComplete({ way }: Client, { resultType }: Record<string, unknown>): void {
  deepStrictEqual(resultType, way.kind === 'enveloped' ? 'complete' : undefined)
}

/** Servers differ in the JSON Schema dialect that they name, and in whether they state `additionalProperties`. */
function essenceOfTool({ name, description, inputSchema }: (typeof tools)[keyof typeof tools]) {
  const { $schema: _, additionalProperties: __, ...schema } = inputSchema as Record<string, unknown>
  return { name, description, inputSchema: schema }
}
