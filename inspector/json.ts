/** A JSON value that can be unfolded. */
import { make } from './element.ts'

const mostPreviewed = 64

/**
 * @param name what stands before it
 * @param levels how far it is unfolded from the start
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
  // Made when it is looked at: a list of a thousand tools is a thousand trees.
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

/** A value in one short line. */
export function preview(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > mostPreviewed ? `${text.slice(0, mostPreviewed - 1)}…` : text
}

export const pretty = (value: unknown): string => JSON.stringify(value, null, 2) ?? ''
