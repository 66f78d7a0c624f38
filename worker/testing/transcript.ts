/** Records the messages between client and server as a text that is the same in each run. */
import type { Message } from '../protocol/jsonrpc.ts'

/** Configures `transcript()`. */
export type TranscriptOptions = {
  /**
   * Patterns of texts that vary from run to run, by name. Each match becomes the name and a number: `<order 1>`. Default: none besides
   * UUIDs, times, tokens and sealed values.
   */
  names?: Readonly<Record<string, RegExp>>
}

/** Records messages. `transcript()` returns it. */
export interface Transcript {
  /** Pass it to `connect()` as `onMessage`. */
  readonly onMessage: (direction: 'sent' | 'received', message: Message) => void
  /** Returns all messages so far, one after another: `→` marks sent messages, `←` received ones. */
  toString(): string
  /** All messages so far, one text each. */
  readonly messages: readonly string[]
}

/** Tokens and sealed texts come before patterns that match a part of them. */
const usual: Readonly<Record<string, RegExp>> = {
  token: /\beyJ[\w-]+\.[\w-]+\.[\w-]*/,
  sealed: /(?<![\w.-])[\w-]{1,64}\.[\w-]{50,}(?![\w-])/,
  uuid: /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/i,
  time: /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/,
}

/**
 * Creates a recorder of the messages between clients and servers. UUIDs, times, tokens and sealed values get stable names.
 *
 * @example
 * const wire = transcript()
 * await using client = await connect(server, { revision: '2025-11-25', onMessage: wire.onMessage })
 * expect(`${wire}`).toMatchSnapshot()
 */
export function transcript({ names = {} }: TranscriptOptions = {}): Transcript {
  const messages: string[] = []
  const seen = new Map<string, Map<string, string>>()

  function normalized(text: string): string {
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
        typeof value === 'string' ? normalized(value) : value,
      )
      messages.push(`${direction === 'sent' ? '→' : '←'} ${written(stable)}`)
    },
    messages,
    toString: () => messages.map((text) => `${text}\n`).join(''),
  }
}

const width = 110

/** Formats a message: its id, its method or kind, and its content. */
function written(message: Message): string {
  const { id } = message
  const kind = 'method' in message ? message.method : 'result' in message ? 'result' : 'error'
  const body = 'result' in message ? message.result : 'error' in message ? message.error : message.params
  const head = [id ?? [], kind].flat().join(' ')
  return Object.keys(body ?? {}).length > 0 ? `${head} ${laidOut(body, '', head.length + 3)}` : head
}

/** Formats JSON, on one line if it fits. */
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
