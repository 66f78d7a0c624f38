/** Records what clients receive, connection by connection. */
import type { ClientRequest, ClientWorld, ReceivedBody, ReceivedResponse } from '../client-world.ts'

/** Returns a world with the same clients, and the lines of what they receive. */
export function recorded(world: ClientWorld): { readonly world: ClientWorld; lines(): string[] } {
  const connections: string[][] = []
  const request = async (address: string, init: ClientRequest, leave?: AbortSignal): Promise<ReceivedResponse> => {
    const { pathname } = new URL(address)
    const lines = [`${init.method} ${pathname} ${init.body ?? ''}`]
    connections.push(lines)
    const { status, headers, body } = await world.request(address, init, leave)
    const type = headers.get('content-type')
    lines.push(`${status} ${type}`)
    return { status, headers, body: new RecordedBody(body, lines, type?.startsWith('text/event-stream') ?? false) }
  }
  const lines = () => connections.flatMap((lines, index) => lines.map((line) => `${index + 1}: ${withoutRandom(line)}`))
  const get = (_: ClientWorld, key: keyof ClientWorld) => {
    const value = key === 'request' ? request : world[key]
    return typeof value === 'function' ? value.bind(world) : value
  }
  return { world: new Proxy(world, { get: get as ProxyHandler<ClientWorld>['get'] & {} }), lines }
}

class RecordedBody implements ReceivedBody {
  readonly #body: ReceivedBody
  readonly #lines: string[]
  readonly #isStream: boolean

  constructor(body: ReceivedBody, lines: string[], isStream: boolean) {
    this.#body = body
    this.#lines = lines
    this.#isStream = isStream
  }

  get hasEnded(): boolean {
    return this.#body.hasEnded
  }

  async *chunks(): AsyncGenerator<string> {
    let rest = ''
    try {
      for await (const chunk of this.#body.chunks()) {
        rest += chunk
        if (this.#isStream) {
          const frames = rest.split('\n\n')
          rest = String(frames.pop())
          this.#lines.push(...frames.filter((frame) => !frame.startsWith(':')))
        }
        yield chunk
      }
      this.#lines.push(`end ${rest}`)
    } catch (problem) {
      this.#lines.push('lost')
      throw problem
    }
  }

  async text(): Promise<string> {
    let text = ''
    for await (const chunk of this.chunks()) text += chunk
    return text
  }
}

/** Replaces what each run has of its own: ids, sealed values and times. */
const withoutRandom = (line: string): string =>
  line
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>')
    .replaceAll(/"(taskId|requestState|basket|subscriptionId)":"[^"]+"/g, '"$1":"<$1>"')
    .replaceAll(/session=[^"\s]+/g, 'session=<session>')
    .replaceAll(/"text":"[\w-]{39}"/g, '"text":"<handle>"')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll('\n', '\\n')
