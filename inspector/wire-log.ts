/** Shows every frame, in order. */
import { button, copyButton, fill, make } from './element.ts'
import { pretty, preview, tree } from './json.ts'
import { timingsOf } from './timings.ts'
import type { Exchange, Frame } from './traffic.ts'

/** Older frames are removed, because the page may stay open for days. */
const mostShown = 2000

export interface WireLog {
  readonly element: HTMLElement
  add(frame: Frame): void
}

/** @param insideAt the URL of the timings, if the server has them */
export function wireLog(insideAt: string | undefined): WireLog {
  let frames: Frame[] = []
  const rows = new Map<Frame, HTMLElement>()
  /** The methods of requests, by direction and id: results are shown with them. */
  const methods = new Map<unknown, string>()
  /** The last comment of each stream, and how often it was repeated. */
  const repeats = new Map<Exchange, { frame: Frame; times: number }>()
  const list = make('ol', { class: 'frames' })
  const count = make('small', {}, '0')
  const filter = make('input', {
    type: 'search',
    placeholder: 'Filter',
    'aria-label': 'Filter the wire log',
    oninput: sift,
  })
  const copy = copyButton('the wire log', () => pretty(frames.filter(isWanted).map(plain)))
  const element = make(
    'section',
    { class: 'wire', 'aria-label': 'Wire log' },
    make('div', { class: 'bar' }, make('h2', {}, 'Wire ', count), filter, copy, button('Clear', clear)),
    list,
  )
  return { element, add }

  function add(frame: Frame): void {
    const { exchange, isComment } = frame
    const repeated = repeats.get(exchange)
    if (isComment && repeated) return again(repeated)
    if (isComment) repeats.set(exchange, { frame, times: 1 })
    else repeats.delete(exchange)
    // Scrolls only when the end of the list is visible.
    const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 8
    const { id, method } = Object(frame.value) as { id?: unknown; method?: string }
    if (method && id !== undefined) methods.set(`${frame.direction} ${id}`, method)
    const row = rowOf(frame, titleIn(frame), insideAt)
    row.hidden = !isWanted(frame)
    frames.push(frame)
    rows.set(frame, row)
    list.append(row)
    if (frames.length > mostShown) {
      const oldest = frames.shift() as Frame
      rows.get(oldest)?.remove()
      rows.delete(oldest)
    }
    count.textContent = String(frames.length)
    if (isAtEnd) list.scrollTop = list.scrollHeight
  }

  function again(repeated: { frame: Frame; times: number }): void {
    repeated.times += 1
    const title = rows.get(repeated.frame)?.querySelector('b')
    if (title) title.textContent = `${titleIn(repeated.frame)} × ${repeated.times}`
  }

  function clear(): void {
    frames = []
    repeats.clear()
    rows.clear()
    methods.clear()
    fill(list)
    count.textContent = '0'
  }

  function sift(): void {
    for (const frame of frames) (rows.get(frame) as HTMLElement).hidden = !isWanted(frame)
  }

  function titleIn(frame: Frame): string {
    const { id } = Object(frame.value) as { id?: unknown }
    return titleOf(frame, methods.get(`${frame.direction === 'sent' ? 'received' : 'sent'} ${id}`))
  }

  function isWanted(frame: Frame): boolean {
    return `${rows.get(frame)?.textContent ?? titleIn(frame)} ${frame.text}`
      .toLowerCase()
      .includes(filter.value.toLowerCase())
  }
}

function rowOf(frame: Frame, title: string, insideAt: string | undefined): HTMLElement {
  const { direction, exchange, at, note } = frame
  const arrow = direction === 'sent' ? '→' : '←'
  const summary = make(
    'summary',
    {},
    make('span', { class: direction, role: 'img', 'aria-label': direction }, arrow),
    make('b', { class: isBad(frame) ? 'bad' : note ? 'note' : '' }, title),
    make('small', {}, `${(at / 1000).toFixed(3)} s`),
  )
  const details = make('details', {}, summary)
  // Created when the frame is unfolded.
  details.addEventListener('toggle', () => {
    if (details.childElementCount === 1) details.append(insideOf(frame, insideAt))
  })
  return make('li', { 'data-direction': direction, 'data-exchange': exchange.number }, details)
}

