/** Shows a JSON value that can be unfolded. */
import { make } from './element.ts'

const mostPreviewed = 64

/**
 * @param name the label before the value
 * @param levels how many levels are unfolded at first
 */
export function tree(value: unknown, name?: string, levels = 1): HTMLElement {
  const label = name !== undefined && make('b', {}, `${name}: `)
  if (typeof value !== 'object' || value === null) {
    const kind = value === null ? 'null' : typeof value
    return make('div', { class: 'leaf' }, label, make('span', { class: kind }, JSON.stringify(value) ?? 'undefined'))
  }
  const entries = Object.entries(value)
  const [start, end] = Array.isArray(value) ? '[]' : '{}'
  if (entries.length === 0) return make('div', { class: 'leaf' }, label, `${start}${end}`)
  const folded = make('details', { class: 'node' }, make('summary', {}, label, preview(value)))
  // Children are created when the node is unfolded, because a list of a thousand tools has a thousand trees.
  const unfold = () => {
    if (folded.childElementCount > 1) return
    folded.append(
      make(
        'div',
        {},
        entries.map(([key, member]) => tree(member, key, levels - 1)),
      ),
    )
  }
  folded.addEventListener('toggle', unfold)
  if (levels > 0) {
    unfold()
    folded.open = true
  }
  return folded
}

/** Returns a value as one short line. */
export function preview(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > mostPreviewed ? `${text.slice(0, mostPreviewed - 1)}…` : text
}

export const pretty = (value: unknown): string => JSON.stringify(value, null, 2) ?? ''

/** Returns the value of a JSON text; `undefined` for another text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
