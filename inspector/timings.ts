/** Shows the timings of a request: network, Worker, Durable Objects and handlers. In development only. */
import { fill, make } from './element.ts'
import { fetchInternals } from './internals.ts'
import type { Exchange } from './traffic.ts'

type Timing = {
  number: number
  kind: 'request' | 'object' | 'handler'
  what: string
  began: number
  milliseconds?: number
  hasFailed?: true
}

const words = { request: 'in the Worker', object: 'Durable Object', handler: 'handler' }

/** @param address the URL of the timings. `undefined`: the server has none */
export function timingsOf({ began, answered, responseHeaders }: Exchange, address: string | undefined): HTMLElement {
  const element = make('div')
  const number = /\brequest;desc="(\d+)"/.exec(responseHeaders?.get('Server-Timing') ?? '')?.[1]
  if (!address || !number || answered === undefined) return element
  const whole = Math.round(answered - began)
  void fetchInternals<Timing[]>(`${address.split('?')[0]}?inside=hops&request=${number}`).then(
    (hops) => fill(element, table(whole, hops)),
    (problem) => fill(element, make('p', { class: 'bad' }, (problem as Error).message)),
  )
  return element
}

function table(whole: number, hops: readonly Timing[]): HTMLElement {
  const start = hops[0]?.began ?? 0
  const rows = hops.map(({ kind, what, began, milliseconds, hasFailed }) =>
    row(
      `${words[kind]}${kind === 'request' ? '' : `: ${what}`}`,
      milliseconds === undefined ? 'not finished' : `${milliseconds} ms${hasFailed ? ', failed' : ''}`,
      `after ${began - start} ms`,
    ),
  )
  const columns = ['where', 'took', 'began'].map((name) => make('th', { scope: 'col' }, name))
  return make(
    'table',
    { class: 'hops' },
    make('caption', {}, make('b', {}, 'Where the time was spent')),
    make('thead', {}, make('tr', {}, columns)),
    make('tbody', {}, row('browser, until the response headers', `${whole} ms`, ''), rows),
  )
}

const row = (...cells: readonly string[]) =>
  make(
    'tr',
    {},
    cells.map((cell) => make('td', {}, cell)),
  )