function insideOf(frame: Frame, insideAt: string | undefined): HTMLElement {
  const { text, value, exchange, event, direction } = frame
  return make(
    'div',
    { class: 'inside' },
    text !== '' &&
      make(
        'div',
        { class: 'bar' },
        copyButton('this frame', () => (value === undefined ? text : pretty(value))),
      ),
    event && make('p', { class: 'hint' }, `event ${event.name ?? 'message'}${event.id ? `, id ${event.id}` : ''}`),
    value !== undefined ? tree(value, undefined, 2) : text !== '' && make('pre', {}, text),
    httpOf(exchange, direction, insideAt),
  )
}

function httpOf(exchange: Exchange, direction: string, insideAt: string | undefined): HTMLElement {
  const where = make('div')
  const folded = make(
    'details',
    { class: 'node' },
    make('summary', {}, `HTTP: ${lineOf(exchange)}`),
    where,
    headersOf(exchange, direction),
  )
  // Requested when the exchange is unfolded.
  folded.addEventListener('toggle', () => {
    if (where.childElementCount === 0) where.append(timingsOf(exchange, insideAt))
  })
  return folded
}

/** @param answered the method of the request that a result answers */
function titleOf({ direction, value, note, exchange, event, text }: Frame, answered = ''): string {
  const http =
    direction === 'sent' ? `${exchange.method} ${exchange.path.split('?')[0]}` : String(exchange.status ?? '')
  if (note) return `${http} · ${note}`
  const [message] = [value].flat() as [Record<string, unknown> | undefined]
  if (typeof message !== 'object' || message === null) {
    return text === '' ? `${http} · event without data` : `${http} · ${event?.name ?? ''} ${preview(text)}`
  }
  const id = message.id === undefined ? '' : ` #${message.id}`
  if (message.method) return `${message.method}${id}${detailOf(message.params)}`
  if (message.error) return `${answered}${id} · error ${(message.error as { code?: unknown }).code}`
  const { resultType, status } = Object(message.result) as { resultType?: string; status?: string }
  return `${answered}${id} · ${!resultType || resultType === 'complete' ? (status ?? 'result') : resultType}`
}

/** The name, URI or task of a request. */
function detailOf(params: unknown): string {
  const { name, uri, taskId } = Object(params) as Record<string, unknown>
  const detail = name ?? uri ?? (typeof taskId === 'string' ? `${taskId.slice(0, 8)}…` : undefined)
  return typeof detail === 'string' ? ` · ${detail.slice(0, 40)}` : ''
}

const isBad = ({ value, exchange, direction, note }: Frame): boolean =>
  direction === 'received' &&
  (Number(exchange.status) >= 400 || 'error' in Object(value) || note?.startsWith('no response') === true)

const lineOf = ({ method, path, status, began, answered, ended }: Exchange): string =>
  [
    `${method} ${path.split('?')[0]}`,
    status,
    answered !== undefined && `headers after ${Math.round(answered - began)} ms`,
    ended !== undefined && `end after ${Math.round(ended - began)} ms`,
  ]
    .filter((word) => word !== undefined && word !== false)
    .join(' · ')

function headersOf({ requestHeaders, responseHeaders }: Exchange, direction: string): HTMLElement {
  const headers = direction === 'sent' ? requestHeaders : (responseHeaders ?? new Headers())
  return make(
    'pre',
    {},
    shown(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
  )
}

/** Tokens are removed, so that they do not get into screenshots and reports. */
const shown = (headers: Headers): [string, string][] =>
  [...headers].map(([name, value]) => {
    if (name === 'dpop') return [name, '…']
    return [name, name === 'authorization' ? value.replace(/ .*/, ' …') : value]
  })

/** A frame in the format of the copy button. */
const plain = (frame: Frame) => ({
  at: Math.round(frame.at),
  direction: frame.direction,
  http: lineOf(frame.exchange),
  ...(frame.event?.id && { eventId: frame.event.id }),
  ...(frame.note && { note: frame.note }),
  ...(frame.text !== '' && { message: frame.value ?? frame.text }),
})
