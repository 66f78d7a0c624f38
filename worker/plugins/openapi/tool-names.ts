import { hash } from '../../protocol/hash.ts'

/** Characters of the name of a tool that the APIs of models accept. */
const maxCharacters = 64

/** Replaces all but letters, digits, `.` and `-` by `_`. Returns an empty text if nothing remains. */
export const asciiName = (text: unknown): string =>
  String(text)
    .replace(/[^\w.-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, maxCharacters)

/** Returns a name, shortened if it is longer than the APIs of models accept: its end is a hash of the name then. */
export const shortName = (name: string, most = maxCharacters): string => {
  if (name.length <= most) return name
  const suffix = `_${hash(name).toString(36)}`
  return name.slice(0, most - suffix.length) + suffix
}

/** The part of an operation that its name depends on. */
export type Named = { readonly operationId: unknown; readonly method: string; readonly path: string }

/**
 * Returns a name for each operation, in their order: its `operationId`, or its method and path. If the id is not a valid name, and the name
 * made of it would be empty or equal to another, a hash of the id is appended, which does not depend on the other operations.
 *
 * @throws Error when two operations have the same id
 */
export function toolNames(operations: readonly Named[]): string[] {
  const ids = operations.map(({ operationId, method, path }) => {
    const id = operationId === undefined || operationId === '' ? undefined : String(operationId)
    return { id: id ?? `${method} ${path}`, name: asciiName(id ?? `${method} ${path}`), method, isId: id !== undefined }
  })
  const counts = new Map<string, number>()
  for (const { name } of ids) counts.set(name, (counts.get(name) ?? 0) + 1)
  const names = ids.map(({ id, name, method }) => {
    if (name !== '' && (name === id || counts.get(name) === 1)) return name
    const suffix = `_${hash(id).toString(36)}`
    return (name || method).slice(0, maxCharacters - suffix.length) + suffix
  })
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new Error(`Two operations have the name "${twice}": change the operationId of one`)
  return names
}
