/** What went over the wire, as a text that is the same each time. */
import type { Message } from '../protocol/jsonrpc.ts'

export type TranscriptOptions = {
  /** What else differs from run to run: whatever matches gets the name and a number, `<order 1>`. */
  names?: Readonly<Record<string, RegExp>>
}

export interface Transcript {
  /** Give this to `connect`. */
  readonly onMessage: (direction: 'sent' | 'received', message: Message) => void
  /** Every message so far, in order: `→` was sent, `←` received. Ids, times and sealed texts have stable names. */
  toString(): string
  /** For `assert.deepEqual` and `toEqual`: the same, one text a message. */
  readonly messages: readonly string[]
}

/** Tokens and sealed texts come before what parts of them may look like. */
const usual: Readonly<Record<string, RegExp>> = {
  token: /\beyJ[\w-]+\.[\w-]+\.[\w-]*/,
  sealed: /(?<![\w.-])[\w-]{1,64}\.[\w-]{50,}(?![\w-])/,
  uuid: /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/i,
  time: /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/,
}

/**
 * Records what clients say and hear.
 *
 * @example
 * const wire = transcript()
 * await using client = await connect(server, { revision, onMessage: wire.onMessage })
 * expect(`${wire}`).toMatchSnapshot()
 */
export function transcript({ names = {} }: TranscriptOptions = {}): Transcript {
  const messages: string[] = []
  const seen = new Map<string, Map<string, string>>()

  function normalised(text: string): string {
    return Object.entries({ ...names, ...usual }).reduce(
      (rest, [name, pattern]) =>
        rest.replaceAll(new RegExp(pattern, `g${pattern.flags.replace('g', '')}`), (found) => named(name, found)),
      text,
    )
  }

  function named(name: string, found: string): string {
    const ofName = seen.get(name) ?? new Map<string, string>()
    seen.set(name, ofName)
    const stable = ofName.get(found) ?? `<${name} ${ofName.size + 1}>`
    ofName.set(found, stable)
    return stable
  }

  return {
    onMessage(direction, message) {
      const stable = JSON.parse(JSON.stringify(message), (_, value) =>
        typeof value === 'string' ? normalised(value) : value,
      )
      messages.push(`${direction === 'sent' ? '→' : '←'} ${written(stable)}`)
    },
    messages,
    toString: () => messages.map((text) => `${text}\n`).join(''),
  }
}

const width = 110

/** Its id and method, or its id and what it is; and what it carries. */
function written(message: Message): string {
  const { id } = message
  const kind = 'method' in message ? message.method : 'result' in message ? 'result' : 'error'
  const body = 'result' in message ? message.result : 'error' in message ? message.error : message.params
  const head = [id ?? [], kind].flat().join(' ')
  return Object.keys(body ?? {}).length > 0 ? `${head} ${laidOut(body, '', head.length + 3)}` : head
}

/** JSON, with a line for whatever fits into one. */
function laidOut(value: unknown, indent: string, used = indent.length): string {
  const line = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || used + line.length <= width) return line
  const deeper = `${indent}  `
  const entries = Array.isArray(value)
    ? value.map((each) => `${deeper}${laidOut(each, deeper)}`)
    : Object.entries(value).map(([key, each]) => {
        const name = `${deeper}${JSON.stringify(key)}: `
        return `${name}${laidOut(each, deeper, name.length)}`
      })
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${entries.join(',\n')}\n${indent}${close}`
}
