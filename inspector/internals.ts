/** Shows the server's Durable Objects with what they store, which no client can see. In development only. */
import { button, type Child, fill, make } from './element.ts'
import { parsed, preview, tree } from './json.ts'

type ObjectSummary = { className: string; name: string; calls: number; at: number }
type Table = { name: string; columns: string[]; rows: unknown[][]; total: number }
type Contents = { values: [key: string, value: unknown][]; tables: Table[]; alarm: number | null }

export interface InternalsPanel {
  readonly element: HTMLElement
  /** Refreshes the panel after a moment without frames. */
  refreshSoon(): void
}

/** Milliseconds without frames before a refresh. */
const refreshDelayMs = 300

/** @param address the URL of the list of Durable Objects */
export function internals(address: string): InternalsPanel {
  const objects = new Map<string, ObjectEntry>()
  const list = make('ul', { class: 'objects' })
  const problem = make('p', { class: 'bad', role: 'alert' })
  const element = make(
    'details',
    { class: 'behind', ontoggle: () => void refresh() },
    make('summary', {}, make('h2', {}, 'Durable Objects')),
    make(
      'div',
      { class: 'bar' },
      make('p', { class: 'hint' }, 'The Durable Objects that the server has called since it started, latest first.'),
      button('Refresh', () => void refresh(true)),
    ),
    problem,
    list,
  )
  let timer: ReturnType<typeof setTimeout> | undefined
  return {
    element,
    refreshSoon() {
      clearTimeout(timer)
      if (element.open) timer = setTimeout(() => void refresh(), refreshDelayMs)
    },
  }

  /** @param isWanted refreshes every unfolded object, also without new calls */
  async function refresh(isWanted = false): Promise<void> {
    if (!element.open) return
    fill(problem)
    try {
      const all = await fetchInternals<ObjectSummary[]>(address)
      const entries = all.map((seen) => {
        const key = `${seen.className} ${seen.name}`
        const entry = objects.get(key) ?? objectEntry(address, seen)
        objects.set(key, entry)
        entry.update(seen, isWanted)
        return entry.element
      })
      const isSame = entries.length === list.children.length && entries.every((each, at) => list.children[at] === each)
      if (!isSame) arrange(entries)
      if (entries.length === 0) fill(list, make('li', { class: 'hint' }, 'No Durable Objects called yet.'))
    } catch (thrown) {
      fill(problem, (thrown as Error).message)
    }
  }

  /** Keeps the focus. */
  function arrange(entries: readonly HTMLElement[]): void {
    const focused = document.activeElement
    fill(list, entries)
    if (focused instanceof HTMLElement && list.contains(focused)) focused.focus({ preventScroll: true })
  }
}

type ObjectEntry = { readonly element: HTMLElement; update(seen: ObjectSummary, isWanted: boolean): void }

function objectEntry(address: string, { className, name }: ObjectSummary): ObjectEntry {
  const counted = make('small')
  const contents = make('div', { class: 'contents' })
  const folded = make(
    'details',
    { class: 'object', ontoggle: () => void look() },
    make('summary', {}, make('b', {}, kindOf(className, name)), ' ', make('code', {}, name), ' ', counted),
    contents,
  )
  let known = 0
  return {
    element: make('li', { 'data-class': className }, folded),
    update({ calls, at }, isWanted) {
      const isNew = calls !== known
      known = calls
      counted.textContent = `${calls} ${calls === 1 ? 'call' : 'calls'}, the last at ${timeOf(at)}`
      if (isNew || isWanted) void look()
    },
  }

  async function look(): Promise<void> {
    if (!folded.open) return
    const query = new URLSearchParams({ inside: 'rows', class: className, name })
    try {
      fill(contents, contentsOf(await fetchInternals<Contents>(`${address.split('?')[0]}?${query}`)))
    } catch (thrown) {
      fill(contents, make('p', { class: 'bad' }, (thrown as Error).message))
    }
  }
}

/** The class of sessions also stores keys and request states. */
const kindOf = (className: string, name: string): string =>
  name.startsWith('round ') ? `${className} (request state)` : className

function contentsOf({ values, tables, alarm }: Contents): Child {
  const isEmpty = values.length === 0 && tables.length === 0
  return [
    alarm !== null && make('p', {}, `Alarm at ${new Date(alarm).toLocaleString()}.`),
    isEmpty && make('p', { class: 'hint' }, 'No stored data.'),
    values.length > 0 && tableOf({ name: 'values', columns: ['key', 'value'], rows: values, total: values.length }),
    tables.map(tableOf),
  ]
}

function tableOf({ name, columns, rows, total }: Table): HTMLElement {
  const count =
    rows.length < total ? `the last ${rows.length} of ${total} rows` : `${total} ${total === 1 ? 'row' : 'rows'}`
  const heading = [make('b', {}, name), ' ', make('small', {}, count)]
  if (rows.length === 0) return make('p', {}, heading)
  return make(
    'div',
    // Makes it scrollable by keyboard.
    { class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': name },
    make(
      'table',
      {},
      make('caption', {}, heading),
      make(
        'thead',
        {},
        make(
          'tr',
          {},
          columns.map((column) => make('th', { scope: 'col' }, column)),
        ),
      ),
      make(
        'tbody',
        {},
        rows.map((row) =>
          make(
            'tr',
            {},
            row.map((cell) => make('td', {}, cellOf(cell))),
          ),
        ),
      ),
    ),
  )
}

/** Many stored strings are JSON. */
function cellOf(cell: unknown): Child {
  const value = typeof cell === 'string' && /^[{[]/.test(cell) ? (parsed(cell) ?? cell) : cell
  if (typeof value === 'object' && value !== null) return tree(value, undefined, 0)
  if (isMoment(value)) return [value, ' ', make('small', {}, new Date(value).toLocaleString())]
  return typeof value === 'string' ? value : preview(value)
}

/** Milliseconds since 1970, from 2001 to 2096. */
const isMoment = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) > 1e12 && Number(value) < 4e12

const timeOf = (at: number): string => new Date(at).toLocaleTimeString()

/** @throws Error with the problem that the server reports */
export async function fetchInternals<T>(address: string, init?: RequestInit): Promise<T> {
  const response = await fetch(address, init)
  const answer = (await response.json()) as T & { problem?: string }
  if (!response.ok) throw new Error(answer.problem ?? `HTTP ${response.status}`)
  return answer
}
