import { hash } from '../../protocol/hash.ts'

/** Characters that the name of a tool may have. */
const maxCharacters = 128

/** The letters, digits, `.` and `-` of a text, and `_` for all others; empty when it has none. */
export const asciiName = (text: unknown): string =>
  String(text)
    .replace(/[^\w.-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, maxCharacters)

/** An operation, as far as its name depends on it. */
export type Named = { readonly operationId: unknown; readonly method: string; readonly path: string }

/**
 * Names for tools, one for each operation, in their order: its `operationId`, or its method and path. An id that a tool cannot have
 * as it is, and whose name would be empty or that of another one, gets a hash of the id, which does not depend on the others.
 *
 * @throws Error when two operations have one id
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
